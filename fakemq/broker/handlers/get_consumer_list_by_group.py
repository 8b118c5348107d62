"""GET_CONSUMER_LIST_BY_GROUP (38): return the client ids of a group's members.

Consumers divide the queues of a topic among themselves by this list.

Source: broker/processor/ConsumerManageProcessor.java#getConsumerListByGroup (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.faults.points import CONSUMER_LIST
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import GetConsumerListByGroupResponseBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.client import (
    GetConsumerListByGroupRequestHeader,
    GetConsumerListByGroupResponseHeader,
)


@handles(table.GET_CONSUMER_LIST_BY_GROUP)
def get_consumer_list_by_group(
    broker: Broker, request: Request[GetConsumerListByGroupRequestHeader]
) -> Reply[GetConsumerListByGroupResponseHeader]:
    group = request.header.consumer_group
    info = broker.consumers.group(group)
    if info is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {group}")
    client_ids = [channel.client_id for channel in info.channels.values()]
    if broker.faults.at(CONSUMER_LIST):
        client_ids = CONSUMER_LIST.intercept(broker, group, request.session, client_ids)
    body = GetConsumerListByGroupResponseBody(consumer_id_list=client_ids)
    return Reply(GetConsumerListByGroupResponseHeader(), body=body.encode())
