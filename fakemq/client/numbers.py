"""Numbers of the caller: each must fit its field, or ConfigError says what would.

Otherwise a broker would take them for null or for other numbers, or a transport would fail.
"""

from __future__ import annotations

import msgspec

from fakemq.config.checked import whole
from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.header import Header
from fakemq.protocol.java import INT_MAX, LONG_MAX


def require_int(name: str, value: int) -> None:
    """Raise ConfigError unless a value is an int of Java."""
    whole(name, value, -INT_MAX - 1, INT_MAX)


def require_fit(header: Header) -> None:
    """Raise ConfigError for a number that does not fit its field of a header."""
    for name, value, limit in header.numbers():
        if type(value) is not int or not -limit <= value < limit:
            whole(name, value, -limit, limit - 1)


def require_fit_body(body: Body) -> None:
    """Raise ConfigError for a number that does not fit its field of a body, which has no others."""
    for field in msgspec.structs.fields(body):
        most = INT_MAX if field.type == Int else LONG_MAX if field.type == Long else None
        if most is not None:
            whole(field.name, getattr(body, field.name), -most - 1, most)


def require_wait(timeout_ms: int) -> None:
    """Raise ConfigError for a time that no socket can wait: over 24 days, or below 0."""
    whole("timeout_ms", timeout_ms, 0, INT_MAX)
