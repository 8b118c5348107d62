"""The members of groups that the door knows: heartbeats, and what is asked of them.

Behaviour: a consumer group has to exist at a broker, or be creatable there. The members of a group
are listed with those that speak gRPC. No member is notified of a change.

Source: proxy/remoting/activity/ClientManagerActivity.java, ConsumerManagerActivity.java,
proxy/processor/ClientProcessor.java#registerConsumer (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.clients.client_channel import ClientChannelInfo
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply, Request
from fakemq.dispatch.outcomes import bean_of, required
from fakemq.protocol import table
from fakemq.protocol.bodies.connection import ClientConnection, ConsumerConnection
from fakemq.protocol.bodies.heartbeat import GetConsumerListByGroupResponseBody, HeartbeatData
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.client import (
    GetConsumerConnectionListRequestHeader,
    GetConsumerListByGroupRequestHeader,
    GetConsumerListByGroupResponseHeader,
    UnregisterClientRequestHeader,
    UnregisterClientResponseHeader,
)
from fakemq.proxy.door import RemotingDoor, handles, null_pointer
from fakemq.proxy.registration import check_group

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.protocol.table import NoHeader

LITE_SELECTIVE: Final = "LITE_SELECTIVE"
"""The message model of consumers of lite topics."""
_HEARTBEATS: Final = "org.apache.rocketmq.remoting.protocol.heartbeat."


@handles(table.HEART_BEAT)
def heart_beat(door: RemotingDoor, request: Request[NoHeader]) -> Steps[Reply[NoHeader] | None]:
    if not request.body:
        raise null_pointer(f"{_HEARTBEATS}HeartbeatData.getClientID()", '"heartbeatData"')
    heartbeat, session = bean_of(request, HeartbeatData), request.session
    if not heartbeat.consumer_data_set and not heartbeat.producer_data_set:
        return Reply(remark="")
    client_id = required(heartbeat.client_id, "HeartbeatData", "clientID")
    command = request.command
    channel = ClientChannelInfo(session, client_id, command.language, command.version, door.node)
    try:
        for producer in heartbeat.producer_data_set:
            name = required(producer.group_name, "ProducerData", "groupName")
            door.producers.register(name, channel)
            yield
            if session.closed:
                return None
        for data in heartbeat.consumer_data_set:
            group = required(data.group_name, "ConsumerData", "groupName")
            topics = (one.topic or "" for one in data.subscription_data_set)
            is_lite = data.message_model == LITE_SELECTIVE
            check_group(door.proxy, group, is_lite=is_lite, topics=topics)
            yield from door.consumers.register(group, channel, data, notify=False)
            if session.closed:
                return None
    finally:
        door.client_expiry.watch(session)
    return Reply(remark="")


@handles(table.UNREGISTER_CLIENT)
def unregister_client(
    door: RemotingDoor, request: Request[UnregisterClientRequestHeader]
) -> Steps[Reply[UnregisterClientResponseHeader]]:
    header, session = request.header, request.session
    producer_group, consumer_group = header.producer_group, header.consumer_group
    if door.producers.is_member(producer_group, session):
        door.producers.unregister(producer_group or "", session, header.get("client_id", ""))
    if consumer_group is not None:
        yield from door.consumers.unregister(consumer_group, session, notify=False)
    door.client_expiry.watch(session)
    return Reply(UnregisterClientResponseHeader(), remark="")


@handles(table.CHECK_CLIENT_CONFIG)
def check_client_config(door: RemotingDoor, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(remark="")


@handles(table.GET_CONSUMER_LIST_BY_GROUP)
def get_consumer_list_by_group(
    door: RemotingDoor, request: Request[GetConsumerListByGroupRequestHeader]
) -> Reply[GetConsumerListByGroupResponseHeader]:
    members = _members(door, request.header.get("consumer_group", None))
    if not members:
        call = "org.apache.rocketmq.broker.client.ConsumerGroupInfo.getAllClientId()"
        raise null_pointer(call, '"consumerGroupInfo"')
    body = GetConsumerListByGroupResponseBody(
        consumer_id_list=[one.client_id or "" for one in members]
    )
    return Reply(GetConsumerListByGroupResponseHeader(), body=body.encode(), remark=NOTHING_SAID)


@handles(table.GET_CONSUMER_CONNECTION_LIST)
def get_consumer_connection_list(
    door: RemotingDoor, request: Request[GetConsumerConnectionListRequestHeader]
) -> Reply[NoHeader]:
    group: str | None = request.header.get("consumer_group", None)
    members = _members(door, group)
    if not members:
        raise Refused(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{group}] not online")
    body = ConsumerConnection(connection_set=members)
    info = None if group is None else door.consumers.group(group)
    if info is not None:
        body.subscription_table = info.subscriptions
        body.consume_type, body.message_model = info.consume_type, info.message_model
        body.consume_from_where = info.consume_from_where
    return Reply(body=body.encode())


def _members(door: RemotingDoor, group: str | None) -> list[ClientConnection]:
    """Return the members of a group, those that speak gRPC at the end; raise Refused for None."""
    if group is None:
        raise null_pointer("Object.hashCode()", '"key"')
    return [
        *(channel.connection() for channel in door.consumers.members(group)),
        *(
            ClientConnection(
                client_id=client.client_id,
                client_addr=client.connection.remote_addr,
                language=client.language,
            )
            for client in door.proxy.clients.consumers(group)
        ),
    ]
