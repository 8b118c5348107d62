"""Durations, sizes and dates as users write them, as whole milliseconds and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemq.errors import ConfigError

if TYPE_CHECKING:
    from datetime import datetime, timedelta

Duration: TypeAlias = "str | int | float | timedelta"
"""``"2h"``, ``"1m30s"``, ``"500ms"``, a number of seconds, or a timedelta."""

Size: TypeAlias = "str | int"
"""``"1GiB"``, ``"512MiB"``, ``"1GB"``, or a number of bytes."""

Instant: TypeAlias = "str | datetime"
"""ISO 8601 text or a datetime; without an offset it means UTC."""

_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_UNITS_BYTES = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_LONGEST_MS = 2**63 - 1
_FIRST_WALL_MS = -62_104_060_800_000
_LAST_WALL_MS = 253_370_764_800_000
"""The years 2 to 9998: time zones, and a clock that runs on, have a year more on either side."""
_OTHERS = " a number of seconds, or a timedelta"
_MOST_DIGITS = 40
_DIGITS = frozenset("0123456789.")


def duration_ms(value: Duration, *, name: str = "duration") -> int:
    """Return a duration as whole milliseconds; ``name`` says in errors what it was for.

    A sign is allowed (``"-5s"``, for clock skews); a bare number counts seconds, in text too. Finer
    than a millisecond is rounded. Raise ConfigError for anything else, also for NaN and infinity.
    """
    if isinstance(value, str):
        milliseconds = _text_ms(value)
    elif isinstance(value, bool):
        milliseconds = None
    elif isinstance(value, int | float):
        milliseconds = value * 1000
    else:
        seconds = getattr(value, "total_seconds", None)
        milliseconds = seconds() * 1000 if callable(seconds) else None
    # The comparison is false for NaN too, so this one test refuses every float without an integer.
    if milliseconds is None or not -_LONGEST_MS <= milliseconds <= _LONGEST_MS:
        # A text or number may come from the command line or as JSON, which know no timedelta.
        others = " or a number of seconds" if isinstance(value, str | int | float) else _OTHERS
        raise ConfigError(
            f'{name}={value!r}: expected a duration such as "2h", "1m30s", "500ms",{others}'
        )
    return round(milliseconds)


def written_duration(ms: int) -> str:
    """Return milliseconds, 0 or more, as a text that `duration_ms` reads: ``1m30s``, ``500ms``."""
    parts = []
    for unit, unit_ms in _UNITS_MS.items():
        number, ms = divmod(ms, unit_ms)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def span_ms(value: Duration, *, name: str) -> int:
    """Return a duration as `duration_ms` does; raise ConfigError also if it is negative."""
    ms = duration_ms(value, name=name)
    if ms < 0:
        raise ConfigError(f"{name}={value!r}: expected a duration that is not below 0")
    return ms


def _text_ms(text: str) -> float | None:
    """Return the milliseconds of a text; None if it is no duration."""
    body = text.strip().lower()
    sign = -1 if body.startswith("-") else 1
    body = body.removeprefix("-") if sign < 0 else body.removeprefix("+")
    if body and _DIGITS.issuperset(body):
        number = _number(body)
        return None if number is None else sign * number * 1000
    total: float = 0
    smallest: float = _LONGEST_MS
    while body:
        length = next((at for at, char in enumerate(body) if char not in _DIGITS), len(body))
        number, body = _number(body[:length]), body[length:]
        length = next((at for at, char in enumerate(body) if char in _DIGITS), len(body))
        unit, body = _UNITS_MS.get(body[:length].strip()), body[length:]
        if number is None or unit is None or unit >= smallest:  # each unit once, largest first
            return None
        smallest = unit
        total += number * unit
    return sign * total if smallest < _LONGEST_MS else None


def _number(digits: str) -> float | None:
    if len(digits) > _MOST_DIGITS:
        return None  # too long for anything, and for Python's floats before that
    try:
        return float(digits) if "." in digits else int(digits)
    except ValueError:
        return None


def size_bytes(value: Size, *, name: str = "size") -> int:
    """Return a size as bytes: KiB, MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000.

    Raise ConfigError for anything else, a negative size, and parts of a byte.
    """
    size: float | None = None
    if isinstance(value, str):
        body = value.strip().lower()
        length = next((at for at, char in enumerate(body) if char not in _DIGITS), len(body))
        number, unit = _number(body[:length]), _UNITS_BYTES.get(body[length:].strip())
        size = None if number is None or unit is None else number * unit
    elif not isinstance(value, bool):
        size = value
    if not isinstance(size, int | float) or not 0 <= size <= _LONGEST_MS or size != int(size):
        raise ConfigError(
            f'{name}={value!r}: expected a size such as "1GiB", "512MiB", or a number of bytes'
        )
    return int(size)


def wall_ms(value: Instant | int, *, name: str) -> int:
    """Return a point in time, or milliseconds since 1970, as milliseconds that a clock may show.

    Raise ConfigError for a year outside 2 to 9998: ids and names of files have no other year.
    """
    at_ms = value if isinstance(value, int) else instant_ms(value, name=name)
    if not _FIRST_WALL_MS <= at_ms < _LAST_WALL_MS:
        raise ConfigError(f"{name}={value!r}: expected a time in the years 2 to 9998")
    return at_ms


def instant_ms(value: Instant, *, name: str = "instant") -> int:
    """Return a point in time as milliseconds since 1970; without an offset it means UTC.

    Raise ConfigError for a text that is not ISO 8601, and for a year outside 1 to 9999.
    """
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        # Whole microseconds: timestamp() would round through a float.
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise ConfigError(
            f"{name}={value!r}: expected an ISO 8601 date and time such as"
            f' "2024-02-29T12:00:00Z"{"" if isinstance(value, str) else ", or a datetime"}'
        ) from None
