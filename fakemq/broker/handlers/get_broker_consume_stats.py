"""GET_BROKER_CONSUME_STATS (317): return how far every group has consumed, topic by topic.

Behaviour: every group with a config is listed, in the order of Java's table; a group without
offsets has an empty list. With ``isOrder`` only ordered topics are listed. This request counts
write queues, GET_CONSUME_STATS (208) counts read queues.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#fetchAllConsumeStatsInBroker (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.consume_stats import consume_stats, consumed_topic, queues_of
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.stats import ConsumeStats, ConsumeStatsList
from fakemq.protocol.headers.group import GetConsumeStatsInBrokerHeader
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader

TABLE_SIZE = 2048
"""How many buckets Java's table of groups has; its order depends on them."""


@handles(table.GET_BROKER_CONSUME_STATS)
def get_broker_consume_stats(
    broker: Broker, request: Request[GetConsumeStatsInBrokerHeader]
) -> Steps[Reply[NoHeader]]:
    groups = java_hash_map_order(broker.groups.snapshot(), TABLE_SIZE)
    stats = {}
    for group in groups:
        stats[group] = yield from _of_group(broker, group, request.header.is_order)
    found = ConsumeStatsList(
        consume_stats_list=[{group: of_group} for group, of_group in stats.items()],
        broker_addr=broker.addr,
        total_diff=sum(one.compute_total_diff() for of_group in stats.values() for one in of_group),
    )
    body = yield from found.encode_in_steps()
    return Reply(body=body)


def _of_group(broker: Broker, group: str, only_order: bool) -> Steps[list[ConsumeStats]]:
    found = []
    yield
    for topic in broker.offsets.which_topics_by_group(group):
        config = consumed_topic(broker, group, topic)
        if config is not None and (config.order or not only_order):
            queues = queues_of(broker, topic, config.write_queue_nums)
            stats = yield from consume_stats(broker, group, queues, [topic])
            found.append(stats)
    return found
