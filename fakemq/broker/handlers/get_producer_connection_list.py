"""GET_PRODUCER_CONNECTION_LIST (204): return the members of a producer group.

Source: broker/processor/AdminBrokerProcessor.java#getProducerConnectionList (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.connection import ProducerConnection
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.client import GetProducerConnectionListRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_PRODUCER_CONNECTION_LIST)
def get_producer_connection_list(
    broker: Broker, request: Request[GetProducerConnectionListRequestHeader]
) -> Reply[NoHeader]:
    group = request.header.producer_group
    channels = broker.producers.channels(group)
    if channels is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, f"the producer group[{group}] not exist")
    body = ProducerConnection(connection_set=[channel.connection() for channel in channels])
    return Reply(body=body.encode())
