"""What a test sees of a cluster: immutable snapshots, taken when asked for."""

from __future__ import annotations

import msgspec

NODE = "cluster"
"""The name of the cluster as a whole where the journal names a node."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One time that a message was put into a pull answer."""

    group: str
    peer: str
    at_ms: int


class Message(msgspec.Struct, frozen=True):
    """A stored message. Times are milliseconds since the epoch, ``offset`` is the queue's.

    ``body`` is as its producer sent it: what that compressed is decompressed.
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
    """The unique id its producer gave it, or the offset id if it gave none."""
    offset_msg_id: str
    born_at_ms: int
    stored_at_ms: int
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
            f" {body!r} delivered {len(self.deliveries)} times>"
        )


class Delayed(msgspec.Struct, frozen=True, gc=False):
    """A message that waits for its delay level; ``topic`` and ``queue_id`` are where it will go.

    ``message`` is how it is stored meanwhile, in the schedule topic.
    """

    topic: str
    broker: str
    queue_id: int
    level: int
    due_at_ms: int
    """Milliseconds since the epoch, by its broker's own wall clock."""
    message: Message


class Queue(msgspec.Struct, frozen=True, gc=False):
    """One queue of a topic at one broker; ``max_offset`` is where the next message goes."""

    topic: str
    broker: str
    queue_id: int
    min_offset: int
    max_offset: int


class Deadline(msgspec.Struct, frozen=True, gc=False):
    """A pending or fired timer: what kind, whose, and how long until it is due."""

    kind: str
    owner: str
    due_in_ms: int
    domain: str
    outside: bool
    """It watches a peer outside the cluster and counts real time."""
    at_ms: int = 0
    """When it is due, or fired: the cluster's wall, in milliseconds since the epoch."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """A client of a group."""

    client_id: str
    peer: str
