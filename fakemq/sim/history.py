"""The part of a journal that invariants read: events of messages, clocks and lost machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fakemq.events.controller import MasterElected, ReplicaJoined, SyncStateSetChanged
from fakemq.events.core import (
    ClockMoved,
    ClockSkewed,
    DeadLettered,
    Event,
    HalfStored,
    HandlerFailed,
    LogAppended,
    NodeStopped,
    Scheduled,
    ScheduledDelivered,
    SentBack,
    TransactionEnded,
)
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.events.replication import EpochBegun
from fakemq.events.store import UnsyncedLost
from fakemq.events.timers import TimerDelivered, TimerDiscarded, TimerRolled, TimerSet
from fakemq.sim.events import Consumed, Decided, Probed, RecallEnded, Received, Sent

if TYPE_CHECKING:
    from fakemq.journal.entries import Entry
    from fakemq.journal.journal import Journal

KINDS: tuple[type[Event], ...] = (
    *(Sent, Decided, Received, Consumed, ClockMoved, ClockSkewed),
    *(Scheduled, ScheduledDelivered, SentBack, DeadLettered, HalfStored, TransactionEnded),
    *(UnsyncedLost, HandlerFailed),
)
V5_KINDS: tuple[type[Event], ...] = (
    *(Popped, Acknowledged, InvisibleTimeChanged, Revived),
    *(TimerSet, TimerRolled, TimerDelivered, TimerDiscarded, RecallEnded, NodeStopped),
)
"""Those that only a cluster of 5.5.0 has, and that only its invariants read."""
REPLICA_KINDS: tuple[type[Event], ...] = (
    *(EpochBegun, MasterElected, ReplicaJoined, SyncStateSetChanged, Probed),
)
"""Those of a cluster with controllers, which has no members that pop and no timers."""
APPENDS: tuple[type[Event], ...] = (LogAppended,)
"""What is needed, too, if a machine may lose a part of its log."""

EventT = TypeVar("EventT", bound=Event)


class Violation(NamedTuple):
    """An invariant that did not hold; ``words`` find its message or node in the journal's lines."""

    invariant: str
    text: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


class History:
    """The entries of a journal that are of some kinds, oldest first.

    It keeps entries that the journal itself has already discarded.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        entries: Iterable[Entry] = (),
        kinds: tuple[type[Event], ...] = KINDS,
    ) -> None:
        self.entries: list[Entry] = list(entries)
        if journal is not None:
            journal.listen(self.entries.append, *kinds)

    def of(self, kind: type[EventT]) -> Iterator[EventT]:
        """Yield the events of one kind."""
        for entry in self.entries:
            if isinstance(entry.event, kind):
                yield entry.event


MASTER = "-0"
"""The suffix of a master's node name."""


def broker_name(node: str) -> str:
    """Return the brokerName of a node: ``broker-a`` for ``broker-a-1``, and for ``broker-a@1``."""
    name, is_replica, _ = node.partition("@")
    return name if is_replica else node.rpartition("-")[0]
