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
from typing import Any, TypeVar

from fakemq.clock.slices import WorkDroppedError
from fakemq.dispatch.answers import Outcome, Refused, Reply, Thrown
from fakemq.dispatch.java_errors import java_exception
from fakemq.dispatch.node import JournaledNode
from fakemq.errors import NO_MEMORY
from fakemq.events.core import failure
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.errors import HeaderError

DROPPED = "the node was reset or restored meanwhile"
"""The text for a request whose store has gone."""

OutcomeT = TypeVar("OutcomeT")


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
