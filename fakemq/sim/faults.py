"""The faults that a plan may draw: one row of a table each.

To add a fault, add a row: the targets that it may have in a plan, how it begins, how it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakemq.dispatch.node import NodeState
from fakemq.events.pop import Revived
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import SILENCE
from fakemq.sim.fault_kinds import (
    CONTROL_KINDS,
    LINK_KINDS,
    REQUEST_KINDS,
    V5_KINDS,
    break_link,
    control_requests_of,
    disk_full,
    disks,
    disks_without_old_files,
    disturb_requests,
    hold_slave,
    links_of,
    pop_requests_of,
    reorder_metadata,
    requests_of,
    slaves,
    slow_flush,
    tear_transfer,
    withhold_acks,
)
from fakemq.sim.history import MASTER
from fakemq.sim.plan import FRONT
from fakemq.sim.replica_faults import (
    LEADER,
    WAYS,
    broker_of,
    controllers,
    depose,
    groups,
    isolable,
    isolate,
    isolate_controller,
    kill_controller,
    lose_join,
    masters,
    pause_controller,
    resume_controller,
    skew_controller,
    start_controller,
    start_lost,
    unskew_controller,
)

if TYPE_CHECKING:
    import random

    from fakemq.journal.entries import Entry
    from fakemq.proxy.proxy import Proxy
    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

EVERYTHING = "everything"
"""The target of a fault that affects the whole cluster."""


class FaultRow(NamedTuple):
    """One row of the table; most faults last for a while, some only for a moment."""

    targets: Callable[[Plan], Sequence[str]]
    """Returns the nodes, links or clients that the fault may have as its target in a plan."""
    begin: Callable[[Simulation, PlannedFault], None]
    end: Callable[[Simulation, PlannedFault], None]
    longest_ms: int = 60_000
    amounts: Callable[[random.Random], int] = lambda draw: 0
    weight: int = 2
    loses_machine: bool = False
    """Unflushed bytes may be lost; a run loses at most one machine of each broker name."""
    for_good: bool = False
    """The target does not come back as it was."""


def _nothing(sim: Simulation, fault: PlannedFault) -> None:
    pass


# -- targets ---------------------------------------------------------------


def _nodes(plan: Plan) -> Sequence[str]:
    return plan.cluster.nodes


def _disks(plan: Plan) -> Sequence[str]:
    """Machines whose loss breaks no promise, whether their slave has every message or not."""
    cluster = plan.cluster
    if not cluster.on_disk or cluster.replicas is not None:
        return ()
    if cluster.flush == "SYNC_FLUSH" or cluster.role == "ASYNC_MASTER":
        return cluster.nodes
    return [node for node in cluster.nodes if not node.endswith(MASTER)]


def _masters_that_slaves_outlive(plan: Plan) -> Sequence[str]:
    cluster = plan.cluster
    if not cluster.on_disk or not cluster.slaves or cluster.replicas is not None:
        return ()
    return [f"{name}{MASTER}" for name in cluster.broker_names]


def _name_servers(plan: Plan) -> Sequence[str]:
    return [f"namesrv-{number}" for number in range(plan.cluster.namesrvs)]


def _members(plan: Plan) -> Sequence[str]:
    return [consumer.name for consumer in plan.consumers if consumer.member]


def _masters_that_revive(plan: Plan) -> Sequence[str]:
    if not plan.pop_groups:
        return ()
    return [f"{name}{MASTER}" for name in plan.cluster.broker_names]


def _front(plan: Plan) -> Sequence[str]:
    return (FRONT,) if plan.grpc else ()


def _leader(plan: Plan) -> Sequence[str]:
    return () if plan.cluster.replicas is None else (LEADER,)


def _all(plan: Plan) -> Sequence[str]:
    return (EVERYTHING,)


# -- effects ---------------------------------------------------------------


def _kill(sim: Simulation, fault: PlannedFault) -> None:
    broker_of(sim, fault).kill()


def _kill_after_revive(sim: Simulation, fault: PlannedFault) -> None:
    """Kill a broker right after it revives a message: it has not written how far it is yet."""
    broker, clock = sim.core.brokers[fault.target], sim.core.clock
    until_ms = clock.elapsed_ms() + fault.for_ms

    def revived(entry: Entry) -> None:
        if entry.event.node == broker.name and clock.elapsed_ms() < until_ms:
            sim.after(0, broker.kill)

    sim.core.journal.listen(revived, Revived)


def _start_if_killed(sim: Simulation, fault: PlannedFault) -> None:
    if sim.core.brokers[fault.target].state is NodeState.STOPPED:
        _start(sim, fault)


def _crash(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].kill(lose_unsynced=True)


def _stop(sim: Simulation, fault: PlannedFault) -> None:
    broker_of(sim, fault).stop()


def _start(sim: Simulation, fault: PlannedFault) -> None:
    broker = broker_of(sim, fault)
    if not broker.state.is_up:  # or another fault has ended with a start
        sim.core.start_broker(broker)


def _pause(sim: Simulation, fault: PlannedFault) -> None:
    broker_of(sim, fault).pause()


def _resume(sim: Simulation, fault: PlannedFault) -> None:
    broker_of(sim, fault).resume()


def _silence(sim: Simulation, fault: PlannedFault) -> None:
    scope, what = Scope(node=fault.target), f"silence {fault.target}"
    sim.placed[fault] = [sim.core.faults.place(SILENCE, None, what, scope, ALWAYS)]


def _lose_machine(sim: Simulation, fault: PlannedFault) -> None:
    """Pause the slave, and lose its master's machine before the slave resumes."""
    sim.core.brokers[_slave_of(fault.target)].pause()
    sim.after(fault.amount, lambda: sim.lose_machine(fault.target))


def _restart_slave(sim: Simulation, fault: PlannedFault) -> None:
    """Start a new process of the slave; bytes that the old one had not read are lost."""
    slave = sim.core.brokers[_slave_of(fault.target)]
    slave.kill()
    sim.core.start_broker(slave)


def _slave_of(master: str) -> str:
    return f"{master.removesuffix(MASTER)}-1"


def _skew(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].clock.skew_ms += fault.amount


def _unskew(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].clock.skew_ms -= fault.amount


def _jump(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.jump_to(sim.core.clock.now_ms() + fault.amount)


def _kill_name_server(sim: Simulation, fault: PlannedFault) -> None:
    sim.stop_name_server(fault.target)


def _start_name_server(sim: Simulation, fault: PlannedFault) -> None:
    sim.start_name_server(fault.target)


def _kill_front(sim: Simulation, fault: PlannedFault) -> None:
    _front_of(sim).stop("kill")


def _stop_front(sim: Simulation, fault: PlannedFault) -> None:
    _front_of(sim).stop()


def _start_front(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.start_proxy()


def _pause_front(sim: Simulation, fault: PlannedFault) -> None:
    _front_of(sim).pause()


def _resume_front(sim: Simulation, fault: PlannedFault) -> None:
    _front_of(sim).resume()


def _front_of(sim: Simulation) -> Proxy:
    assert sim.core.proxy is not None
    return sim.core.proxy


def _kill_client(sim: Simulation, fault: PlannedFault) -> None:
    sim.clients[fault.target].kill(silently=bool(fault.amount))


def _replace_client(sim: Simulation, fault: PlannedFault) -> None:
    sim.replace(fault.target)


def _remove(sim: Simulation, fault: PlannedFault) -> None:
    """End a fault that is active in the cluster's own fault plan."""
    for part in sim.placed.pop(fault):
        part.remove()


def _end_of_join(sim: Simulation, fault: PlannedFault) -> None:
    _remove(sim, fault)
    start_lost(sim, fault)


def _skews(draw: random.Random) -> int:
    return draw.choice((-1, 1)) * draw.choice((700, 5_000, 20_000, 60_000))


def _byte(draw: random.Random) -> int:
    return draw.randint(0, 600)


def _flush_ms(draw: random.Random) -> int:
    return draw.choice((2, 40, 700, 6_000))


FAULTS: dict[str, FaultRow] = {
    "kill": FaultRow(_nodes, _kill, _start, 90_000),
    "crash": FaultRow(_disks, _crash, _start, weight=12, loses_machine=True),
    "stop": FaultRow(_nodes, _stop, _start),
    "kill_after_revive": FaultRow(
        _masters_that_revive, _kill_after_revive, _start_if_killed, 90_000, weight=4
    ),
    "pause": FaultRow(_nodes, _pause, _resume),
    "silence": FaultRow(_nodes, _silence, _remove, 150_000),
    "lose_machine": FaultRow(
        _masters_that_slaves_outlive,
        _lose_machine,
        _restart_slave,
        10_000,
        lambda draw: draw.randint(3_000, 9_000),
        weight=20,
        loses_machine=True,
        for_good=True,
    ),
    "clock_skew": FaultRow(_nodes, _skew, _unskew, amounts=_skews, weight=4),
    "clock_jump": FaultRow(_all, _jump, _nothing, 0, _skews),
    "kill_namesrv": FaultRow(_name_servers, _kill_name_server, _start_name_server),
    "kill_front": FaultRow(_front, _kill_front, _start_front, 90_000, weight=10),
    "stop_front": FaultRow(_front, _stop_front, _start_front, weight=6),
    "pause_front": FaultRow(_front, _pause_front, _resume_front, weight=6),
    "kill_master": FaultRow(masters, _kill, _start, 90_000, weight=16),
    "pause_master": FaultRow(masters, _pause, _resume, weight=6),
    "isolate": FaultRow(
        isolable, isolate, _remove, 60_000, lambda draw: draw.choice(WAYS), weight=40
    ),
    "kill_controller": FaultRow(controllers, kill_controller, start_controller, 90_000, weight=8),
    "pause_controller": FaultRow(controllers, pause_controller, resume_controller, weight=4),
    "lose_join": FaultRow(
        *(groups, lose_join, _end_of_join, 60_000),
        lambda draw: draw.choice((0, 300, 1_500)),
        weight=16,
    ),
    "depose": FaultRow(_leader, depose, _nothing, 0, weight=4),
    "isolate_controller": FaultRow(controllers, isolate_controller, _remove, weight=6),
    "skew_controller": FaultRow(
        controllers, skew_controller, unskew_controller, amounts=_skews, weight=2
    ),
    "kill_consumer": FaultRow(
        _members, _kill_client, _replace_client, 90_000, lambda draw: draw.randrange(2)
    ),
    "hold_slave": FaultRow(slaves, hold_slave, _remove, 40_000, weight=4),
    "withhold_acks": FaultRow(slaves, withhold_acks, _remove, 40_000, weight=5),
    "tear_transfer": FaultRow(slaves, tear_transfer, _remove, 40_000, _byte, weight=4),
    "reorder_metadata": FaultRow(slaves, reorder_metadata, _remove, 60_000, weight=3),
    "slow_flush": FaultRow(disks, slow_flush, _remove, 40_000, _flush_ms, weight=8),
    "disk_full": FaultRow(disks_without_old_files, disk_full, _remove, 40_000, weight=10),
    **{
        name: FaultRow(requests_of, disturb_requests, _remove, 40_000, kind.amounts, weight=4)
        for name, kind in REQUEST_KINDS.items()
    },
    **{
        name: FaultRow(pop_requests_of, disturb_requests, _remove, 40_000, kind.amounts, weight=6)
        for name, kind in V5_KINDS.items()
    },
    **{
        name: FaultRow(
            control_requests_of, disturb_requests, _remove, 40_000, kind.amounts, weight=8
        )
        for name, kind in CONTROL_KINDS.items()
    },
    **{
        name: FaultRow(links_of, break_link, _remove, kind.longest_ms, kind.amounts)
        for name, kind in LINK_KINDS.items()
    },
}
