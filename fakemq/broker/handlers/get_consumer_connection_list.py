"""GET_CONSUMER_CONNECTION_LIST (203): return the members of a consumer group and its subscriptions.

Source: broker/processor/AdminBrokerProcessor.java#getConsumerConnectionList (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.connection import ConsumerConnection
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.client import GetConsumerConnectionListRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_CONSUMER_CONNECTION_LIST)
def get_consumer_connection_list(
    broker: Broker, request: Request[GetConsumerConnectionListRequestHeader]
) -> Reply[NoHeader]:
    group = request.header.consumer_group
    info = broker.consumers.group(group)
    if info is None:
        raise Refused(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{group}] not online")
    body = ConsumerConnection(
        connection_set=[channel.connection() for channel in info.channels.values()],
        subscription_table=info.subscriptions,
        consume_type=info.consume_type,
        message_model=info.message_model,
        consume_from_where=info.consume_from_where,
    )
    return Reply(body=body.encode())
