"""GET_BROKER_CONSUME_STATS (317): return how far every group has consumed, topic by topic.

Behaviour: every group with a config is listed, in the order of Java's table; a group without
offsets has an empty list. With ``isOrder`` only ordered topics are listed. This request counts
write queues, GET_CONSUME_STATS (208) counts read queues.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#fetchAllConsumeStatsInBroker (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.tables.consume_stats import consume_stats, consumed_topic, queues_of
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.stats import ConsumeStats, ConsumeStatsList
from fakemq.protocol.headers.group import GetConsumeStatsInBrokerHeader
from fakemq.protocol.java import java_hash_map_order_in_steps
from fakemq.protocol.table import NoHeader

TABLE_SIZE = 2048
"""How many buckets Java's table of groups has; its order depends on them."""


@handles(table.GET_BROKER_CONSUME_STATS)
def get_broker_consume_stats(
    broker: Broker, request: Request[GetConsumeStatsInBrokerHeader]
) -> Steps[Reply[NoHeader]]:
    groups = yield from java_hash_map_order_in_steps(broker.groups.names(), TABLE_SIZE)
    topics = yield from broker.offsets.topics_by_group()
    stats = {}
    total_diff = 0
    for group in groups:
        consumed = yield from java_hash_map_order_in_steps(topics.get(group, ()))
        stats[group] = yield from _of_group(broker, group, consumed, request.header.is_order)
        total_diff += sum(one.compute_total_diff() for one in stats[group])
    found = ConsumeStatsList(
        consume_stats_list=[{group: of_group} for group, of_group in stats.items()],
        broker_addr=broker.addr,
        total_diff=total_diff,
    )
    body = yield from found.encode_in_steps()
    return Reply(body=body)


def _of_group(
    broker: Broker, group: str, topics: list[str], only_order: bool
) -> Steps[list[ConsumeStats]]:
    found = []
    yield
    for topic in topics:
        config = consumed_topic(broker, group, topic)
        if config is not None and (config.order or not only_order):
            queues = queues_of(broker, topic, config.write_queue_nums)
            stats = yield from consume_stats(broker, group, queues, [topic])
            found.append(stats)
    return found
