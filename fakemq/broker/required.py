"""What Java would fail on: a field that is null, a list of less than nothing."""

from __future__ import annotations

from typing import TypeVar

from fakemq.dispatch.dispatcher import Refused, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import NullFieldError
from fakemq.protocol.table import NoHeader

T = TypeVar("T")


def required(value: T | None, bean: str, field: str) -> T:
    """``value``; NullFieldError, which is answered with code 1, if there is none."""
    if value is None:
        raise NullFieldError(bean, field)
    return value


def list_capacity(count: int) -> int:
    """``count``; Refused, as Java makes no list for less than nothing."""
    if count < 0:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"java.lang.IllegalArgumentException: Illegal Capacity: {count},"
            " java.base/java.util.ArrayList.<init>(ArrayList.java:160)",
        )
    return count


def body_of(request: Request[NoHeader]) -> bytes:
    """The request's body; NullFieldError if it has none, where Java would decode null."""
    return required(request.body or None, "RemotingSerializable", "data")
