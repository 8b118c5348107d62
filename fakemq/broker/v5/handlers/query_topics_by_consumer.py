"""QUERY_TOPICS_BY_CONSUMER (343): return the topics in which a group has offsets.

Source: broker/processor/AdminBrokerProcessor.java#queryTopicsByConsumer (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.group import QueryTopicsByConsumerRequestHeader


@handles(table.QUERY_TOPICS_BY_CONSUMER)
def query_topics_by_consumer(
    broker: Broker5, request: Request[QueryTopicsByConsumerRequestHeader]
) -> Steps[Reply[NoHeader]]:
    topics = yield from broker.offsets.which_topics_by_group(request.header.group)
    found = TopicList(topic_list=topics, broker_addr=broker.addr)
    return Reply(body=(yield from found.encode_in_steps()))
