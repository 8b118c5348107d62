"""What must hold of every run, whatever its faults: one module each, and who asks them all.

A checker looks at a history or at tables and gives violations; none knows the simulator, so each
can be shown a made-up history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events import HandlerFailed
from fakemq.sim.history import MASTER, Violation, broker_name
from fakemq.sim.invariants.delays import too_early
from fakemq.sim.invariants.delivery import undelivered
from fakemq.sim.invariants.durability import lost_messages, promises
from fakemq.sim.invariants.order import out_of_order
from fakemq.sim.invariants.replicas import differences
from fakemq.store.events import UnsyncedLost

if TYPE_CHECKING:
    from fakemq.sim.events import Sent
    from fakemq.sim.run import Simulation


def judge(sim: Simulation) -> list[Violation]:
    """All that did not hold of a run that is at its end."""
    history, cluster = sim.history, sim.plan.cluster
    found = [
        Violation("no handler fails", event.error, (event.node,))
        for event in history.of(HandlerFailed)
    ]
    found += sim.table_faults
    found += _replicas(sim)
    losses = {node: broker_name(node) for node in sim.lost}
    losses |= {event.node: broker_name(event.node) for event in history.of(UnsyncedLost)}
    for node in sorted(sim.lost):
        sim.core.start_broker(sim.core.brokers[node])  # only to look what is left on its disk
    found += lost_messages(
        history,
        promises(cluster, set(losses)),
        lambda sent: _is_stored(sim, sent),
    )
    # Where a machine is gone for good, or took what nobody had promised to keep, there is nobody
    # who could deliver it.
    excused = {
        name
        for node, name in losses.items()
        if node in sim.lost or (cluster.flush == "ASYNC_FLUSH" and node.endswith(MASTER))
    }
    groups = {consumer.group: consumer.topics for consumer in sim.plan.consumers}
    found += undelivered(history, groups, excused)
    found += out_of_order(history)
    found += too_early(history)
    return found


def _is_stored(sim: Simulation, sent: Sent) -> bool:
    """Whether any machine of the broker has the message where its sender was told it is."""
    unique_id = sent.msg_id.encode()
    for broker in sim.core.brokers.values():
        if broker.config.broker_name == sent.broker:
            record = broker.store.select_one_message_by_offset(sent.phy_offset)
            if record is not None and unique_id in bytes(record):
                return True
    return False


def _replicas(sim: Simulation) -> list[Violation]:
    """Of every pair whose master is there; what a crash took of it, its slave may have."""
    found: list[Violation] = []
    brokers = sim.core.brokers
    for slave in brokers.values():
        master = brokers.get(f"{slave.config.broker_name}{MASTER}")
        if not slave.config.is_slave or master is None or master.name in sim.lost:
            continue
        safe = [
            event.log_offset for event in sim.history.of(UnsyncedLost) if event.node == master.name
        ]
        logs = master.store.parts[0], slave.store.parts[0]
        found += differences(slave.name, *logs, min(safe, default=None))
    return found
