"""PEEK_MESSAGE (200052): return what a pop would find, and leave it where it is.

Source: broker/processor/PeekMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.pop.peek import peek
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table_5_5_0
from fakemq.protocol.headers.pop import PeekMessageRequestHeader, PopMessageResponseHeader


@handles(table_5_5_0.PEEK_MESSAGE)
def peek_message(
    broker: Broker, request: Request[PeekMessageRequestHeader]
) -> Reply[PopMessageResponseHeader]:
    return peek(broker, request)
