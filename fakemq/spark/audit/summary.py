"""What an audit found, small enough for one screen: the report is drawn from this alone."""

from __future__ import annotations

from enum import Enum

import msgspec


class Verdict(Enum):
    """What became of one message for one group; of several that hold, the first counts."""

    LOST = "lost"
    """Acknowledged to its producer, and in no store that is or becomes readable."""
    STUCK = "stuck"
    """Stored, and neither delivered nor going to be: behind the group's offset, or ahead of it."""
    DUPLICATED = "duplicated"
    """Delivered more often than its own retries ask for, or stored twice."""
    OUT_OF_ORDER = "out of order"
    """Delivered after one that stands behind it in its queue, for the first time."""
    PENDING = "pending"
    """Not due yet: delayed, a half without its end, or not reached by the group's offset."""
    DELIVERED = "delivered"
    """As it should be."""


class Count(msgspec.Struct, frozen=True):
    """How many messages of a topic have a verdict; ``group`` is "" where nobody consumes."""

    topic: str
    group: str
    verdict: Verdict
    messages: int


class Message(msgspec.Struct, frozen=True):
    """A message with another verdict than DELIVERED or PENDING, and why."""

    topic: str
    group: str
    verdict: Verdict
    msg_id: str
    keys: str
    broker: str
    queue_id: int
    offset: int
    at_ms: int
    """When it was stored, or acknowledged if it is in no store."""
    deliveries: int
    cause: str
    """The fault or event behind it in one line; "" where nothing that is known explains it."""


class Store(msgspec.Struct, frozen=True):
    """What one node's store holds, by kind of record (``message``, ``half``, ``op``, ``delayed``,
    ``retry``, ``dlq``), and what is damaged in it.
    """

    node: str
    records: dict[str, int]
    missing: int
    """How many messages its fellow nodes have and it has not."""
    damaged: list[str]
    """One line for each damaged range: file, position, what is bad."""


class LagPoint(msgspec.Struct, frozen=True):
    """How many messages of a topic a group was behind at a time."""

    topic: str
    group: str
    at_ms: int
    messages: int


class Fault(msgspec.Struct, frozen=True):
    """Something that was done to the cluster, and how many messages it explains."""

    at_ms: int
    node: str
    text: str
    messages: int


class Summary(msgspec.Struct, frozen=True):
    """All of it; ``messages`` may be cut, ``counts`` never is."""

    title: str
    begin_ms: int
    end_ms: int
    counts: list[Count]
    messages: list[Message]
    messages_left_out: int
    stores: list[Store]
    lag: list[LagPoint]
    faults: list[Fault]
    delivered_per_second: list[tuple[int, int]]
    """Second since the epoch and how many deliveries there were in it."""
    latency_ms: list[tuple[str, int, int, int]]
    """Topic and group as ``topic / group``, with the 50th, 99th and 100th percentile from stored to
    first delivered."""
    inputs: list[str]
    """One line for each thing that was read."""
    notes: list[str]
    """What could not be judged, and why."""
