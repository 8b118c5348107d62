"""What a plan may draw for replication and disks: slaves held or unheard, flushes slow, no room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fakemq.faults.plan import ALWAYS, ONCE, Point, Scope, When
from fakemq.ha.faults import ACKS, HOLD, LATE, TEAR
from fakemq.handles.faults.nodes import DISK_FULL
from fakemq.sim.history import MASTER
from fakemq.store.faults import SLOW

if TYPE_CHECKING:
    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.run import Simulation

LOG_BYTES_A_MINUTE = 100_000
"""More than a run of the busiest plan writes at one broker."""


def slaves(plan: Plan) -> Sequence[str]:
    return [node for node in plan.cluster.nodes if not node.endswith(MASTER)]


def disks(plan: Plan) -> Sequence[str]:
    return plan.cluster.nodes if plan.cluster.on_disk else ()


def disks_without_old_files(plan: Plan) -> Sequence[str]:
    """Masters whose log is one file: a full disk loses all others, and what was promised."""
    cluster = plan.cluster
    if cluster.log_file_bytes < LOG_BYTES_A_MINUTE * plan.minutes:
        return ()
    return [node for node in cluster.nodes if node.endswith(MASTER)]


def hold_slave(sim: Simulation, fault: PlannedFault) -> None:
    """The slave appends nothing from now on, and goes on when it is over."""
    slave = sim.core.brokers[fault.target]

    def go_on() -> None:
        client = None if slave.ha is None else slave.ha.client
        if client is not None and client.end is not None:
            client.end.go_on()

    scope = Scope(node=slave.name)
    _place(sim, fault, HOLD, slave.store.max_phy_offset, scope, ALWAYS, go_on)


def withhold_acks(sim: Simulation, fault: PlannedFault) -> None:
    """Nobody hears what the slave has until it is over."""

    def hear() -> None:
        for broker in sim.core.brokers.values():
            for end in list(broker.ha.connections) if broker.ha is not None else ():
                if end.peer_node == fault.target:
                    end.hear_again()

    _place(sim, fault, ACKS, None, Scope(peer=fault.target), ALWAYS, hear)


def tear_transfer(sim: Simulation, fault: PlannedFault) -> None:
    """The next transfer to the slave breaks off after so many bytes."""
    _place(sim, fault, TEAR, fault.amount, Scope(peer=fault.target), ONCE)


def reorder_metadata(sim: Simulation, fault: PlannedFault) -> None:
    """Answers to the slave's looks are overtaken by those to its next."""
    _place(sim, fault, LATE, None, Scope(node=fault.target), ALWAYS)


def slow_flush(sim: Simulation, fault: PlannedFault) -> None:
    """Every flush of the log takes so many milliseconds."""
    _place(sim, fault, SLOW, fault.amount, Scope(node=fault.target), ALWAYS)


def disk_full(sim: Simulation, fault: PlannedFault) -> None:
    """Nothing that is new is taken until it is over."""
    retention = sim.core.brokers[fault.target].store.retention
    scope = Scope(node=fault.target)
    _place(sim, fault, DISK_FULL, None, scope, ALWAYS, lambda: retention.fill(None))
    retention.fill(sim.placed[fault])


def _place(
    sim: Simulation,
    fault: PlannedFault,
    point: Point[Any],
    action: object,
    scope: Scope,
    when: When,
    on_end: Callable[[], None] = lambda: None,
) -> None:
    what = f"{fault.name} of {fault.target}"
    sim.placed[fault] = sim.core.faults.place(point, action, what, scope, when, on_end=on_end)
