"""Times and sizes as people write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.durations import (
    Duration,
    Size,
    duration_ms,
    instant_ms,
    size_bytes,
    written_duration,
)
from fakemq.errors import ConfigError


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        ("2h", 7_200_000),
        ("1m30s", 90_000),
        ("500ms", 500),
        ("1d2h3m4s5ms", 93_784_005),
        (" 1m 30s ", 90_000),
        ("1.5s", 1500),
        ("0s", 0),
        ("90", 90_000),
        ("+5s", 5000),
        ("-5s", -5000),
        ("121s", 121_000),
        (120, 120_000),
        (0.25, 250),
        (0.0004, 0),
        (timedelta(minutes=2, milliseconds=3), 120_003),
    ],
)
def test_duration_is_parsed(value: Duration, milliseconds: int) -> None:
    assert duration_ms(value) == milliseconds


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "h",
            "2x",
            "2 hours",
            "1s1m",
            "1s1s",
            "1..5s",
            "--5s",
            "+-5s",
            "s5",
            ".",
            "1h.",
            "٣s",
        ),
        *(True, None, float("nan"), float("inf"), [5], b"5s", 10**400),
        "9" * 400 + "h1.5m",
        "9" * 5000,
    ],
)
def test_invalid_duration_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r'timeout=.*: expected a duration such as "2h"'):
        duration_ms(value, name="timeout")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="0123456789.dhms +-", max_size=12))
def test_any_text_is_a_duration_or_a_config_error(text: str) -> None:
    with suppress(ConfigError):
        assert isinstance(duration_ms(text), int)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**12))
def test_duration_written_in_units_is_read_back(milliseconds: int) -> None:
    seconds, ms = divmod(milliseconds, 1000)
    hours, seconds = divmod(seconds, 3600)
    assert duration_ms(f"{hours}h{seconds}s{ms}ms") == milliseconds


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("1GiB", 1 << 30),
        ("512MiB", 512 << 20),
        ("1.5KiB", 1536),
        ("1gib", 1 << 30),
        ("64 KiB", 65536),
        ("2GB", 2 * 10**9),
        ("4096", 4096),
        ("7B", 7),
        (4096, 4096),
        (0, 0),
    ],
)
def test_size_is_parsed(value: Size, size: int) -> None:
    assert size_bytes(value) == size


@pytest.mark.parametrize("value", ["", "GiB", "1GiBs", "1.5", "-1", -1, True, None, 1.5, "1e3"])
def test_invalid_size_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r'memory_limit=.*: expected a size such as "1GiB"'):
        size_bytes(value, name="memory_limit")  # type: ignore[arg-type]


def test_instant_is_parsed() -> None:
    noon = 1_709_208_000_000
    assert instant_ms("2024-02-29T12:00:00Z") == noon
    assert instant_ms("2024-02-29T13:00:00+01:00") == noon
    assert instant_ms("2024-02-29 12:00:00.789") == noon + 789
    assert instant_ms("2024-02-29") == noon - 12 * 3_600_000
    assert instant_ms(datetime(2024, 2, 29, 12)) == noon
    assert instant_ms(datetime(2024, 2, 29, 12, tzinfo=UTC)) == noon
    west = timezone(timedelta(hours=-5))
    assert instant_ms(datetime(2024, 2, 29, 7, tzinfo=west)) == noon


@pytest.mark.parametrize("value", ["", "noon", "2023-02-29", "2024-02-29T25:00", None, 5])
def test_invalid_instant_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"start_at=.*: expected an ISO 8601 date and time"):
        instant_ms(value, name="start_at")  # type: ignore[arg-type]


@given(st.integers(0, 2**63 - 1))
def test_written_duration_is_read_again(ms: int) -> None:
    assert duration_ms(written_duration(ms)) == ms


def test_duration_is_written_in_its_units() -> None:
    written = [*map(written_duration, (0, 1, 90_000, 3_600_000, 93_784_005))]
    assert written == ["0s", "1ms", "1m30s", "1h", "1d2h3m4s5ms"]
