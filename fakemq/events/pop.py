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
    """A consumer acknowledged a popped message, and its broker answered SUCCESS.

    The broker does so for any handle. Without an effect the message comes again, if it is out.
    """

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    pop_time_ms: int
    """The time of its pop, as its receipt handle has it."""
    peer: str
    has_effect: bool
    """Whether the message was out for this handle, and no longer is."""


class InvisibleTimeChanged(Event, frozen=True, kw_only=True, gc=False):
    """A consumer asked that a popped message becomes visible at another time; the broker agreed.

    Without an effect what the message waited for is as it was. Unless it was popped in order, it
    becomes visible at the asked time, too: the handle of the answer is one more.
    """

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    pop_time_ms: int
    """The time of its pop, as its receipt handle has it."""
    next_pop_time_ms: int
    """What stands for the time of its pop from now on; the same in order."""
    invisible_until_ms: int
    """The time that the consumer asked for."""
    peer: str
    has_effect: bool
    """Whether the message was out for this handle, and now is out for the next one instead."""


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
    """-1 for a message of another broker, whose checkpoint this one has."""
    phy_offset: int
    msg_id: str
