"""What must hold in a cluster whose controllers elect the masters, at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

from fakemq.dispatch.node import NodeState
from fakemq.protocol.properties import UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.sim.events import Probed, Sent
from fakemq.sim.history import Violation
from fakemq.sim.invariants.acknowledged import SEND_OK, has_message
from fakemq.sim.invariants.delivery import undelivered
from fakemq.sim.invariants.elections import wrong_elections
from fakemq.sim.invariants.queue_offsets import gaps, records_of
from fakemq.sim.invariants.replicas import differences

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.sim.invariants.given import Place
    from fakemq.sim.replica_watch import ReplicaWatch
    from fakemq.sim.simulation import Simulation

SERVES = "a group that is up serves"


def judge_groups(sim: Simulation, watch: ReplicaWatch) -> Iterator[Violation]:
    """Yield the violations of a run with controllers that has ended."""
    watch.look()
    yield from watch.found
    yield from wrong_elections(sim.history)
    yield from unserved(sim)
    masters: dict[str, Broker] = {}
    for name in sim.plan.cluster.broker_names:
        master = watch.master_of(name)
        if master is None:
            yield Violation(SERVES, f"{name} has no master at the end", (name,))
            continue
        masters[name] = master
        yield from watch.missing_at(master, "the last master")
        yield from gaps(master.name, master.store.log)
        yield from _followed(sim, master)
        if watch.promises:
            yield from watch.given.taken_back(name, _places(master), watch.is_read_early)
    yield from _undelivered(sim, watch, masters)


def unserved(sim: Simulation) -> Iterator[Violation]:
    """Yield the sends that failed though all nodes were up and connected."""
    for probe in sim.history.of(Probed):
        if probe.status != SEND_OK:
            text = f"{probe.key}, sent to {probe.broker} with all up and connected: {probe.status}"
            yield Violation(SERVES, text, (probe.key, probe.broker))


def _places(master: Broker) -> dict[Place, str]:
    """Return the message ids of a log by their places in queues."""
    return {
        (one.topic, one.queue_id, one.queue_offset): one.properties.get(
            UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""
        )
        for one in records_of(master.store.log)
    }


def _followed(sim: Simulation, master: Broker) -> Iterator[Violation]:
    """Yield the replicas that have not the same bytes as the master, at the quiet end."""
    for broker in sim.core.brokers.values():
        if broker is master or broker.config.broker_name != master.config.broker_name:
            continue
        logs = master.store.log, broker.store.log
        yield from differences(broker.name, *logs)
        ends = [log.max_offset for log in logs]
        if broker.state is NodeState.RUNNING and ends[0] != ends[1]:
            text = f"the log of {broker.name} ends at {ends[1]}, that of {master.name} at {ends[0]}"
            yield Violation(SERVES, text, (broker.name, master.name))


def _undelivered(
    sim: Simulation, watch: ReplicaWatch, masters: Mapping[str, Broker]
) -> Iterator[Violation]:
    """Yield what was stored and not delivered; nothing if masters acknowledged too early."""
    if not watch.promises or len(watch.holes):
        return
    groups = {consumer.group: consumer.topics for consumer in sim.plan.consumers}

    def is_stored(name: str, phy_offset: int, msg_id: str) -> bool:
        return name in masters and has_message(masters[name].store, phy_offset, msg_id)

    sent = sim.history.of(Sent)
    gone = [one.msg_id for one in sent if not is_stored(one.broker, one.phy_offset, one.msg_id)]
    yield from undelivered(sim.history, groups, {}, is_stored, set(product(groups, gone)))
