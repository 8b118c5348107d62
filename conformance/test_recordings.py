"""The fake says what real clusters of its references were recorded to say; no JVM is needed."""

from __future__ import annotations

import pytest

from conformance.compare import (
    RECORDINGS,
    differences,
    recorded,
    replay,
    replay_to_its_end,
    stale,
    waiting,
)
from conformance.scenario import Scenario
from conformance.targets.java_jars import REFERENCES

RECORDED = [(reference, one) for reference in REFERENCES for one in recorded(reference)]
LACKS = {reference: waiting(reference) for reference in REFERENCES}
NOW = [(reference, one) for reference, one in RECORDED if one.name not in LACKS[reference]]
V5 = [(reference, one) for reference, one in RECORDED if one.name in LACKS[reference]]


def name(value: object) -> str:
    return value.name if isinstance(value, Scenario) else str(value)


@pytest.mark.parametrize(("reference", "scenario"), NOW, ids=name)
def test_fakemq_says_what_was_recorded(reference: str, scenario: Scenario) -> None:
    found = replay(scenario, differences(reference=reference), reference)
    assert not found, f"\n{found}"


@pytest.mark.parametrize(("reference", "scenario"), V5, ids=name)
def test_waiting_scenario_still_differs(reference: str, scenario: Scenario) -> None:
    found = replay_to_its_end(scenario, differences(reference=reference), reference)
    assert found, f"nothing differs any more: take {scenario.name} out of waiting.toml"


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_recording_has_its_scenario(reference: str) -> None:
    found = {path.stem for path in (RECORDINGS / reference).glob("*.txt")}
    assert found == {scenario.name for scenario in recorded(reference)}


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_accepted_difference_still_applies(reference: str) -> None:
    assert stale(differences(reference=reference), recorded(reference), reference) == []


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_waiting_scenario_is_one_and_has_a_reason(reference: str) -> None:
    assert LACKS[reference].keys() <= {scenario.name for scenario in recorded(reference)}
    assert all(LACKS[reference].values())
