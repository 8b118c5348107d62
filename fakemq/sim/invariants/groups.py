"""What must hold in a cluster whose controllers elect the masters, at the end of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from fakemq.dispatch.node import NodeState
from fakemq.protocol.properties import UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.sim.events import Probed
from fakemq.sim.history import Violation
from fakemq.sim.invariants.acknowledged import SEND_OK, has_message
from fakemq.sim.invariants.delivery import undelivered
from fakemq.sim.invariants.elections import wrong_elections
from fakemq.sim.invariants.queue_offsets import gaps, records_of
from fakemq.sim.invariants.replicas import differences
from fakemq.sim.probe import PROBES, probe_key

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.sim.history import History
    from fakemq.sim.invariants.acknowledged import PromisedLog
    from fakemq.sim.invariants.given import Place
    from fakemq.sim.replica_watch import ReplicaWatch
    from fakemq.sim.simulation import Simulation

SERVES = "a group that is up serves"


def judge_groups(sim: Simulation, watch: ReplicaWatch) -> Iterator[Violation]:
    """Yield the violations of a run with controllers that has ended."""
    watch.look()
    yield from watch.found
    yield from wrong_elections(sim.history)
    names = sim.plan.cluster.broker_names
    yield from unserved(sim.history, [one for one in names if not watch.is_alone(one)])
    masters: dict[str, Broker] = {}
    lost: set[tuple[str, str]] = set()
    for name in names:
        master = watch.master_of(name)
        if master is None:
            yield Violation(SERVES, f"{name} has no master at the end", (name,))
            continue
        masters[name] = master
        yield from watch.missing_at(master, "the last master")
        yield from gaps(master.name, master.store.log)
        yield from _followed(sim, watch, master)
        if watch.promises:
            there = _places(master)
            yield from watch.given.taken_back(name, there, watch.is_read_early)
            lost |= _lost(sim, watch, name, master.store, there)
    if watch.promises:
        yield from _undelivered(sim, masters, lost)


def unserved(history: History, broker_names: Sequence[str]) -> Iterator[Violation]:
    """Yield the sends that failed, or never ended, though all nodes were up and connected."""
    probed = {probe.key: probe.status for probe in history.of(Probed)}
    for number, name in product(range(PROBES), broker_names):
        key = probe_key(name, number)
        status = probed.get(key, "it was not sent, or its send did not end")
        if status != SEND_OK:
            text = f"{key}, for {name} with all up and connected: {status}"
            yield Violation(SERVES, text, (key, name))


def _places(master: Broker) -> dict[Place, str]:
    """Return the message ids of a log by their places in queues."""
    return {
        (one.topic, one.queue_id, one.queue_offset): one.properties.get(
            UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""
        )
        for one in records_of(master.store.log)
    }


def _followed(sim: Simulation, watch: ReplicaWatch, master: Broker) -> Iterator[Violation]:
    """Yield the replicas that have not the same bytes as the master, at the quiet end."""
    for broker in sim.core.brokers.values():
        if broker is master or broker.config.broker_name != master.config.broker_name:
            continue
        logs = master.store.log, broker.store.log
        yield from differences(broker.name, *logs)
        ends = [log.max_offset for log in logs]
        if (
            broker.state is NodeState.RUNNING
            and ends[0] != ends[1]
            and not watch.is_cut_off(broker, master)
        ):
            text = f"the log of {broker.name} ends at {ends[1]}, that of {master.name} at {ends[0]}"
            yield Violation(SERVES, text, (broker.name, master.name))


def _lost(
    sim: Simulation, watch: ReplicaWatch, name: str, store: PromisedLog, there: Mapping[Place, str]
) -> set[tuple[str, str]]:
    """Return group and id of the messages that a group need not get, as in RocketMQ.

    ``store`` is that of the last master, and ``there`` are the messages that it has.
    """
    groups = {consumer.group for consumer in sim.plan.consumers}
    lost = set(product(groups, watch.given.ids_at_lost(name, there, watch.is_read_early)))
    if sim.plan.strong:
        return lost
    for group, msg_id in watch.unwaited.lost(name, partial(has_message, store)):
        lost |= set(product(groups if group is None else {group}, {msg_id}))
    return lost | set(watch.moved.dropped(name, there))


def _undelivered(
    sim: Simulation, masters: Mapping[str, Broker], lost: Collection[tuple[str, str]]
) -> Iterator[Violation]:
    """Yield what was stored and not delivered, except the groups and message ids ``lost``."""
    groups = {consumer.group: consumer.topics for consumer in sim.plan.consumers}

    def is_stored(name: str, phy_offset: int, msg_id: str) -> bool:
        return name in masters and has_message(masters[name].store, phy_offset, msg_id)

    yield from undelivered(sim.history, groups, {}, is_stored, lost)
