"""ACK_MESSAGE (200051): a popped message was consumed.

Refused: a queue or an offset that does not exist. That a pop returned the message is not checked.

Source: broker/processor/AckMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.ack import acknowledge
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.headers.pop import AckMessageRequestHeader
from fakemq.protocol.table import NoHeader
from fakemq.protocol.usual_headers import add_usual
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.usual_headers import UsualAckHeader

add_usual(RequestCode5.ACK_MESSAGE, UsualAckHeader)


@handles(table.ACK_MESSAGE)
def ack_message(broker: Broker5, request: Request[AckMessageRequestHeader]) -> Reply[NoHeader]:
    lite = request.header.lite_topic
    if lite and broker.takes_lite(lite):
        from fakemq.broker.v5.lite.ack import acknowledge_lite  # few messages are of lite topics

        acknowledge_lite(broker, request)
    else:
        acknowledge(broker, request)
    return Reply()
