"""UNLOCK_BATCH_MQ (42): unlock queues of an orderly consumer; the code is always 0.

Source: broker/processor/AdminBrokerProcessor.java#unlockBatchMQ (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import body_of, required
from fakemq.protocol import table
from fakemq.protocol.bodies.queue import UnlockBatchRequestBody
from fakemq.protocol.table import NoHeader


@handles(table.UNLOCK_BATCH_MQ)
def unlock_batch_mq(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    unlock_here(broker, UnlockBatchRequestBody.decode(body_of(request)))
    return Reply()


def unlock_here(broker: Broker, body: UnlockBatchRequestBody) -> None:
    """Unlock queues at this broker."""
    broker.locks.unlock_batch(
        required(body.consumer_group, "UnlockBatchRequestBody", "consumerGroup"),
        body.mq_set,
        body.client_id,
    )
