"""BATCH_ACK_MESSAGE (200151): popped messages were consumed, those of several pops at once.

Refused: a request without acknowledgements: NO_MESSAGE.

Source: broker/processor/AckMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.ack import acknowledge_batch
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol.bodies.pop import BatchAckMessageRequestBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.BATCH_ACK_MESSAGE)
def batch_ack_message(broker: Broker5, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    body = None
    if request.body:
        body = BatchAckMessageRequestBody.decode_or_null(readable_json(request.body))
    if body is None or not body.acks:
        raise Refused(ResponseCode.NO_MESSAGE, None)
    reply: Reply[NoHeader] = Reply()
    for batch in body.acks:
        reply = acknowledge_batch(broker, request.session, batch, body.broker_name) or reply
        yield
    return reply
