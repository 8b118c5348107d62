"""The scenarios that a real cluster needs minutes for: all of them, together, in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.compare import recording_path
from conformance.scenario import FAMILIES, Scenario, minutes
from conformance.timed_runs import duration, real_s, run_all, table

PAGE = Path(__file__).parents[1] / "docs" / "scenarios.md"
BUDGET_S = 5.0


# Slow: some forty clusters, one after the other.
@pytest.mark.slow
def test_scenarios_of_minutes_run_in_five_seconds_as_recorded() -> None:
    chosen = minutes()
    together = run_all(chosen)
    assert not together.found, "\n".join(together.found)
    # The processor's time: what else a machine does is no part of it, and no sleep may be, either.
    assert together.cpu_s < BUDGET_S
    assert real_s(chosen) > 1_000 * BUDGET_S


def test_thirty_scenarios_take_over_a_minute_and_every_family_has_some() -> None:
    chosen = minutes()
    assert min(sum(one.family == family for one in chosen) for family in FAMILIES) >= 7
    assert sum(one.real_s >= 60 for one in chosen) >= 30, "what takes no time needs no clock"
    assert all(recording_path(one).exists() for one in chosen)


def test_page_of_scenarios_lists_all_that_take_minutes() -> None:
    listed = "\n".join(table(minutes()))
    assert listed in PAGE.read_text(encoding="utf-8"), "python -m conformance --minutes --table"


def test_failing_scenario_is_reported_and_stops_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def breaks(run: object) -> None:
        raise TimeoutError("nothing comes")

    (found,) = run_all([Scenario("one that breaks", breaks)]).found
    assert found == "breaks: TimeoutError: nothing comes"
    assert main(["--runs", "2", "kv_config"]) == 0
    first, second, whole = capsys.readouterr().out.splitlines()
    assert first.startswith("run 1: 1 of 1 scenarios the same, 0.")
    assert second.startswith("run 2: ")
    assert whole.startswith("2 runs of 1 scenarios, 0 with a difference: 0.")


def test_durations_are_printed_in_hours_minutes_and_seconds() -> None:
    assert duration(41) == "41 s"
    assert duration(125) == "2 min 5 s"
    assert duration(7_200) == "2 h"
