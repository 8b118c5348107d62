"""HEART_BEAT (34): register a client with its groups and subscriptions.

Behaviour: the members of a group that changed are notified (code 40) before the heartbeat is
answered. Clients take the version of the answer as the broker's version.

Source: broker/processor/ClientManageProcessor.java#heartBeat (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.clients.client_channel import ClientChannelInfo
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import bean_of, required
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import HeartbeatData
from fakemq.protocol.sysflag import TopicSysFlag
from fakemq.protocol.table import NoHeader
from fakemq.protocol.topics import retry_topic


@handles(table.HEART_BEAT)
def heart_beat(broker: Broker, request: Request[NoHeader]) -> Steps[Reply[NoHeader] | None]:
    return (yield from register(broker, request, bean_of(request, HeartbeatData)))


def register(
    broker: Broker, request: Request[NoHeader], heartbeat: HeartbeatData
) -> Steps[Reply[NoHeader] | None]:
    """Register the groups of a heartbeat; return None if its connection closed meanwhile."""
    command = request.command
    if not heartbeat.consumer_data_set and not heartbeat.producer_data_set:
        return Reply()  # Java does not even read the client id
    channel = ClientChannelInfo(
        request.session,
        required(heartbeat.client_id, "HeartbeatData", "clientID"),
        command.language,
        command.version,
        broker.node,
    )
    try:
        for data in heartbeat.consumer_data_set:
            group = required(data.group_name, "ConsumerData", "groupName")
            notify = _prepare_group(broker, group, data.unit_mode)
            yield from broker.consumers.register(group, channel, data, notify=notify)
            if request.session.closed:
                return None
        for producer in heartbeat.producer_data_set:
            group = required(producer.group_name, "ProducerData", "groupName")
            broker.producers.register(group, channel)
            yield
            if request.session.closed:
                return None
    finally:
        broker.client_expiry.watch(request.session)
    return Reply()


def _prepare_group(broker: Broker, group: str, unit_mode: bool) -> bool:
    """Create the group's retry topic if needed; return whether its members want notifications."""
    config = broker.groups.find(group)
    if config is None:
        return True
    broker.topics.create_in_send_back(
        retry_topic(group),
        config.retry_queue_nums,
        topic_sys_flag=TopicSysFlag.UNIT_SUB if unit_mode else 0,
    )
    return config.notify_consumer_ids_changed_enable
