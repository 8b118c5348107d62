"""The first names of many, looked for in slices."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.slices import A_STEP, finished
from fakemq.core.overview import first_ones


@given(st.lists(st.integers(), max_size=50), st.integers(0, 20))
def test_first_ones_are_the_lowest_in_order(numbers: list[int], most: int) -> None:
    found, count = finished(first_ones(numbers * 30, most))
    assert found == sorted(numbers * 30)[:most]
    assert count == len(numbers) * 30


def test_many_names_are_looked_at_in_steps() -> None:
    steps = first_ones((f"{number:07}" for number in range(100 * A_STEP)), 3)
    assert sum(1 for _ in steps) == 100
