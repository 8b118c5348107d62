"""GET_BROKER_CONSUME_STATS (317): return how far every group has consumed, topic by topic.

Behaviour: as in 4.9.7, with what was pulled and not consumed. What was pulled is always 0 here, so
that the last number is what was consumed, below zero.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#fetchAllConsumeStatsInBroker (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.get_broker_consume_stats import TABLE_SIZE
from fakemq.broker.tables.consume_stats import consumed_topic, queues_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.consume_stats import consume_stats_5
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.group import GetConsumeStatsInBrokerHeader
from fakemq.protocol.java import java_hash_map_order_in_steps
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.stats import ConsumeStats5, ConsumeStatsList5


@handles(table.GET_BROKER_CONSUME_STATS)
def get_broker_consume_stats(
    broker: Broker5, request: Request[GetConsumeStatsInBrokerHeader]
) -> Steps[Reply[NoHeader]]:
    groups = yield from java_hash_map_order_in_steps(broker.groups.names(), TABLE_SIZE)
    topics = yield from broker.offsets.topics_by_group()
    stats = {}
    total_diff = total_inflight_diff = 0
    for group in groups:
        consumed = yield from java_hash_map_order_in_steps(topics.get(group, ()))
        stats[group] = yield from _of_group(broker, group, consumed, request.header.is_order)
        total_diff += sum(one.compute_total_diff() for one in stats[group])
        total_inflight_diff += sum(one.compute_inflight_total_diff() for one in stats[group])
    found = ConsumeStatsList5(
        consume_stats_list=[{group: of_group} for group, of_group in stats.items()],
        broker_addr=broker.addr,
        total_diff=total_diff,
        total_inflight_diff=total_inflight_diff,
    )
    body = yield from found.encode_in_steps()
    return Reply(body=body)


def _of_group(
    broker: Broker5, group: str, topics: list[str], only_order: bool
) -> Steps[list[ConsumeStats5]]:
    found = []
    yield
    for topic in topics:
        config = consumed_topic(broker, group, topic)
        if config is not None and (config.order or not only_order):
            queues = queues_of(broker, topic, config.write_queue_nums)
            stats = yield from consume_stats_5(broker, group, queues, [topic], pulled=False)
            found.append(stats)
    return found
