"""What is plotted is bounded, and its peaks are still those of the data."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fakemq.spark.audit.report.series import deliveries, lag_lines, thinned
from fakemq.spark.audit.summary import LagPoint
from tests.support.summaries import EMPTY

POINTS = st.lists(st.tuples(st.floats(-1e12, 1e12), st.integers(0, 2**63)), max_size=80)


@given(POINTS, st.integers(2, 20))
def test_thinned_points_are_few_with_peak_and_end(
    points: list[tuple[float, int]], at_most: int
) -> None:
    points.sort()
    kept = thinned(points, at_most)
    assert len(kept) <= at_most
    assert kept == sorted(kept)
    assert set(kept) <= set(points)
    if points:
        assert kept[-1] == points[-1]
        assert max(most for _, most in kept) == max(most for _, most in points)
    if len(points) <= at_most:
        assert kept == points


SECONDS = st.lists(st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 1000)), max_size=30)


@given(SECONDS, st.integers(1, 20))
def test_all_deliveries_are_counted(found: list[tuple[int, int]], at_most: int) -> None:
    rate = deliveries(msgspec.structs.replace(EMPTY, delivered_per_second=found), at_most)
    assert len(rate.points) <= at_most
    if found:
        end = max(second for second, _ in found) + 1
        total = sum(mean * min(rate.width_s, end - at) for at, mean in rate.points)
        assert abs(total - sum(number for _, number in found)) < 0.01
        assert rate.points[0][0] == min(second for second, _ in found)


def test_second_without_deliveries_is_zero() -> None:
    summary = msgspec.structs.replace(EMPTY, delivered_per_second=[(12, 5), (10, 3), (12, 1)])
    assert deliveries(summary) == (1, [(10, 3), (11, 0), (12, 6)])


def test_queue_furthest_behind_is_first() -> None:
    lag = [
        LagPoint("orders", "billing", 2000, 4),
        LagPoint("orders", "audit", 1000, 9),
        LagPoint("orders", "billing", 1000, 7),
    ]
    first, second = lag_lines(msgspec.structs.replace(EMPTY, lag=lag))
    assert first == ("orders / audit", [(1.0, 9)])
    assert second == ("orders / billing", [(1.0, 7), (2.0, 4)])
    assert second.peak == (1.0, 7)
