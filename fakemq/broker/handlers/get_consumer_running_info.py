"""GET_CONSUMER_RUNNING_INFO (307): return what a consumer reports about itself.

Behaviour: the request is passed on to the consumer, and its answer is returned.
Refused: no such member, or one before 3.1.8: SYSTEM_ERROR; no answer in 10 s: CONSUME_MSG_TIMEOUT.

Source: broker/processor/AdminBrokerProcessor.java#getConsumerRunningInfo (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.clients.relay import call_consumer
from fakemq.dispatch.answers import Parked, Request
from fakemq.protocol import table
from fakemq.protocol.headers.client import GetConsumerRunningInfoRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_CONSUMER_RUNNING_INFO)
def get_consumer_running_info(
    broker: Broker, request: Request[GetConsumerRunningInfoRequestHeader]
) -> Parked[NoHeader]:
    client_id: str | None = request.header.get("client_id", None)
    return call_consumer(broker, request.command, request.header.consumer_group, client_id)
