"""ACK_MESSAGE (200051): a popped message was consumed.

Refused: a queue or an offset that does not exist. That a pop returned the message is not checked.

Source: broker/processor/AckMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.pop.ack import acknowledge
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table_5_5_0
from fakemq.protocol.headers.pop import AckMessageRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table_5_5_0.ACK_MESSAGE)
def ack_message(broker: Broker, request: Request[AckMessageRequestHeader]) -> Reply[NoHeader]:
    acknowledge(broker, request)
    return Reply()
