"""What Java would fail on when a field of a JSON body is null."""

from __future__ import annotations

from typing import TypeVar

from fakemq.dispatch import Request
from fakemq.protocol.errors import NullFieldError
from fakemq.protocol.table import NoHeader

T = TypeVar("T")


def required(value: T | None, bean: str, field: str) -> T:
    """``value``; NullFieldError, which is answered with code 1, if there is none."""
    if value is None:
        raise NullFieldError(bean, field)
    return value


def body_of(request: Request[NoHeader]) -> bytes:
    """The request's body; NullFieldError if it has none, where Java would decode null."""
    return required(request.body or None, "RemotingSerializable", "data")
