"""QUERY_TOPIC_CONSUME_BY_WHO (300): return the groups with a subscription or offsets.

Source: broker/processor/AdminBrokerProcessor.java#queryTopicConsumeByWho (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.group import GroupList
from fakemq.protocol.headers.topic import QueryTopicConsumeByWhoRequestHeader
from fakemq.protocol.java import java_hash_map_order_in_steps
from fakemq.protocol.table import NoHeader


@handles(table.QUERY_TOPIC_CONSUME_BY_WHO)
def query_topic_consume_by_who(
    broker: Broker, request: Request[QueryTopicConsumeByWhoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    topic = request.header.topic
    groups = yield from broker.consumers.groups_of_topic(topic)
    groups += yield from broker.offsets.which_groups_by_topic(topic)
    group_list = yield from java_hash_map_order_in_steps(groups)
    return Reply(body=(yield from GroupList(group_list=group_list).encode_in_steps()))
