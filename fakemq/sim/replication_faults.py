"""Faults that a plan may draw for replication and disks.

Slaves that append nothing, acknowledgements that are withheld, slow flushes, full disks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fakemq.faults.plan import ALWAYS, ONCE, Point, Scope, When
from fakemq.faults.points import (
    DISK_FULL,
    HOLD_SLAVE,
    REORDER_METADATA,
    SLOW_FLUSH,
    TEAR_TRANSFER,
    WITHHOLD_ACKS,
)
from fakemq.sim.history import MASTER

if TYPE_CHECKING:
    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

LOG_BYTES_A_MINUTE = 100_000
"""More than the busiest plan writes to one broker in a minute."""


def slaves(plan: Plan) -> Sequence[str]:
    return [node for node in plan.cluster.nodes if not node.endswith(MASTER)]


def disks(plan: Plan) -> Sequence[str]:
    return plan.cluster.nodes if plan.cluster.on_disk else ()


def disks_without_old_files(plan: Plan) -> Sequence[str]:
    """Masters whose log stays one file: a full disk deletes older files, and messages with them."""
    cluster = plan.cluster
    if cluster.log_file_bytes < LOG_BYTES_A_MINUTE * plan.minutes:
        return ()
    return [node for node in cluster.nodes if node.endswith(MASTER)]


def hold_slave(sim: Simulation, fault: PlannedFault) -> None:
    """Stop the slave's appends; it resumes when the fault ends."""
    slave = sim.core.brokers[fault.target]

    def resume() -> None:
        client = None if slave.ha is None else slave.ha.client
        if client is not None and client.end is not None:
            client.end.resume_appends()

    scope = Scope(node=slave.name)
    _place(sim, fault, HOLD_SLAVE, slave.store.max_phy_offset, scope, ALWAYS, resume)


def withhold_acks(sim: Simulation, fault: PlannedFault) -> None:
    """Withhold the slave's acknowledgements from its master until the fault ends."""

    def release() -> None:
        for broker in sim.core.brokers.values():
            for end in list(broker.ha.connections) if broker.ha is not None else ():
                if end.peer_node == fault.target:
                    end.redeliver_ack()

    _place(sim, fault, WITHHOLD_ACKS, None, Scope(peer=fault.target), ALWAYS, release)


def tear_transfer(sim: Simulation, fault: PlannedFault) -> None:
    """Break off the next transfer to the slave after ``fault.amount`` bytes."""
    _place(sim, fault, TEAR_TRANSFER, fault.amount, Scope(peer=fault.target), ONCE)


def reorder_metadata(sim: Simulation, fault: PlannedFault) -> None:
    """Deliver the slave's metadata responses out of order: each after the response to the next."""
    _place(sim, fault, REORDER_METADATA, None, Scope(node=fault.target), ALWAYS)


def slow_flush(sim: Simulation, fault: PlannedFault) -> None:
    """Make every flush of the log take ``fault.amount`` milliseconds."""
    _place(sim, fault, SLOW_FLUSH, fault.amount, Scope(node=fault.target), ALWAYS)


def disk_full(sim: Simulation, fault: PlannedFault) -> None:
    """Make the broker refuse new messages until the fault ends."""
    space = sim.core.brokers[fault.target].store.disk_space
    scope = Scope(node=fault.target)
    _place(sim, fault, DISK_FULL, None, scope, ALWAYS, lambda: space.fill(None))
    space.fill(sim.placed[fault])


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
