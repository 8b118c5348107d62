"""Durations and timestamps of protobuf as milliseconds, and back.

Source: com.google.protobuf.util.Durations, Timestamps (protobuf-java-util 3.20)
"""

from __future__ import annotations

from typing import Final

from fakemq.protocol.grpc.messages import Duration, Timestamp
from fakemq.proxy.status import RpcError, java_error

_LATEST_S: Final = 253_402_300_799
_EARLIEST_S: Final = -62_135_596_800
_LONGEST_S: Final = 315_576_000_000
_MOST_NANOS: Final = 999_999_999


def duration_ms(duration: Duration) -> int:
    """Return a duration in milliseconds, cut towards zero; raise RpcError if it is none."""
    seconds, nanos = duration.seconds, duration.nanos
    if not nanos and -_LONGEST_S <= seconds <= _LONGEST_S:
        return seconds * 1000
    check_duration(duration)
    return seconds * 1000 + (nanos // 1_000_000 if nanos >= 0 else -(-nanos // 1_000_000))


def check_duration(duration: Duration) -> None:
    """Raise RpcError for a duration that is too long, or of two signs."""
    seconds, nanos = duration.seconds, duration.nanos
    if (
        abs(seconds) > _LONGEST_S
        or abs(nanos) > _MOST_NANOS
        or (seconds < 0 < nanos)
        or (nanos < 0 < seconds)
    ):
        raise _illegal(
            "Duration is not valid. See proto definition for valid values."
            f" Seconds ({seconds}) must be in range [-315,576,000,000, +315,576,000,000]."
            f" Nanos ({nanos}) must be in range [-999,999,999, +999,999,999]."
            " Nanos must have the same sign as seconds",
            "com.google.protobuf.util.Durations.checkValid(Durations.java:190)",
        )


def timestamp_ms(timestamp: Timestamp) -> int:
    """Return a time in milliseconds since the epoch; raise RpcError if it is none."""
    if not is_valid(timestamp):
        raise _illegal(
            "Timestamp is not valid. See proto definition for valid values."
            f" Seconds ({timestamp.seconds}) must be in range"
            " [-62,135,596,800, +253,402,300,799]."
            f" Nanos ({timestamp.nanos}) must be in range [0, +999,999,999].",
            "com.google.protobuf.util.Timestamps.checkValid(Timestamps.java:177)",
        )
    return timestamp.seconds * 1000 + timestamp.nanos // 1_000_000


def is_valid(timestamp: Timestamp) -> bool:
    """Return whether a time is one of the years 1 to 9999."""
    return _EARLIEST_S <= timestamp.seconds <= _LATEST_S and 0 <= timestamp.nanos <= _MOST_NANOS


def duration_of(ms: int) -> Duration:
    """Return a duration of milliseconds, which may be negative."""
    seconds, rest_ms = divmod(abs(ms), 1000)
    sign = -1 if ms < 0 else 1
    return Duration(seconds=sign * seconds, nanos=sign * rest_ms * 1_000_000)


def timestamp_of(ms: int) -> Timestamp:
    """Return the time of milliseconds since the epoch."""
    seconds, rest_ms = divmod(ms, 1000)
    return Timestamp(seconds=seconds, nanos=rest_ms * 1_000_000)


def _illegal(text: str, place: str) -> RpcError:
    return java_error(text, "IllegalArgumentException", place)
