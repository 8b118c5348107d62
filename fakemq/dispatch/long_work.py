"""Handlers that may take long: generators, which the node's clock runs in slices.

Such a handler yields where others may go first, and returns its answer as any other handler does.
Java's processors have threads for this, and a queue before them that refuses what is too much.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

from fakemq.clock.slices import Steps, finished
from fakemq.dispatch.answers import OVERLOAD, Parked, Refused, Reply, Request
from fakemq.dispatch.node import Node
from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.net.session import Session

MAX_UNFINISHED = 1_000
"""How many requests of one connection may be unfinished.

Java's limits are the queues of its thread pools: 20,000 for `QUERY_MESSAGE`, 50,000 for
`HEART_BEAT`. The pool of all other codes concerned has no limit.

Source: broker/BrokerController.java#initialize and #registerProcessor (4.9.7)
"""

MAX_UNFINISHED_OF_NODE = 10_000
"""How many requests of all connections may be unfinished at one node."""

Answer: TypeAlias = Reply[Any] | Parked[Any] | None
LongHandler: TypeAlias = Callable[[Any, Request[Any]], Steps[Answer]]


def is_overloaded(clock: NodeClock, session: Session) -> bool:
    """Return whether a node has too many unfinished requests to begin another one."""
    return (
        clock.unfinished(session) >= MAX_UNFINISHED
        or clock.unfinished_count >= MAX_UNFINISHED_OF_NODE
    )


def in_slices(handler: LongHandler) -> Callable[[Any, Request[Any]], Answer]:
    """Return a handler that answers at once if one slice is enough, and otherwise later.

    A node of the cluster is answered at once: it attacks no other, and their order stays the same.
    """

    @wraps(handler)
    def begin(node: Node, request: Request[Any]) -> Answer:
        clock, session = node.clock, request.session
        if not session.for_outside:
            return finished(handler(node, request))
        if is_overloaded(clock, session):
            raise Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD)
        # The dispatcher empties the command of a request that is answered later.
        request.command = copy.copy(request.command)
        work = clock.begin(handler(node, request), peer=session)
        if work.dropped:
            return None  # its first slice has ended the node or the connection
        if work.done:
            return work.outcome.result()
        parked: Parked[Any] = Later()
        parked.follow(work.outcome)
        return parked

    return begin
