"""When a value counts as grown over a soak."""

from __future__ import annotations

from collections import deque

import pytest

from bench.census import census
from bench.soaking import growth
from fakemq.clock.clock import Clock
from fakemq.journal.journal import Journal


def test_value_that_rises_and_falls_has_not_grown() -> None:
    assert growth([5, 9, 9, 9, 9, 5]) == 0
    assert growth([1, 2, 3, 4, 5, 6]) == 5
    assert growth([1, 1, 1, 1, 1, 7]) == pytest.approx(30 / 7)
    assert growth([7, 7, 7, 1, 1, 1]) < 0
    assert growth([3]) == 0


def test_tables_are_counted_wherever_they_are_referenced() -> None:
    counted = census({"a": [1, 2, 3], "b": deque([4])})
    assert counted[""] == 2
    assert counted["[]"] == 4


def test_journal_is_not_counted_as_a_growing_table() -> None:
    assert not census(Journal(Clock()))
