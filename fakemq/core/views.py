"""The immutable snapshots of a cluster that tests see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.errors import counted

if TYPE_CHECKING:
    from fakemq.clock.clock import Clock
    from fakemq.clock.timers import Timer

NODE = "cluster"
"""The journal's node name for the cluster as a whole."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One inclusion of a message in a pull answer."""

    group: str
    peer: str
    at_ms: int


class Message(msgspec.Struct, frozen=True):
    """A stored message. Times are milliseconds since the epoch; ``offset`` is the queue's.

    ``body`` is as the producer sent it; a compressed body is decompressed.
    """

    topic: str
    broker: str
    queue_id: int
    offset: int
    body: bytes
    tags: str
    keys: str
    properties: dict[str, str]
    msg_id: str
    """The producer's unique id, or the offset id if the message has none."""
    offset_msg_id: str
    born_timestamp_ms: int
    store_timestamp_ms: int
    born_host: str
    """The producer's IP address."""
    store_host: str
    """The broker's ``ip:port``."""
    sys_flag: int
    reconsume_times: int
    commit_log_offset: int
    deliveries: tuple[Delivery, ...] = ()

    def __repr__(self) -> str:
        body = self.body if len(self.body) <= 40 else self.body[:37] + b"..."
        return (
            f"<message {self.msg_id} in {self.topic} {self.broker}/{self.queue_id}@{self.offset}"
            f" {body!r} delivered {counted(len(self.deliveries), 'time')}>"
        )


class Delayed(msgspec.Struct, frozen=True, gc=False):
    """A message that waits for its delay level or its time; it will go to ``topic`` and
    ``queue_id``.

    ``message`` is how it is stored meanwhile, in the schedule topic or the timer topic.
    """

    topic: str
    broker: str
    queue_id: int
    level: int
    """Its delay level; 0 for a timer message of 5.5.0, which has none."""
    due_at_ms: int
    """Milliseconds since the epoch, by its broker's own wall clock."""
    message: Message


class Inflight(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A message that a group popped, and that is neither acknowledged nor revived."""

    group: str
    topic: str
    """The topic in which it is: for a retry that of the group's retries."""
    broker: str
    queue_id: int
    offset: int
    msg_id: str
    """The producer's unique id, or the offset id if the message has none."""
    attempt: int
    """How often the message was popped, from 1."""
    visible_at_ms: int
    """When its invisible time ends: the cluster's wall time, in milliseconds since the epoch.

    It comes again with the deadline `pop_revive`, 2,001 ms later; in order at this time.
    """
    client_id: str
    """The client that popped it; "" if it sent no heartbeat or RPC, or the journal forgot it."""
    peer: str
    """The client's address; "" if the journal has forgotten it."""
    attempt_id: str | None
    """What the client calls its attempt; None if it said nothing."""
    in_order: bool


class Queue(msgspec.Struct, frozen=True, gc=False):
    """One queue of a topic at one broker; the next message gets offset ``max_offset``."""

    topic: str
    broker: str
    queue_id: int
    min_offset: int
    max_offset: int


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """A pending or fired timer: its kind, its owner, and the time until it is due."""

    kind: str
    owner: str
    due_in_ms: int
    domain: str
    outside: bool
    """Whether it watches a peer outside the cluster; it then counts real time."""
    at_ms: int = 0
    """When it is due, or fired: the cluster's wall time, in milliseconds since the epoch."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """A client of a group."""

    client_id: str
    peer: str


# Pending and fired timers as tests see them, and why no timer fires.


def _deadline(timer: Timer, due_in_ms: int, at_ms: int) -> Deadline:
    """Return the snapshot of a timer."""
    return Deadline(timer.kind, timer.owner, due_in_ms, timer.domain.value, timer.outside, at_ms)


def fired_deadline(clock: Clock, timer: Timer, began_ms: int) -> Deadline:
    """Return the snapshot of a timer that fired in a movement begun at ``began_ms`` of its axis.

    A timer that was late at that time fired at once.
    """
    ago_ms = clock.elapsed_ms(outside=timer.outside) - max(timer.due_ms, began_ms)
    return _deadline(timer, 0, clock.now_ms() - ago_ms)


def pending_deadlines(clock: Clock) -> list[Deadline]:
    """Return every pending deadline, soonest first."""
    now_ms = clock.now_ms()
    waits = [(timer, clock.due_in_ms(timer)) for timer in clock.timers()]
    pending = [_deadline(timer, in_ms, now_ms + in_ms) for timer, in_ms in waits]
    return sorted(pending, key=lambda one: one.due_in_ms)


SOON = 3
"""The most kinds of deadlines that `stillness` names, each by its soonest."""


def stillness(clock: Clock) -> str:
    """Return why no deadline fires by itself, and the next ones; "" if they do fire."""
    why = [f"held: {reason}" for reason in clock.holds]
    if clock.frozen:
        why.insert(0, "frozen")
    if not why:
        return ""
    first: dict[str, Deadline] = {}
    for one in sorted(pending_deadlines(clock), key=lambda one: (one.due_in_ms, one.domain)):
        if not one.outside:
            first.setdefault(one.kind, one)
    soon = [
        f"{one.kind} of {one.owner} in {max(0, one.due_in_ms)} ms"
        for one in list(first.values())[:SOON]
    ]
    return f"the clock is {', '.join(why)}; next deadlines: {', '.join(soon) or 'none'}"
