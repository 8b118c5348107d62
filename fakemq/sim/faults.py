"""The faults that a plan may draw: each one row of a table, from who can have it to its undoing.

Another fault is one more row: whom it may befall under a plan, what it does, what undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakemq.broker.registration import SILENCE
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.sim.history import MASTER
from fakemq.sim.link_faults import LINK_KINDS, befall_link, links_of
from fakemq.sim.plan import FAULTS_MAX, FAULTS_MIN, PlannedFault
from fakemq.sim.replication_faults import (
    disk_full,
    disks,
    disks_without_old_files,
    hold_slave,
    reorder_metadata,
    slaves,
    slow_flush,
    tear_transfer,
    withhold_acks,
)
from fakemq.sim.request_faults import REQUEST_KINDS, befall_requests, requests_of

if TYPE_CHECKING:
    import random

    from fakemq.sim.plan import Plan
    from fakemq.sim.run import Simulation

FIRST_MS, LAST_MS = 15_000, 15_000
"""How long before the first fault, and between the end of the last and the quiet."""
APART_MS = 5_000
"""Between two faults of one target."""
EVERYTHING = "everything"
"""The target of faults that befall all at once."""


class Fault(NamedTuple):
    """One row: ``targets`` says whom it may befall; most are over after a while, some at once."""

    targets: Callable[[Plan], Sequence[str]]
    begin: Callable[[Simulation, PlannedFault], None]
    end: Callable[[Simulation, PlannedFault], None]
    longest_ms: int = 60_000
    amounts: Callable[[random.Random], int] = lambda draw: 0
    weight: int = 2
    loses_machine: bool = False
    """What was not flushed may be gone; one machine of a broker name is lost in a run, no more."""
    for_good: bool = False
    """Its target is never the same again."""


def _nothing(sim: Simulation, fault: PlannedFault) -> None:
    pass


# -- whom ---------------------------------------------------------------------------------------


def _nodes(plan: Plan) -> Sequence[str]:
    return plan.cluster.nodes


def _disks(plan: Plan) -> Sequence[str]:
    """Machines whose loss is no matter of a slave's having everything."""
    cluster = plan.cluster
    if not cluster.on_disk:
        return ()
    if cluster.flush == "SYNC_FLUSH" or cluster.role == "ASYNC_MASTER":
        return cluster.nodes
    return [node for node in cluster.nodes if not node.endswith(MASTER)]


def _masters_that_slaves_outlive(plan: Plan) -> Sequence[str]:
    cluster = plan.cluster
    if not cluster.on_disk or not cluster.slaves:
        return ()
    return [f"{name}{MASTER}" for name in cluster.broker_names]


def _name_servers(plan: Plan) -> Sequence[str]:
    return [f"namesrv-{number}" for number in range(plan.cluster.namesrvs)]


def _members(plan: Plan) -> Sequence[str]:
    return [consumer.name for consumer in plan.consumers if consumer.member]


def _all(plan: Plan) -> Sequence[str]:
    return (EVERYTHING,)


# -- what ---------------------------------------------------------------------------------------


def _kill(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].kill()


def _crash(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].kill(lose_unsynced=True)


def _stop(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].stop()


def _start(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.start_broker(sim.core.brokers[fault.target])


def _pause(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].pause()


def _resume(sim: Simulation, fault: PlannedFault) -> None:
    sim.core.brokers[fault.target].resume()


def _silence(sim: Simulation, fault: PlannedFault) -> None:
    sim.placed[fault] = sim.core.faults.place(
        SILENCE, None, f"silence {fault.target}", Scope(node=fault.target), ALWAYS
    )


def _lose_machine(sim: Simulation, fault: PlannedFault) -> None:
    """The slave stands still, and before it goes on its master's machine is gone for good."""
    sim.core.brokers[_slave_of(fault.target)].pause()
    sim.after(fault.amount, lambda: sim.lose_machine(fault.target))


def _slave_begins_anew(sim: Simulation, fault: PlannedFault) -> None:
    """Its process is: what its socket had and it had not read is gone."""
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


def _kill_client(sim: Simulation, fault: PlannedFault) -> None:
    sim.clients[fault.target].kill(silently=bool(fault.amount))


def _replace_client(sim: Simulation, fault: PlannedFault) -> None:
    sim.replace(fault.target)


def _remove(sim: Simulation, fault: PlannedFault) -> None:
    """One that was placed in the cluster's own plan of faults is over."""
    sim.placed.pop(fault).remove()


def _skews(draw: random.Random) -> int:
    return draw.choice((-1, 1)) * draw.choice((700, 5_000, 20_000, 60_000))


def _byte(draw: random.Random) -> int:
    return draw.randint(0, 600)


def _flush_ms(draw: random.Random) -> int:
    return draw.choice((2, 40, 700, 6_000))


FAULTS: dict[str, Fault] = {
    "kill": Fault(_nodes, _kill, _start, 90_000),
    "crash": Fault(_disks, _crash, _start, weight=12, loses_machine=True),
    "stop": Fault(_nodes, _stop, _start),
    "pause": Fault(_nodes, _pause, _resume),
    "silence": Fault(_nodes, _silence, _remove, 150_000),
    "lose_machine": Fault(
        _masters_that_slaves_outlive,
        _lose_machine,
        _slave_begins_anew,
        10_000,
        lambda draw: draw.randint(3_000, 9_000),
        weight=20,
        loses_machine=True,
        for_good=True,
    ),
    "clock_skew": Fault(_nodes, _skew, _unskew, amounts=_skews, weight=4),
    "clock_jump": Fault(_all, _jump, _nothing, 0, _skews),
    "kill_namesrv": Fault(_name_servers, _kill_name_server, _start_name_server),
    "kill_consumer": Fault(
        _members, _kill_client, _replace_client, 90_000, lambda draw: draw.randrange(2)
    ),
    "hold_slave": Fault(slaves, hold_slave, _remove, 40_000, weight=4),
    "withhold_acks": Fault(slaves, withhold_acks, _remove, 40_000, weight=5),
    "tear_transfer": Fault(slaves, tear_transfer, _remove, 40_000, _byte, weight=4),
    "reorder_metadata": Fault(slaves, reorder_metadata, _remove, 60_000, weight=3),
    "slow_flush": Fault(disks, slow_flush, _remove, 40_000, _flush_ms, weight=8),
    "disk_full": Fault(disks_without_old_files, disk_full, _remove, 40_000, weight=10),
    **{
        name: Fault(requests_of, befall_requests, _remove, 40_000, kind.amounts, weight=4)
        for name, kind in REQUEST_KINDS.items()
    },
    **{
        name: Fault(links_of, befall_link, _remove, kind.longest_ms, kind.amounts)
        for name, kind in LINK_KINDS.items()
    },
}


# -- drawing ------------------------------------------------------------------------------------


def draw_faults(plan: Plan, draw: random.Random) -> tuple[PlannedFault, ...]:
    """Some faults that can be under ``plan``, in the order of their beginning."""
    possible = {name: list(fault.targets(plan)) for name, fault in FAULTS.items()}
    names = [name for name, targets in possible.items() if targets]
    weights = [FAULTS[name].weight for name in names]
    wanted = draw.randint(FAULTS_MIN, FAULTS_MAX)
    drawn: list[PlannedFault] = []
    while len(drawn) < wanted:
        name = draw.choices(names, weights)[0]
        row, target = FAULTS[name], draw.choice(possible[name])
        amount = row.amounts(draw)
        shortest_ms = min(row.longest_ms, max(1_000, amount + 500 if row.for_good else 0))
        for_ms = draw.randint(shortest_ms, row.longest_ms)
        at_ms = draw.randint(FIRST_MS, max(FIRST_MS, plan.quiet_at_ms - LAST_MS - for_ms))
        fault = PlannedFault(name=name, target=target, at_ms=at_ms, for_ms=for_ms, amount=amount)
        if fault.until_ms < plan.quiet_at_ms and not any(_clash(fault, one) for one in drawn):
            drawn.append(fault)
    return tuple(sorted(drawn, key=lambda fault: (fault.at_ms, fault.target)))


def _clash(one: PlannedFault, other: PlannedFault) -> bool:
    """Whether two faults cannot be in one run."""
    rows = FAULTS[one.name], FAULTS[other.name]
    if EVERYTHING in (one.target, other.target):
        return one.target == other.target
    if _broker_name(one) == _broker_name(other) and any(row.for_good for row in rows):
        return True  # else a second machine may be down when it matters
    if _broker_name(one) == _broker_name(other) and all(row.loses_machine for row in rows):
        return True
    return (
        one.target == other.target
        and one.at_ms < other.until_ms + APART_MS
        and other.at_ms < one.until_ms + APART_MS
    )


def _broker_name(fault: PlannedFault) -> str:
    return fault.target.rpartition("-")[0]
