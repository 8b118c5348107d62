"""The plan that a seed draws."""

from __future__ import annotations

from collections import Counter

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.sim.drawing import draw_plan
from fakemq.sim.plan import QUIET_MS

PLANS = [draw_plan(seed) for seed in range(200)]


def test_seed_draws_one_plan_and_seeds_differ() -> None:
    assert draw_plan(7) == draw_plan(7)
    assert len({repr(plan) for plan in PLANS}) == len(PLANS)


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
