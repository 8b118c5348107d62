"""What Java would fail on when a field of a JSON body is null."""

from __future__ import annotations

from typing import TypeVar

from fakemq.protocol.errors import NullFieldError

T = TypeVar("T")


def required(value: T | None, bean: str, field: str) -> T:
    """``value``; NullFieldError, which is answered with code 1, if there is none."""
    if value is None:
        raise NullFieldError(bean, field)
    return value
