"""The result of an audit, small enough for one screen; the report is drawn from this alone."""

from __future__ import annotations

from enum import Enum

import msgspec


class Verdict(Enum):
    """What happened to one message for one group; if several hold, the first one counts."""

    LOST = "lost"
    """Acknowledged to its producer, but in no store that is or becomes readable."""
    STUCK = "stuck"
    """Stored but never to be delivered: before the group's offset, or not reached by it."""
    DUPLICATED = "duplicated"
    """Delivered more often than its own retries explain, or stored twice."""
    OUT_OF_ORDER = "out of order"
    """Delivered for the first time after a message that is later in its queue."""
    PENDING = "pending"
    """Not due yet: delayed, a half message without an end, or not reached by the group's offset."""
    DELIVERED = "delivered"
    """Delivered as it should be."""


class Count(msgspec.Struct, frozen=True):
    """How many messages of a topic have a verdict; ``group`` is "" if no group consumes it."""

    topic: str
    group: str
    verdict: Verdict
    messages: int


class MessageSummary(msgspec.Struct, frozen=True):
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
    """When it was stored; when it was acknowledged if it is in no store."""
    deliveries: int
    cause: str
    """The fault or event that caused it, in one line; "" if none is known."""


class MessageBiography(msgspec.Struct, frozen=True):
    """The biography of a message, from the journal; one that was sent twice has two."""

    msg_id: str
    name: str
    steps: list[str]


class Store(msgspec.Struct, frozen=True):
    """The content of one node's store, by kind of record, and the damage in it.

    Kinds are ``message``, ``half``, ``op``, ``delayed``, ``retry`` and ``dlq``.
    """

    node: str
    records: dict[str, int]
    missing: int
    """How many messages other nodes of its broker have and it has not."""
    damaged: list[str]
    """One line for each damaged range: file, position, error."""


class LagPoint(msgspec.Struct, frozen=True):
    """How many messages of a topic a group was behind at a time."""

    topic: str
    group: str
    at_ms: int
    messages: int


class FaultSummary(msgspec.Struct, frozen=True):
    """Something that was done to the cluster, and how many messages it explains."""

    at_ms: int
    node: str
    text: str
    messages: int


class Summary(msgspec.Struct, frozen=True):
    """All results; ``messages`` may be cut, ``counts`` is complete."""

    title: str
    begin_ms: int
    end_ms: int
    counts: list[Count]
    messages: list[MessageSummary]
    messages_left_out: int
    stores: list[Store]
    lag: list[LagPoint]
    faults: list[FaultSummary]
    delivered_per_second: list[tuple[int, int]]
    """Second since the epoch and number of deliveries in it."""
    latency_ms: list[tuple[str, int, int, int]]
    """Topic and group as ``topic / group``, with the 50th, 99th and 100th percentile from stored to
    first delivered."""
    inputs: list[str]
    """One line for each input."""
    notes: list[str]
    """What could not be judged, and why."""
    biographies: list[MessageBiography] = []
    """Of the first ``messages``, if they were asked for and there is a journal."""
    biographies_left_out: str = ""
    """Why there are no biographies; "" if there are, or if none were asked for."""
