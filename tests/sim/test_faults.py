"""Every fault of the table: drawn by some seed, lived through, undone."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from fakemq.sim.events import FaultBegan, FaultEnded
from fakemq.sim.faults import FAULTS
from fakemq.sim.plan import FAULTS_MIN, Plan, PlannedFault, draw_plan
from fakemq.sim.replay import store_folder
from fakemq.sim.run import Simulation

DRAWN = [draw_plan(seed) for seed in range(300)]


def test_every_fault_is_drawn_and_every_run_has_some() -> None:
    counts = Counter(fault.name for plan in DRAWN for fault in plan.faults)
    assert counts.keys() == FAULTS.keys()
    assert min(counts.values()) >= 10
    assert min(len(plan.faults) for plan in DRAWN) >= FAULTS_MIN >= 3


def test_faults_befall_whom_they_may_and_are_over_before_the_quiet() -> None:
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


def test_one_machine_of_a_pair_is_lost_at_most() -> None:
    for plan in DRAWN:
        lost = [fault.target for fault in plan.faults if FAULTS[fault.name].loses_machine]
        names = [target.rpartition("-")[0] for target in lost]
        assert len(set(names)) == len(names)


def with_only(name: str) -> Plan:
    """A short run with one fault; the first seed that can have it and has it."""
    for plan in DRAWN:
        for fault in plan.faults:
            if fault.name == name:
                short = replace(fault, at_ms=20_000, for_ms=min(fault.for_ms, 30_000))
                return replace(plan, minutes=5, faults=(short,))
    raise LookupError(name)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_begins_ends_and_leaves_a_cluster_that_works(name: str) -> None:
    plan = with_only(name)
    with store_folder() as root:
        sim = Simulation(plan, root)
        sim.core.stop_logging()
        sim.start()
        sim.pass_to(plan.length_ms)
        assert len(sim.core.journal.find(FaultBegan, fault=name)) == 1
        assert len(sim.core.journal.find(FaultEnded, fault=name)) == 1
        states = {
            broker.state for broker in sim.core.brokers.values() if broker.name not in sim.lost
        }
        assert states == {"running"}
        assert all(client.alive for client in sim.clients.values())
        assert sim.verdict() == []
        sim.close()
