"""The header ``grpc-timeout``: how long a caller waits."""

from __future__ import annotations

from typing import Final

_UNIT_NS: Final = {"n": 1, "u": 10**3, "m": 10**6, "S": 10**9, "M": 60 * 10**9, "H": 3600 * 10**9}
_MAX_DIGITS: Final = 8


def timeout_ms(value: str) -> int | None:
    """Return a ``grpc-timeout`` in milliseconds, rounded down; None for no such value.

    Source: grpc/doc/PROTOCOL-HTTP2.md, "Timeout"
    """
    digits, unit_ns = value[:-1], _UNIT_NS.get(value[-1:])
    if unit_ns is None or not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return None
    return int(digits) * unit_ns // 1_000_000
