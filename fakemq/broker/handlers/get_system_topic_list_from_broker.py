"""GET_SYSTEM_TOPIC_LIST_FROM_BROKER (305): return RocketMQ's own topics, existing or not.

Source: broker/processor/AdminBrokerProcessor.java#getSystemTopicListFromBroker (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.table import NoHeader


@handles(table.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
def get_system_topic_list_from_broker(
    broker: Broker, request: Request[NoHeader]
) -> Reply[NoHeader]:
    return Reply(body=TopicList(topic_list=broker.topics.system_topics()).encode())
