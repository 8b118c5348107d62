"""Observations of the Python client are compared with Java's, but for what rows accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.drivers import beside
from conformance.drivers.beside import (
    EVERY_SCENARIO,
    NOT_ON_FIVE,
    Difference,
    differences,
    expected,
    neutral,
    record,
    recorded,
)
from conformance.python.program import SCENARIOS

JAVA = ["sent: SEND_OK", "failed: odd", "failed twice: odd", "received: [a, b]"]


def test_row_replaces_the_lines_of_its_keys() -> None:
    row = Difference("some", ("failed", "failed twice"), "why", ("failed: ours",))
    assert expected("some", JAVA, [row]) == ["sent: SEND_OK", "failed: ours", "received: [a, b]"]
    assert expected("other", JAVA, [row]) == JAVA


def test_row_without_lines_takes_out_javas() -> None:
    assert expected("some", JAVA, [Difference("some", ("sent",), "why")]) == JAVA[1:]


def test_row_that_no_longer_applies_is_found() -> None:
    with pytest.raises(ValueError, match=r"nothing of \('gone',\) in some"):
        expected("some", JAVA, [Difference("some", ("gone",), "why")])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "empty body: MQClientException code=13 CODE: 13  DESC: the message body is null",
            "empty body: MQClientException code=13 the message body is null",
        ),
        ("trace: SubBefore k0 retries=0 storeHost=192.0.2.1", "trace: SubBefore k0 retries=0"),
        ("trace: Pub k0 storeHost=127.0.0.1:PORT", "trace: Pub k0 storeHost=127.0.0.1:PORT"),
    ],
)
def test_neutral_takes_out_what_only_java_has(line: str, wanted: str) -> None:
    assert neutral(line) == wanted


def test_recording_keeps_other_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "FOLDER", tmp_path)
    record("4.9.7", {"two": ["b: 2"], "one": ["a: 1", "a: 2"]})
    record("4.9.7", {"two": ["b: 3"]})
    assert recorded("4.9.7") == {"one": ["a: 1", "a: 2"], "two": ["b: 3"]}


def test_every_scenario_of_a_client_has_its_python_one_and_its_recording() -> None:
    assert set(EVERY_SCENARIO) == SCENARIOS.keys()
    assert set(EVERY_SCENARIO) == recorded("4.9.7").keys()
    assert set(EVERY_SCENARIO) == recorded("5.5.0").keys() | NOT_ON_FIVE.keys()


def test_rows_apply_to_what_is_recorded() -> None:
    accepted = differences()
    java = recorded()
    assert {row.scenario for row in accepted} <= java.keys()
    for version in ("4.9.7", "5.5.0"):
        java = recorded(version)
        for scenario in java:
            assert expected(scenario, java[scenario], accepted, version)
