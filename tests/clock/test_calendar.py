"""Times as text, and times of day in the local time zone."""

from __future__ import annotations

import time

import pytest

from fakemq.clock.calendar import human_time, human_time2, next_morning_ms, time_text

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def _in_berlin(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_times_are_formatted_as_by_java() -> None:
    assert human_time(1_700_000_000_007) == "20231114231320007"
    assert human_time2(1_700_000_000_007) == "2023-11-14 23:13:20,007"
    assert time_text(1_700_000_000_007) == "2023-11-14#23:13:20:007"
    assert time_text(-1) == "1970-01-01#00:59:59:999"


def test_next_morning_is_local() -> None:
    morning = next_morning_ms(1_700_000_000_000)
    assert human_time(morning) == "20231115000000000"
    assert next_morning_ms(morning) == morning + DAY_MS
    assert human_time(next_morning_ms(1_703_980_800_000)) == "20240101000000000"
    # The night in which the clocks are set back has 25 hours.
    before = 1_698_444_000_000
    assert human_time(before) == "20231028000000000"
    assert next_morning_ms(next_morning_ms(before)) == before + 2 * DAY_MS + 3_600_000
