"""GET_CONSUME_STATS (208): return how far a group has consumed one topic, or all its topics.

Behaviour: without a topic, all topics are listed in which the group has offsets. Two kinds of
topics are left out: those that do not exist, and those that a group with members does not subscribe
to. An unknown group has consumed nothing.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#getConsumeStats (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.tables.consume_stats import consume_stats, consumed_topic, queues_of
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.group import GetConsumeStatsRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_CONSUME_STATS)
def get_consume_stats(
    broker: Broker, request: Request[GetConsumeStatsRequestHeader]
) -> Steps[Reply[NoHeader]]:
    group, topic = request.header.consumer_group, request.header.topic
    if topic and not topic.isspace():
        topics = [topic]
    else:
        topics = yield from broker.offsets.which_topics_by_group(group)
    configs = {}
    for topic in topics:
        config = consumed_topic(broker, group, topic)
        if config is not None:
            configs[topic] = config
        yield
    queues = (
        queue
        for topic, config in configs.items()
        for queue in queues_of(broker, topic, config.read_queue_nums)
    )
    stats = yield from consume_stats(broker, group, queues, configs)
    body = yield from stats.encode_in_steps()
    return Reply(body=body)
