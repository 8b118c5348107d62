"""PEEK_MESSAGE (200052): return what a pop would find, and leave it where it is.

Source: broker/processor/PeekMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.peek import peek
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.headers.pop import PeekMessageRequestHeader, PopMessageResponseHeader
from fakemq.protocol.v5 import table


@handles(table.PEEK_MESSAGE)
def peek_message(
    broker: Broker5, request: Request[PeekMessageRequestHeader]
) -> Reply[PopMessageResponseHeader]:
    return peek(broker, request)
