"""The immutable snapshots of a cluster that tests see."""

from __future__ import annotations

import msgspec

from fakemq.errors import counted

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
