"""LOCK_BATCH_MQ (41): lock queues for an orderly consumer; return those that it holds now.

Source: broker/processor/AdminBrokerProcessor.java#lockBatchMQ (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import body_of, required
from fakemq.protocol import table
from fakemq.protocol.bodies.queue import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
)
from fakemq.protocol.table import NoHeader


@handles(table.LOCK_BATCH_MQ)
def lock_batch_mq(broker: Broker, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    body = LockBatchRequestBody.decode(body_of(request))
    locked = yield from lock_here(broker, request, body)
    encoded = yield from LockBatchResponseBody(lock_ok_mq_set=locked).encode_in_steps()
    return Reply(body=encoded)


def lock_here(
    broker: Broker, request: Request[NoHeader], body: LockBatchRequestBody
) -> Steps[list[MessageQueue]]:
    """Lock queues at this broker; return those that the client holds now."""
    if not body.mq_set:  # then Java reads no other field
        return []
    locked = yield from broker.locks.try_lock_batch(
        required(body.consumer_group, "LockBatchRequestBody", "consumerGroup"),
        dict.fromkeys(body.mq_set),  # a set in Java
        required(body.client_id, "LockBatchRequestBody", "clientId"),
        request.session,
    )
    return locked
