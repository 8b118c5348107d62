"""The answer to what a handler raises. There are five kinds of errors:

1. `Refused` is an answer with an error code.
2. A request on which Java's processor throws is answered by code 1 with Java's exception text.
3. What finds no memory is answered by code 1, with a warning.
4. Long work that was dropped, since the node was reset, is answered by SYSTEM_BUSY.
5. Any other error is a bug of fakemq: it is answered by code 1, and its journal entry fails the
   test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fakemq.clock.slices import WorkDroppedError
from fakemq.dispatch.answers import Outcome, Refused, Reply, Thrown
from fakemq.dispatch.node import JournaledNode
from fakemq.errors import NO_MEMORY
from fakemq.events.core import failure
from fakemq.protocol import fastjson
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.errors import (
    BodyError,
    HeaderError,
    IllegalArgumentError,
    NullFieldError,
    NumberFormatError,
)
from fakemq.protocol.limits import PEER_JSON

if TYPE_CHECKING:
    from fakemq.dispatch.answers import Request
    from fakemq.protocol.bodies.body import Body
    from fakemq.protocol.table import NoHeader
    from fakemq.reference import Reference

DROPPED = "the node was reset or restored meanwhile"
"""The text for a request whose store has gone."""

OutcomeT = TypeVar("OutcomeT")
BodyT = TypeVar("BodyT", bound="Body")


def outcome_of(node: JournaledNode, code: int, act: Callable[[], OutcomeT]) -> OutcomeT | Outcome:
    """Return the result of ``act`` for a request of ``code``, or the answer to what it raises.

    A callback that resolves a `Parked` calls this, too, so that the peer always gets an answer.
    """
    try:
        return act()
    except Exception as error:
        return answer_to_error(node, code, error)


def answer_to_error(node: JournaledNode, code: int, error: Exception) -> Outcome:
    """Return the answer to what a handler raised; write a bug of fakemq to the journal."""
    if isinstance(error, Thrown):
        return _thrown(error.remark)
    if isinstance(error, Refused):
        return error
    if isinstance(error, WorkDroppedError):
        return Refused(ResponseCode.SYSTEM_BUSY, DROPPED)
    if isinstance(error, MemoryError):
        node.journal.peer_warnings.warn(node.name, "no memory", NO_MEMORY)
        return Refused(ResponseCode.SYSTEM_ERROR, NO_MEMORY)
    if not isinstance(error, HeaderError):
        # A bug of fakemq: the peer, or the caller that moved the clock, made no mistake.
        node.journal.add(failure(node.name, code, error))
    return _thrown(java_exception(error, node.reference))


def _thrown(remark: str | None) -> Reply[Any]:
    """Return the answer to an exception: outside the callback, in the server's serialisation."""
    return Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark, serialize_type=SerializeType.JSON)


# Requests on which Java's processor throws: checks that raise, and the text of the answer.

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


def bean_of(request: Request[NoHeader], kind: type[BodyT]) -> BodyT:
    """Return the request's body; raise errors as `body_of` and `Body.decode` do.

    With access control the door has decoded it already, and did not change it.
    """
    decoded = request.command.decoded
    return decoded if type(decoded) is kind else kind.decode(body_of(request))


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
