"""GET_CONSUME_STATS (208): return how far a group has pulled and consumed topics.

Behaviour: as in 4.9.7, with what was pulled; ``topicList`` names several topics, with semicolons
between them, whether the group subscribes to them or not.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#getConsumeStats (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.tables.consume_stats import consumed_topic, queues_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.consume_stats import consume_stats_5
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.group import GetConsumeStatsRequestHeader5


@handles(table.GET_CONSUME_STATS)
def get_consume_stats(
    broker: Broker5, request: Request[GetConsumeStatsRequestHeader5]
) -> Steps[Reply[NoHeader]]:
    header, configs = request.header, {}
    group, topic = header.consumer_group, header.topic or ""
    listed = [one for one in (header.topic_list or "").split(";") if one]
    if listed:
        topics = java_hash_map_order(listed)
    elif topic and not topic.isspace():
        topics = [topic]
    else:
        topics = yield from broker.offsets.which_topics_by_group(group)
    for topic in topics:
        config = broker.topics.select(topic) if listed else consumed_topic(broker, group, topic)
        if config is not None:
            configs[topic] = config
        yield
    queues = (
        queue
        for topic, config in configs.items()
        for queue in queues_of(broker, topic, config.read_queue_nums)
    )
    stats = yield from consume_stats_5(broker, group, queues, configs, pulled=True)
    body = yield from stats.encode_in_steps()
    return Reply(body=body)
