"""What must hold in every run, whatever its faults: one module each, and `judge`, which asks all.

A checker reads a history or tables and yields violations. It does not know the simulator, so a
test can hand it a history of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fakemq.events.core import HandlerFailed
from fakemq.events.store import UnsyncedLost
from fakemq.sim.events import Consumed, Received
from fakemq.sim.history import MASTER, Violation, broker_name
from fakemq.sim.invariants.delays import too_early
from fakemq.sim.invariants.delivery import undelivered
from fakemq.sim.invariants.durability import lost_messages, promises
from fakemq.sim.invariants.order import out_of_order
from fakemq.sim.invariants.replicas import differences
from fakemq.sim.invariants.timers import wrong_timers

if TYPE_CHECKING:
    from fakemq.proxy.proxy import Proxy
    from fakemq.proxy.receipts import Renewed
    from fakemq.sim.history import History
    from fakemq.sim.simulation import Simulation


def judge(sim: Simulation) -> list[Violation]:
    """Return every violation of a run that has ended."""
    history, cluster = sim.history, sim.plan.cluster
    found = [
        Violation("no handler fails", event.error, (event.node,))
        for event in history.of(HandlerFailed)
    ]
    found += sim.table_faults
    if sim.replica_watch is not None:
        from fakemq.sim.invariants.groups import judge_groups  # few clusters have controllers

        return [*found, *judge_groups(sim, sim.replica_watch)]
    lost_from = _lost_from(sim)
    found += _replicas(sim, lost_from)
    for node in sorted(sim.lost):
        sim.core.start_broker(sim.core.brokers[node])  # only to read what is left on its disk
    is_stored = partial(_is_stored, sim)
    waits = sim.core.spec.reference.waits_for_slaves
    promised = promises(cluster, lost_from, waits_for_slaves=waits)
    found += lost_messages(history, promised, is_stored)
    # No broker can deliver messages of a lost machine, or unflushed messages without a promise.
    unkept = {
        broker_name(node): start
        for node, start in lost_from.items()
        if node in sim.lost or (cluster.flush == "ASYNC_FLUSH" and node.endswith(MASTER))
    }
    lost: Collection[tuple[str, str]] = ()
    if sim.pop_watch is not None:
        sim.pop_watch.look()
        found += sim.pop_watch.found
        lost = sim.pop_watch.lost()
        found += wrong_timers(history, lost_from, on_disk=cluster.on_disk)
    if sim.core.proxy is not None:
        lost = {*lost, *_lost_answers(sim.core.proxy, history)}
    groups = {consumer.group: consumer.topics for consumer in sim.plan.consumers}
    found += undelivered(history, groups, unkept, is_stored, lost)
    unordered = {one.group for one in sim.plan.consumers if one.pop is not None and not one.ordered}
    found += out_of_order(history, unordered)
    found += too_early(history)
    return found


def _lost_answers(proxy: Proxy, history: History) -> set[tuple[str, str]]:
    """Return group and message id of messages that the front wrote to a client that got nothing.

    It prolongs their invisible time for 3 h, as long as the client is there. So does Java's.
    """
    events: list[Received | Consumed] = [*history.of(Received), *history.of(Consumed)]
    had = {
        (one.group, one.msg_id, one.topic, one.broker, one.queue_id, one.queue_offset)
        for one in events
    }
    return {
        (renewed.group, msg_id)
        for msg_id, renewed in proxy.renewals.renewed()
        if (renewed.group, msg_id, *_place(renewed)) not in had
    }


def _place(renewed: Renewed) -> tuple[str, str, int, int]:
    """Return the first place of a message: a change of its invisible time keeps it."""
    handle = renewed.handle
    topic = handle.topic_of(renewed.topic, renewed.group)
    return topic, handle.broker_name, handle.queue_id, handle.offset


def _lost_from(sim: Simulation) -> dict[str, int]:
    """Return the first lost log offset of each node that lost bytes; 0 for a lost machine."""
    lost_from = dict.fromkeys(sim.lost, 0)
    for cut in sim.history.of(UnsyncedLost):
        if cut.log_bytes:
            lost_from[cut.node] = min(cut.log_offset, lost_from.get(cut.node, cut.log_offset))
    return lost_from


def _is_stored(sim: Simulation, name: str, phy_offset: int, msg_id: str) -> bool:
    """Return True if any machine of a broker has a message at the offset of its send result."""
    unique_id = msg_id.encode()
    for broker in sim.core.brokers.values():
        if broker.config.broker_name == name:
            record = broker.store.select_one_message_by_offset(phy_offset)
            if record is not None and unique_id in bytes(record):
                return True
    return False


def _replicas(sim: Simulation, lost_from: Mapping[str, int]) -> list[Violation]:
    """Compare every slave with its master; bytes that a crash took of the master are excused."""
    found: list[Violation] = []
    brokers = sim.core.brokers
    for slave in brokers.values():
        master = brokers.get(f"{slave.config.broker_name}{MASTER}")
        if not slave.role.is_slave or master is None or master.name in sim.lost:
            continue
        logs = master.store.log, slave.store.log
        found += differences(slave.name, *logs, lost_from.get(master.name))
    return found
