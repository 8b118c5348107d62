"""UNLOCK_BATCH_MQ (42): unlock queues of an orderly consumer; the code is always 0.

Source: broker/processor/AdminBrokerProcessor.java#unlockBatchMQ (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.handlers import handles
from fakemq.broker.required import body_of, required
from fakemq.dispatch.dispatcher import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.queue import UnlockBatchRequestBody
from fakemq.protocol.table import NoHeader

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


@handles(table.UNLOCK_BATCH_MQ)
def unlock_batch_mq(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    body = UnlockBatchRequestBody.decode(body_of(request))
    broker.locks.unlock_batch(
        required(body.consumer_group, "UnlockBatchRequestBody", "consumerGroup"),
        body.mq_set,
        required(body.client_id, "UnlockBatchRequestBody", "clientId"),
    )
    return Reply()
