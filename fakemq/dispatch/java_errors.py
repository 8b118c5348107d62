"""Requests on which Java's processor throws: checks that raise, and the text of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fakemq.dispatch.answers import Thrown
from fakemq.protocol import fastjson
from fakemq.protocol.errors import (
    BodyError,
    IllegalArgumentError,
    NullFieldError,
    NumberFormatError,
)
from fakemq.protocol.limits import PEER_JSON

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Request
    from fakemq.protocol.table import NoHeader
    from fakemq.reference import Reference

T = TypeVar("T")

NULL = "null"
"""What Java's concatenation of texts makes of an absent one."""


def required(value: T | None, bean: str, field: str) -> T:
    """Return ``value``; raise NullFieldError, which is answered with code 1, if it is None."""
    if value is None:
        raise NullFieldError(bean, field)
    return value


def body_of(request: Request[NoHeader]) -> bytes:
    """Return the request's JSON; raise NullFieldError if it is empty: Java would decode null.

    Raise BodyError as `readable_json` does.
    """
    return readable_json(required(request.body or None, "RemotingSerializable", "data"))


def readable_json(body: bytes) -> bytes:
    """Return a body of JSON.

    Raise BodyError for more items than `PEER_JSON` allows: what follows the decoding would take too
    long, as no other peer is answered meanwhile. `Body.decode` itself has limits.
    """
    try:
        fastjson.require_few_items(body, PEER_JSON)
    except fastjson.JsonError as error:
        raise BodyError(str(error)) from None
    return body


def list_capacity(count: int) -> int:
    """Return ``count``; raise Thrown if it is negative: Java cannot create such a list."""
    if count < 0:
        raise Thrown(
            f"java.lang.IllegalArgumentException: Illegal Capacity: {count},"
            " java.base/java.util.ArrayList.<init>(ArrayList.java:160)"
        )
    return count


def java_exception(error: Exception, reference: Reference) -> str:
    """Return the remark of code 1: the exception's toString, a comma, and where it was thrown.

    Source: remoting/common/RemotingHelper.java#exceptionSimpleDesc (4.9.7)
    """
    if isinstance(error, NullFieldError):
        return f"java.lang.NullPointerException: {error}, {error.header}.{error.field}"
    if isinstance(error, NumberFormatError):
        return (
            f"java.lang.NumberFormatException: {error},"
            " java.lang.NumberFormatException.forInputString(NumberFormatException.java)"
        )
    if isinstance(error, IllegalArgumentError):
        return f"java.lang.IllegalArgumentException: {error}, fakemq"
    if isinstance(error, BodyError):
        package = reference.json_exception.rpartition(".")[0]
        return f"{reference.json_exception}: {error}, {package}.JSON"
    return f"java.lang.RuntimeException: {type(error).__name__}: {error}, fakemq"
