"""What a consumer counts."""

from __future__ import annotations

from fakemq.client.consuming.statistics import ConsumeStatistics
from tests.support.time import ManualTime


def counting() -> tuple[ConsumeStatistics, ManualTime]:
    time = ManualTime()
    return ConsumeStatistics(time.elapsed_ms), time


def test_rates_are_of_the_last_minute() -> None:
    statistics, time = counting()
    for _ in range(120):
        statistics.consumed("t", ok=2, failed=1, took_ms=30, calls=3)
        statistics.pulled("t", 32, 5)
        time.passed_ms += 1_000
    status = statistics.status("t")
    assert (status.consume_ok_tps, status.consume_failed_tps) == (2.0, 1.0)
    assert (status.pull_tps, status.pull_rt, status.consume_rt) == (32.0, 5.0, 10.0)
    assert status.consume_failed_msgs == 120


def test_rates_fall_to_zero_when_nothing_happens_for_a_minute() -> None:
    statistics, time = counting()
    statistics.consumed("t", ok=60, failed=0, took_ms=60)
    time.passed_ms += 30_000
    assert statistics.status("t").consume_ok_tps == 2.0
    time.passed_ms += 60_000
    status = statistics.status("t")
    assert status.consume_ok_tps == 0.0
    assert status.consume_rt == 60.0  # of the last hour


def test_failures_of_the_last_hour_are_counted() -> None:
    statistics, time = counting()
    statistics.consumed("t", ok=0, failed=7, took_ms=0)
    time.passed_ms += 50 * 60_000
    statistics.consumed("t", ok=0, failed=1, took_ms=0)
    assert statistics.status("t").consume_failed_msgs == 8
    time.passed_ms += 30 * 60_000
    assert statistics.status("t").consume_failed_msgs == 1
    time.passed_ms += 24 * 3600_000
    assert statistics.status("t").consume_failed_msgs == 0


def test_topics_are_counted_apart() -> None:
    statistics, time = counting()
    statistics.consumed("t", ok=10, failed=0, took_ms=0)
    time.passed_ms += 10_000
    assert statistics.status("t").consume_ok_tps == 1.0
    assert statistics.status("other").consume_ok_tps == 0.0
