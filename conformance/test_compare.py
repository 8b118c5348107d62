"""Accepted differences are rows, and a row that no longer applies is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import compare
from conformance.compare import (
    Difference,
    StaleDifferenceError,
    differences,
    expected,
    keep_waiting,
    recording,
    stale,
    waiting,
)
from conformance.run import Run
from conformance.scenario import Scenario

RECORDED = "# a title\none <- two  SUCCESS (0), odd\n    value: java's\nend, odd\n"


def some(run: Run) -> None:
    raise NotImplementedError


SCENARIO = Scenario("a title", some)


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "RECORDINGS", tmp_path)
    compare.record(SCENARIO, RECORDED)


def row(java: str, fakemq: str, scenario: str = "some") -> Difference:
    return Difference(scenario, "what", "why", java, fakemq)


def test_row_replaces_whole_lines() -> None:
    assert expected(SCENARIO, [row("    value: java's", "    value: ours\n    more: 1")]) == (
        "# a title\none <- two  SUCCESS (0), odd\n    value: ours\n    more: 1\nend, odd\n"
    )
    assert "value" not in expected(SCENARIO, [row("    value: java's", "")])


def test_row_for_every_scenario_replaces_how_lines_end() -> None:
    text = expected(SCENARIO, [row(", odd", "", "*")])
    assert text == RECORDED.replace(", odd", "")


def test_row_of_another_scenario_does_nothing() -> None:
    assert expected(SCENARIO, [row("x", "y", "other")]) == RECORDED


def test_row_that_no_longer_applies_fails() -> None:
    with pytest.raises(StaleDifferenceError, match="take out the row 'what'"):
        expected(SCENARIO, [row("value: java's", "part of a line only")])
    rows = [row("x", "y", "other"), row("nowhere", "", "*"), row(", odd", "", "*")]
    assert stale(rows, [SCENARIO]) == ["other: what", "*: what"]


def test_rows_are_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "differences.toml"
    path.write_text(
        '[[difference]]\nscenario = "some"\nwhat = "w"\nwhy = "y"\njava = """\n a\n b\n"""\n'
        'fakemq = ""\n'
    )
    assert differences(path) == [Difference("some", "w", "y", " a\n b", "")]
    path.write_text('[[difference]]\nscenario = "some"\n')
    with pytest.raises(TypeError):
        differences(path)


def test_row_of_one_reference_is_for_no_other(tmp_path: Path) -> None:
    path = tmp_path / "differences.toml"
    text = '[[difference]]\nscenario = "some"\nwhat = "w"\nwhy = "y"\njava = "a"\nfakemq = ""\n'
    path.write_text(text + text + 'reference = "5.5.0"\n')
    assert len(differences(path)) == 1
    assert [row.reference for row in differences(path, "5.5.0")] == ["", "5.5.0"]


def test_references_have_recordings_of_their_own() -> None:
    compare.record(SCENARIO, "# later\n", "5.5.0")
    assert recording(SCENARIO) == RECORDED
    assert recording(SCENARIO, "5.5.0") == "# later\n"


def test_scenarios_wait_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "waiting.toml"
    path.write_text('["5.5.0"]\nsome = "no pops"\n')
    assert waiting("5.5.0", path) == {"some": "no pops"}
    assert waiting("4.9.7", path) == {}


def test_list_of_waiting_scenarios_is_written_with_where_they_differ(tmp_path: Path) -> None:
    path = tmp_path / "waiting.toml"
    path.write_text('["5.5.0"]\ngone = "x"\n\n["5.5.0-stores"]\nother = "stays"\n')
    shown = compare.diff(RECORDED, RECORDED.replace("java's", "ours"), SCENARIO, "fakemq")
    more = compare.diff(RECORDED, RECORDED + "more\n", SCENARIO, "fakemq")
    found = {"some": shown, "more": more, "raised": "raised: KeyError: 'popTime'"}
    keep_waiting("5.5.0", found, path)
    assert waiting("5.5.0", path) == {
        "more": "has: more",
        "raised": "KeyError: 'popTime'",
        "some": "lacks: value: java's",
    }
    assert waiting("5.5.0-stores", path) == {"other": "stays"}


def test_missing_recording_names_the_command_that_makes_it() -> None:
    def unrecorded(run: Run) -> None:
        raise NotImplementedError

    with pytest.raises(FileNotFoundError, match=r"conformance --reference 4\.9\.7 --record"):
        expected(Scenario("another", unrecorded), [])


def test_difference_is_shown_in_its_place() -> None:
    assert compare.diff(RECORDED, RECORDED, SCENARIO, "fakemq") == ""
    shown = compare.diff(RECORDED, RECORDED.replace("java's", "ours"), SCENARIO, "fakemq")
    assert "-    value: java's\n+    value: ours" in shown
    assert "some on fakemq" in shown
