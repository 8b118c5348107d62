"""Every fault of the table is drawn by some seed, takes effect, and is undone."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import dropwhile, product

import pytest
from msgspec.structs import replace

from fakemq.dispatch.node import NodeState
from fakemq.events import NodeStopped
from fakemq.events.pop import Revived
from fakemq.events.store import UnsyncedLost
from fakemq.sim.drawing import FAULTS_MIN, draw_plan
from fakemq.sim.events import FaultBegan, FaultEnded, Sent
from fakemq.sim.fault_kinds import (
    AT,
    CODES,
    CONTROL_KINDS,
    POINTS,
    POP_CODES,
    REQUEST_KINDS,
    V5_KINDS,
)
from fakemq.sim.faults import FAULTS
from fakemq.sim.history import MASTER
from fakemq.sim.invariants.durability import promises
from fakemq.sim.plan import Plan, PlannedFault
from fakemq.sim.replay import store_folder
from fakemq.sim.run import SimulationRun
from tests.support.plans import Plans

DRAWN = Plans(300)
V5 = Plans(300, partial(draw_plan, reference="5.5.0"))
FRONTS = Plans(300, partial(draw_plan, reference="5.5.0", grpc=True))
REPLICAS = Plans(300, partial(draw_plan, reference="5.5.0", controllers=0))
ONLY_REPLICAS = {
    *CONTROL_KINDS,
    *(
        "depose",
        "isolate",
        "isolate_controller",
        "kill_master",
        "lose_join",
        "pause_master",
        "kill_controller",
        "pause_controller",
        "skew_controller",
    ),
}
"""Faults of replicas and controllers, which only clusters with controllers have."""
ONLY_FRONTS = {"kill_front", "stop_front", "pause_front"}
"""Faults of the gRPC front, which only some clusters of 5.5.0 have."""
ONLY_V5 = {*V5_KINDS, "kill_after_revive"}
"""Faults of members that pop, which only clusters of 5.5.0 have."""
NOT_OF_REPLICAS = {"crash", "lose_machine", "disk_full"}
"""Faults of a master that no other one replaces."""


def test_every_fault_is_drawn_and_every_run_has_some() -> None:
    for plans, names in (
        (DRAWN, FAULTS.keys() - ONLY_V5 - ONLY_FRONTS - ONLY_REPLICAS),
        (V5, FAULTS.keys() - ONLY_FRONTS - ONLY_REPLICAS),
        (FRONTS, FAULTS.keys() - ONLY_REPLICAS),
        (REPLICAS, FAULTS.keys() - ONLY_V5 - ONLY_FRONTS - NOT_OF_REPLICAS),
    ):
        counts = Counter(fault.name for plan in plans for fault in plan.faults)
        assert counts.keys() == names
        assert min(counts.values()) >= 10
        assert min(len(plan.faults) for plan in plans) >= FAULTS_MIN >= 3


def test_two_hundred_plans_draw_everything() -> None:
    counts = Counter(fault.name for plan in DRAWN[:200] for fault in plan.faults)
    assert min(counts.values()) >= 15
    assert max(counts.values()) <= 8 * min(counts.values())


def test_machines_are_lost_in_every_kind_of_cluster_that_promises_to_survive() -> None:
    lost: dict[str, set[tuple[str, str]]] = {"crash": set(), "lose_machine": set()}
    for plan in DRAWN[:200]:
        for fault in plan.faults:
            if fault.name in lost and fault.target.endswith(MASTER):
                lost[fault.name].add((plan.cluster.role, plan.cluster.flush))
    every = set(product(("ASYNC_MASTER", "SYNC_MASTER"), ("ASYNC_FLUSH", "SYNC_FLUSH")))
    assert lost["lose_machine"] == every
    # One that comes back shorter than its slave would have that differ from it.
    assert lost["crash"] == every - {("SYNC_MASTER", "ASYNC_FLUSH")}


def test_faults_apply_to_all_requests_at_every_point_in_every_way() -> None:
    met = Counter(
        (fault.name, *fault.target.split(AT)[:2])
        for plan in DRAWN[:200]
        for fault in plan.faults
        if fault.name in REQUEST_KINDS
    )
    kinds = product(REQUEST_KINDS, (code.name for code in CODES), POINTS)
    assert set(met) == set(kinds)
    assert min(met.values()) >= 5


def test_faults_apply_to_all_requests_of_pop_at_every_point_in_every_way() -> None:
    met = Counter(
        (fault.name, *fault.target.split(AT)[:2])
        for plan in V5
        for fault in plan.faults
        if fault.name in V5_KINDS
    )
    kinds = product(V5_KINDS, (code.name for code in POP_CODES), POINTS)
    assert set(met) == set(kinds)


def test_faults_apply_to_all_that_brokers_and_controllers_say() -> None:
    met = {
        (fault.name, fault.target.split(AT)[0])
        for plan in REPLICAS
        for fault in plan.faults
        if fault.name in CONTROL_KINDS
    }
    lost = {code for name, code in met if name == "drop_control"}
    assert lost >= {"CONTROLLER_ALTER_SYNC_STATE_SET", "NOTIFY_BROKER_ROLE_CHANGED"}
    assert {name for name, _ in met} == set(CONTROL_KINDS)


def test_full_disk_has_no_old_files_to_delete() -> None:
    full = [(plan, fault) for plan in DRAWN for fault in plan.faults if fault.name == "disk_full"]
    assert all(plan.cluster.log_file_bytes >= 100_000 * plan.minutes for plan, _ in full)
    row = FAULTS["disk_full"]
    assert row.targets(full[0][0])
    assert not row.targets(replace(full[0][0], minutes=30))


@pytest.mark.slow  # whole runs
@pytest.mark.parametrize("status", ["FLUSH_SLAVE_TIMEOUT", "FLUSH_DISK_TIMEOUT"])
def test_some_sends_time_out_at_a_slave_or_disk(status: str) -> None:
    fault, role, flush = {
        "FLUSH_SLAVE_TIMEOUT": ("withhold_acks", "SYNC_MASTER", "ASYNC_FLUSH"),
        "FLUSH_DISK_TIMEOUT": ("slow_flush", "ASYNC_MASTER", "SYNC_FLUSH"),
    }[status]
    for plan in DRAWN:
        slow = [one for one in plan.faults if one.name == fault]
        long = [one for one in plan.producers if one.send_timeout_ms > 5_000]
        if not (slow and long) or (plan.cluster.role, plan.cluster.flush) != (role, flush):
            continue
        amount = 6_000 if fault == "slow_flush" else 0
        only = replace(slow[0], target="broker-a-1" if role == "SYNC_MASTER" else "broker-a-0")
        only = replace(only, at_ms=15_000, for_ms=40_000, amount=amount)
        with store_folder() as root:
            sim = SimulationRun(replace(plan, minutes=5, faults=(only,)), root)
            sim.core.stop_logging()
            sim.start()
            sim.pass_to(60_000)
            notified = {sent.status for sent in sim.history.of(Sent)}
            sim.close()
        assert status in notified
        return
    pytest.fail(f"no plan with {fault} under {role} and {flush}")


@pytest.mark.slow  # whole runs, until one shows it
def test_some_messages_are_stored_without_a_promise() -> None:
    for plan in DRAWN:
        crashes = [one for one in plan.faults if one.name in ("crash", "lose_machine")]
        cluster = plan.cluster
        if (cluster.role, cluster.flush) != ("ASYNC_MASTER", "ASYNC_FLUSH") or not any(
            one.target.endswith(MASTER) for one in crashes
        ):
            continue
        with store_folder() as root:
            sim = SimulationRun(plan, root)
            sim.core.stop_logging()
            sim.start()
            sim.pass_to(plan.length_ms)
            lost_from = dict.fromkeys(sim.lost, 0) | {
                cut.node: cut.log_offset
                for cut in sim.history.of(UnsyncedLost)
                if cut.log_bytes and cut.node.endswith(MASTER)
            }
            promised = promises(cluster, lost_from)
            kept = Counter(promised(one) for one in sim.history.of(Sent) if one.status == "SEND_OK")
            assert sim.verdict() == []
            sim.close()
        if lost_from and not sim.lost:
            assert kept[False] > 0, "what was lost"
            assert kept[True] > 0, "what was before it, or at another broker"
            return
    pytest.fail("no plan loses a master's machine that promised nothing")


def test_faults_apply_to_their_targets_and_end_before_the_quiet_time() -> None:
    for plan in DRAWN:
        for fault in plan.faults:
            assert fault.target in FAULTS[fault.name].targets(plan)
            assert 0 < fault.at_ms <= fault.until_ms < plan.quiet_at_ms


def test_faults_of_one_target_do_not_overlap() -> None:
    for plan in DRAWN:
        last: dict[str, PlannedFault] = {}
        for fault in plan.faults:
            before = last.get(fault.target)
            assert before is None or before.until_ms < fault.at_ms
            last[fault.target] = fault


def test_at_most_one_machine_of_a_pair_is_lost() -> None:
    for plan in DRAWN:
        lost = [fault.target for fault in plan.faults if FAULTS[fault.name].loses_machine]
        names = [target.rpartition("-")[0] for target in lost]
        assert len(set(names)) == len(names)


def with_only(name: str) -> Plan:
    """Return a short plan with one fault, from the first seed that draws it."""
    kinds = {**dict.fromkeys(ONLY_FRONTS, FRONTS), **dict.fromkeys(ONLY_V5, V5)}
    kinds |= dict.fromkeys(ONLY_REPLICAS, REPLICAS)
    for plan in kinds.get(name, DRAWN):
        for fault in plan.faults:
            if fault.name == name:
                short = replace(fault, at_ms=20_000, for_ms=min(fault.for_ms, 30_000))
                return replace(plan, minutes=5, faults=(short,))
    raise LookupError(name)


@pytest.mark.slow  # over a minute of a whole run
def test_broker_is_killed_right_after_it_revived_a_message() -> None:
    plan = with_only("kill_after_revive")
    failing = [replace(one, failing=0.9) for one in plan.consumers]
    with store_folder() as root:
        sim = SimulationRun(replace(plan, consumers=tuple(failing)), root)
        sim.core.stop_logging()
        sim.start()
        sim.pass_to(55_000)
        (fault,) = plan.faults
        under_fault = dropwhile(lambda one: not isinstance(one.event, FaultBegan), sim.core.journal)
        times = {
            kind: next(
                one.at_ms
                for one in under_fault
                if isinstance(one.event, kind) and one.event.node == fault.target
            )
            for kind in (Revived, NodeStopped)
        }
        assert times[Revived] == times[NodeStopped]
        assert sim.core.brokers[fault.target].state is NodeState.RUNNING
        sim.close()


@pytest.mark.parametrize("name", FAULTS)
def test_fault_begins_ends_and_leaves_a_working_cluster(name: str) -> None:
    plan = with_only(name)
    with store_folder() as root:
        sim = SimulationRun(plan, root)
        sim.core.stop_logging()
        sim.start()
        sim.pass_to(plan.length_ms)
        assert len(sim.core.journal.find(FaultBegan, fault=name)) == 1
        assert len(sim.core.journal.find(FaultEnded, fault=name)) == 1
        states = {
            broker.state.value
            for broker in sim.core.brokers.values()
            if broker.name not in sim.lost
        }
        assert states == {"running"}
        assert all(client.alive for client in sim.clients.values())
        assert sim.verdict() == []
        sim.close()
