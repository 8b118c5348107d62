"""Which broker is avoided for how long, and what is left when all are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.producing.latency import ByLatency, LatencyFaultTolerance
from fakemq.client.producing.settings import ProducerSettings
from fakemq.client.queue_choice import InTurn, QueueChoice
from fakemq.randomness import Randomness
from tests.support.scripted_operation import queue

SETTINGS = ProducerSettings(group="g")
QUEUES = [queue(name, number) for name in "abc" for number in (0, 1)]


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


def tolerance(clock: Clock) -> LatencyFaultTolerance:
    return LatencyFaultTolerance(clock, QueueChoice(-1))


def chooser(clock: Clock) -> ByLatency:
    return ByLatency(
        InTurn(Randomness(1).stream("test")),
        tolerance(clock),
        SETTINGS.latency_max_ms,
        SETTINGS.not_available_duration_ms,
    )


@pytest.mark.parametrize(
    ("latency_ms", "avoided_ms"),
    [
        (0, 0),
        (50, 0),
        (549, 0),
        (550, 30_000),
        (999, 30_000),
        (1_000, 60_000),
        (2_000, 120_000),
        (3_000, 180_000),
        (14_999, 180_000),
        (15_000, 600_000),
        (10**9, 600_000),
    ],
)
def test_pause_depends_on_the_latency(latency_ms: int, avoided_ms: int) -> None:
    assert chooser(Clock()).not_available_ms(latency_ms) == avoided_ms


def test_slow_broker_is_avoided_until_its_time_is_over() -> None:
    clock = Clock()
    choice = chooser(clock)
    choice.report("a", -600, failed=False)
    assert {choice.choose("t", QUEUES, None).broker_name for _ in range(12)} == {"b", "c"}
    clock.now_ms = 30_000
    assert {choice.choose("t", QUEUES, None).broker_name for _ in range(12)} == {"a", "b", "c"}


def test_fast_answer_makes_a_broker_available_again() -> None:
    choice = chooser(Clock())
    choice.report("a", 0, failed=True)
    choice.report("a", -1, failed=False)
    assert {choice.choose("t", QUEUES, None).broker_name for _ in range(12)} == {"a", "b", "c"}


def test_better_half_is_taken_when_no_broker_is_available() -> None:
    choice = chooser(Clock())
    for name, latency_ms in (("a", 5_000), ("b", 1_000), ("c", 2_000)):
        choice.report(name, -latency_ms, failed=True)
    chosen = [choice.choose("t", QUEUES, None) for _ in range(8)]
    assert {one.broker_name for one in chosen} == {"b"}
    assert {one.queue_id for one in chosen} == {0, 1}


def test_broker_without_queues_of_the_topic_is_forgotten() -> None:
    choice = chooser(Clock())
    choice.report("elsewhere", -1, failed=True)
    choice.report("a", -700, failed=True)
    for _ in range(4):
        assert choice.choose("t", QUEUES[:2], None).broker_name == "a"


def test_nothing_known_is_nothing_to_pick() -> None:
    assert tolerance(Clock()).pick_one_at_least() is None


@given(
    reports=st.lists(
        st.tuples(st.sampled_from("abcdef"), st.integers(0, 20_000), st.integers(0, 60_000)),
        min_size=1,
    ),
    later_ms=st.integers(0, 60_000),
)
def test_pick_is_of_the_better_half(reports: list[tuple[str, int, int]], later_ms: int) -> None:
    clock = Clock()
    known = tolerance(clock)
    last: dict[str, tuple[int, int]] = {}
    for name, latency_ms, pause_ms in reports:
        known.update(name, latency_ms, pause_ms)
        last[name] = latency_ms, pause_ms
    clock.now_ms = later_ms
    picked = {known.pick_one_at_least() for _ in last}
    ranks = sorted((later_ms < pause, latency, pause) for latency, pause in last.values())
    worst = ranks[max(1, len(ranks) // 2) - 1]
    assert all(
        name is not None and (later_ms < last[name][1], *last[name]) <= worst for name in picked
    )
