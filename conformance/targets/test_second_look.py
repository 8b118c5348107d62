"""Clusters are called different when they differ twice, and a scenario that says nothing fails."""

from __future__ import annotations

import pytest

from conformance.drivers.drivers import DriverError
from conformance.targets.processes import Look, assert_same

SAME = ["= sent: 3"]


def says(*lines: str) -> Look:
    return lambda: list(lines)


def fails() -> list[str]:
    raise DriverError("60 s have passed without: all queues")


def never() -> list[str]:
    raise AssertionError("there is no second look at equal results")


def test_equal_results_need_one_look() -> None:
    assert_same(says(*SAME), says(*SAME), never, never)


@pytest.mark.parametrize(
    ("real", "fake"),
    [
        (says("= sent: 2"), says(*SAME)),
        (fails, says(*SAME)),
        (says(*SAME), fails),
        (says(), says()),
    ],
)
def test_second_look_follows_a_difference_or_a_failure(real: Look, fake: Look) -> None:
    assert_same(real, fake, says(*SAME), says(*SAME))


@pytest.mark.parametrize("again", [says("= sent: 2"), says(), fails])
def test_second_difference_or_failure_fails(again: Look) -> None:
    with pytest.raises((AssertionError, DriverError)):
        assert_same(says(*SAME), says("= sent: 2"), again, says(*SAME))
