"""LOCK_BATCH_MQ (41): lock queues for an orderly consumer; return those that it holds now.

Behaviour: as in 4.9.7; with lockInStrictMode, those that most brokers of the group grant.

Source: broker/processor/AdminBrokerProcessor.java#lockBatchMQ (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.lock_batch_mq import lock_here
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Parked, Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol import table
from fakemq.protocol.bodies.queue import LockBatchResponseBody
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.queue import LockBatchRequestBody5


@handles(table.LOCK_BATCH_MQ)
def lock_batch_mq(
    broker: Broker5, request: Request[NoHeader]
) -> Steps[Reply[NoHeader] | Parked[NoHeader]]:
    body = LockBatchRequestBody5.decode(body_of(request))
    locked = yield from lock_here(broker, request, body)
    quorum = broker.config.total_replicas // 2 + 1
    if broker.config.lock_in_strict_mode and not body.only_this_broker and quorum > 1:
        from fakemq.broker.v5.acting.locks import lock_at_most  # few brokers ask others

        return lock_at_most(broker, body, locked, quorum)
    encoded = yield from LockBatchResponseBody(lock_ok_mq_set=locked).encode_in_steps()
    return Reply(body=encoded)
