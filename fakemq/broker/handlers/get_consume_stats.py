"""GET_CONSUME_STATS (208): return how far a group has consumed one topic, or all its topics.

Behaviour: without a topic, all topics are listed in which the group has offsets. Two kinds of
topics are left out: those that do not exist, and those that a group with members does not subscribe
to. An unknown group has consumed nothing.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#getConsumeStats (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.consume_stats import consume_stats, consumed_topic, queues_of
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.group import GetConsumeStatsRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_CONSUME_STATS)
def get_consume_stats(
    broker: Broker, request: Request[GetConsumeStatsRequestHeader]
) -> Reply[NoHeader]:
    group, topic = request.header.consumer_group, request.header.topic
    topics = (
        [topic] if topic and not topic.isspace() else broker.offsets.which_topics_by_group(group)
    )
    configs = {
        topic: config
        for topic in topics
        if (config := consumed_topic(broker, group, topic)) is not None
    }
    queues = (
        queue
        for topic, config in configs.items()
        for queue in queues_of(broker, topic, config.read_queue_nums)
    )
    return Reply(body=consume_stats(broker, group, queues, configs).encode())
