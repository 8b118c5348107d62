"""Kinds of events of POP, the consumption of RocketMQ 5. Times are wall times in milliseconds."""

from __future__ import annotations

from fakemq.events.core import Event


class Popped(Event, frozen=True, kw_only=True, gc=False):
    """A pop took messages of one queue: other pops of the group do not see them until a time.

    The event `Delivered` before it has the queue offsets of all messages.
    """

    group: str
    topic: str
    queue_id: int
    start_offset: int
    """Where the pop began to read."""
    count: int
    pop_time_ms: int
    """By the broker's own wall clock; it names the pop, together with a queue offset."""
    invisible_until_ms: int
    in_order: bool
    peer: str
    attempt_id: str | None = None
    """What the client calls its attempt; None if it says nothing."""


class Acknowledged(Event, frozen=True, kw_only=True, gc=False):
    """A consumer acknowledged a popped message; nothing is checked but its place in the queue."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    pop_time_ms: int
    """The time of its pop, as its receipt handle has it."""
    peer: str


class InvisibleTimeChanged(Event, frozen=True, kw_only=True, gc=False):
    """A consumer changed when a popped message becomes visible again."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    pop_time_ms: int
    """The time of its pop, as its receipt handle has it."""
    next_pop_time_ms: int
    """What stands for the time of its pop from now on; the same in order."""
    invisible_until_ms: int
    peer: str


class Revived(Event, frozen=True, kw_only=True, gc=False):
    """A popped message was not acknowledged in time: it was stored in its retry topic."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    pop_time_ms: int
    """The time of the pop that took it."""
    retry_topic: str
    retry_offset: int
    reconsume_times: int
    """That of the new record: how often the message was popped so far."""
    from_phy_offset: int
    phy_offset: int
    msg_id: str
