"""Queues are divided as by RocketMQ's own classes, so that members in both languages fit together.

Ten thousand inputs, each divided by all six strategies, in one JVM.
"""

from __future__ import annotations

import pytest

from conformance.drivers.allocations import JavaAllocations
from tests.support.allocations import divided, inputs

INPUTS = 10_000
SEED = 19


@pytest.mark.slow  # a JVM and 120,000 divisions
def test_six_strategies_divide_as_rocketmqs_classes(java: None) -> None:
    drawn = list(inputs(SEED, INPUTS))
    with JavaAllocations() as program:
        theirs = program.divide([one.to_json() for one in drawn])
    wrong = [
        (one.to_json(), java_results, ours)
        for one, java_results in zip(drawn, theirs, strict=True)
        if (ours := divided(one)) != java_results
    ]
    assert wrong[:3] == []
    assert len(theirs) == INPUTS
