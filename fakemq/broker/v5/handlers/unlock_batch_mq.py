"""UNLOCK_BATCH_MQ (42): unlock queues of an orderly consumer; the code is always 0.

Behaviour: as in 4.9.7; with lockInStrictMode, at each broker of the group that is known.

Source: broker/processor/AdminBrokerProcessor.java#unlockBatchMQ (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.unlock_batch_mq import unlock_here
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import body_of
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.queue import UnlockBatchRequestBody5


@handles(table.UNLOCK_BATCH_MQ)
def unlock_batch_mq(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    body = UnlockBatchRequestBody5.decode(body_of(request))
    if broker.config.lock_in_strict_mode and not body.only_this_broker:
        from fakemq.broker.v5.acting.locks import unlock_at_all  # few brokers ask others

        unlock_at_all(broker, body)
    else:
        unlock_here(broker, body)
    return Reply()
