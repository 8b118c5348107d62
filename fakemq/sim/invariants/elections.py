"""Elections: one master an epoch, epochs that grow, and masters of the set of replicas in sync."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.events.controller import MasterElected, ReplicaJoined, SyncStateSetChanged
from fakemq.events.replication import EpochBegun
from fakemq.sim.history import Violation, broker_name

if TYPE_CHECKING:
    from fakemq.sim.history import History

ONE_MASTER = "an epoch has one master"
EPOCHS_GROW = "epochs grow"
OF_THE_SET = "the set elects its masters"


def wrong_elections(history: History) -> Iterator[Violation]:
    """Yield what controllers and masters did against the rules; no election was unclean."""
    masters: dict[tuple[str, int], str] = {}
    last_epochs: dict[str, int] = {}
    groups: dict[str, _Group] = {}
    for entry in history.entries:
        event = entry.event
        if isinstance(event, EpochBegun):
            place = broker_name(event.node), event.epoch
            other = masters.setdefault(place, event.node)
            if other != event.node:
                text = f"{event.node} and {other} were masters of {place[0]} in epoch {place[1]}"
                yield Violation(ONE_MASTER, text, (event.node, other))
            if event.epoch < last_epochs.get(event.node, 0):
                text = f"{event.node} began epoch {event.epoch} after {last_epochs[event.node]}"
                yield Violation(EPOCHS_GROW, text, (event.node,))
            last_epochs[event.node] = event.epoch
        elif isinstance(event, ReplicaJoined | MasterElected | SyncStateSetChanged):
            group = groups.setdefault(event.broker_name, _Group(event.broker_name))
            yield from group.follow(event)


class _Group:
    """What the controllers said of a group."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._replicas: set[int] = set()
        self._master: int | None = None
        self._master_epoch = 0
        self._set_epoch = 0

    def follow(
        self, event: ReplicaJoined | MasterElected | SyncStateSetChanged
    ) -> Iterator[Violation]:
        if isinstance(event, ReplicaJoined):
            self._replicas.add(event.broker_id)
        elif isinstance(event, MasterElected):
            yield from self._elected(event)
        else:
            yield from self._set_changed(event)

    def _elected(self, event: MasterElected) -> Iterator[Violation]:
        if event.master_epoch <= self._master_epoch:
            text = f"master epoch {event.master_epoch} came after {self._master_epoch}"
            yield self._wrong(EPOCHS_GROW, text)
        self._master, self._master_epoch = event.broker_id, event.master_epoch
        if event.broker_id is None:
            return
        if event.last_set and event.broker_id not in event.last_set:
            text = f"{event.broker_id} was elected, and {event.last_set} were in sync"
            yield self._wrong(OF_THE_SET, text)

    def _set_changed(self, event: SyncStateSetChanged) -> Iterator[Violation]:
        if event.sync_state_set_epoch <= self._set_epoch:
            text = f"set epoch {event.sync_state_set_epoch} came after {self._set_epoch}"
            yield self._wrong(EPOCHS_GROW, text)
        self._set_epoch = event.sync_state_set_epoch
        strangers = set(event.sync_state_set) - self._replicas
        if strangers:
            yield self._wrong(OF_THE_SET, f"{sorted(strangers)} are in sync, and no replicas")
        if self._master is not None and self._master not in event.sync_state_set:
            text = f"{event.sync_state_set} are in sync, and not the master {self._master}"
            yield self._wrong(OF_THE_SET, text)

    def _wrong(self, invariant: str, text: str) -> Violation:
        return Violation(invariant, f"{self._name}: {text}", (self._name,))
