"""The fake says what the real 4.9.7 cluster was recorded to say; no JVM is needed."""

from __future__ import annotations

import pytest

from conformance.compare import RECORDINGS, diff, differences, expected, stale
from conformance.scenario import Scenario, scenarios
from conformance.targets.fake_or_java import fake_target

SCENARIOS = scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_fakemq_says_what_was_recorded(scenario: Scenario) -> None:
    with fake_target(scenario.config, scenario.slaves) as target:
        seen = scenario.transcript(target)
    found = diff(expected(scenario, differences()), seen, scenario, "fakemq")
    assert not found, f"\n{found}"


def test_every_recording_has_its_scenario() -> None:
    recorded = {path.stem for path in RECORDINGS.glob("*.txt")}
    assert recorded == {scenario.name for scenario in SCENARIOS}


def test_every_accepted_difference_still_applies() -> None:
    assert stale(differences(), SCENARIOS) == []
