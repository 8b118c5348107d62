"""What a run leaves for its judges: the events that tell of messages, clocks and lost machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fakemq.events.core import (
    ClockMoved,
    ClockSkewed,
    DeadLettered,
    Event,
    HalfStored,
    HandlerFailed,
    Scheduled,
    ScheduledDelivered,
    SentBack,
    TransactionEnded,
)
from fakemq.events.store import UnsyncedLost
from fakemq.sim.events import Consumed, Decided, Sent

if TYPE_CHECKING:
    from fakemq.journal.journal import Entry, Journal

KINDS: tuple[type[Event], ...] = (
    *(Sent, Decided, Consumed, ClockMoved, ClockSkewed),
    *(Scheduled, ScheduledDelivered, SentBack, DeadLettered, HalfStored, TransactionEnded),
    *(UnsyncedLost, HandlerFailed),
)

EventT = TypeVar("EventT", bound=Event)


class Violation(NamedTuple):
    """An invariant that did not hold; ``words`` are by what the journal names what it is about."""

    invariant: str
    text: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


class History:
    """Entries of a journal, of `KINDS` only, oldest first; it outlives what the journal forgets."""

    def __init__(self, journal: Journal | None = None, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = list(entries)
        if journal is not None:
            journal.listen(self.entries.append, *KINDS)

    def of(self, kind: type[EventT]) -> Iterator[EventT]:
        """Events of one kind."""
        for entry in self.entries:
            if isinstance(entry.event, kind):
                yield entry.event


MASTER = "-0"
"""How the name of a master ends."""


def broker_name(node: str) -> str:
    """The brokerName of a node, as in ``broker-a`` of ``broker-a-1``."""
    return node.rpartition("-")[0]
