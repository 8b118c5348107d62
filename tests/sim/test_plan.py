"""The plan that a seed draws."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import partial

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.sim.drawing import draw_plan
from fakemq.sim.front_kinds import CONSUMERS, PRODUCERS
from fakemq.sim.plan import QUIET_MS
from fakemq.sim.replay import drawn
from tests.support.plans import Plans

PLANS = Plans(200)
V5 = Plans(200, partial(draw_plan, reference="5.5.0"))
DIGEST = "ba1c5480cf9d49dce8cc5e853a8aaa062ecc6f14704f1b2b905963b75c03f9b8"
"""Of the plans of 4.9.7. It changes with a new kind of fault or client for all references: then
every seed is another run, so seeds that tests name are to be found anew."""


def test_seed_draws_one_plan_and_seeds_differ() -> None:
    assert draw_plan(7) == draw_plan(7)
    assert len({repr(plan) for plan in PLANS}) == len(PLANS)


def test_plans_of_the_default_reference_stay_what_they_are() -> None:
    digest = hashlib.sha256()
    for plan in PLANS:
        digest.update("\n".join(drawn(plan)).encode())
    assert digest.hexdigest() == DIGEST


def test_another_reference_has_other_clients_in_the_same_cluster() -> None:
    assert [one.cluster for one in V5] == [one.cluster for one in PLANS]
    for plan, other in zip(PLANS, V5, strict=True):
        kinds = {consumer.kind for consumer in other.consumers}
        assert kinds == {"member", "reader", "popper", "ordered_popper"}
        assert {one.kind for one in other.producers} >= {"timer", "priority"}
        assert other.pop_groups == {"workers": ("orders", "alerts"), "ledger": ("payments",)}
        assert not plan.pop_groups
        assert set(other.topics) - set(plan.topics) == {"alerts"}


def test_plans_with_a_front_have_grpc_clients_in_the_same_cluster() -> None:
    plans = [draw_plan(seed, reference="5.5.0", grpc=True) for seed in range(200)]
    assert [one.cluster for one in plans] == [one.cluster for one in PLANS]
    for plan in plans:
        kinds = {consumer.kind for consumer in plan.consumers}
        assert kinds - {"popper"} == {"member", "reader", *CONSUMERS}
        assert {one.kind for one in plan.producers} == {"oneway", "sync", "timer", *PRODUCERS}
        assert set(plan.pop_groups) == {"workers", "clerks", "ledger"}
    assert any(one.kind == "popper" for plan in plans for one in plan.consumers)
    names = Counter(fault.name for plan in plans for fault in plan.faults)
    assert min(names[name] for name in ("kill_front", "stop_front", "pause_front")) >= 20
    targets = {fault.target for plan in plans for fault in plan.faults}
    assert "ledger-1 to proxy-0" in targets
    assert not any("proxy-0" in fault.target for plan in V5 for fault in plan.faults)


def test_only_a_reference_with_a_front_has_grpc_clients() -> None:
    with pytest.raises(ValueError, match=r"4\.9\.7 has no gRPC front; 5\.5\.0 has one"):
        draw_plan(1, grpc=True)


def test_members_pop_in_every_way() -> None:
    pops = [one.pop for plan in V5 for one in plan.consumers if one.pop is not None]
    assert len({(one.notified, one.batch_acks) for one in pops}) == 4
    assert {one.share for one in pops} == {0, 1}
    assert {len([one for one in plan.consumers if one.group == "workers"]) for plan in V5} == {
        *(2, 3)
    }
    lines = [line for plan in V5 for line in drawn(plan)]
    assert any(
        "waiting 15000 ms for a notification, acknowledging together" in one for one in lines
    )


def test_clusters_of_every_kind_are_drawn() -> None:
    clusters = [plan.cluster for plan in PLANS]
    assert {cluster.masters for cluster in clusters} == {1, 2}
    assert {cluster.slaves for cluster in clusters} == {0, 1}
    assert {cluster.namesrvs for cluster in clusters} == {1, 2}
    kinds = {(one.role, one.flush, one.on_disk) for one in clusters}
    assert len(kinds) == 8
    counts = Counter((one.role, one.flush, one.on_disk) for one in clusters)
    assert min(counts.values()) >= 12
    assert not any(one.role == "SYNC_MASTER" and not one.slaves for one in clusters)


def test_some_producers_wait_longer_than_their_brokers() -> None:
    waits = {producer.send_timeout_ms for plan in PLANS for producer in plan.producers}
    broker = BrokerConfig()
    assert min(waits) <= broker.slave_timeout
    assert max(waits) > max(broker.slave_timeout, broker.sync_flush_timeout)


def test_longer_runs_have_longer_traffic_and_the_same_quiet_time() -> None:
    assert draw_plan(1, 30).quiet_at_ms == 30 * 60_000 - QUIET_MS


@pytest.mark.parametrize("minutes", [0, 4.9, float("nan")])
def test_too_few_minutes_are_refused(minutes: float) -> None:
    with pytest.raises(ValueError, match="5 or more leave time for traffic"):
        draw_plan(1, minutes)


def test_too_many_minutes_are_refused() -> None:
    with pytest.raises(ValueError, match="525600 is the most"):
        draw_plan(1, float("inf"))
