"""How far groups have pulled and consumed queues, at a broker of 5.5.0.

Source: broker/processor/AdminBrokerProcessor.java#getConsumeStats, #fetchAllConsumeStatsInBroker,
broker/offset/ConsumerOffsetManager.java#commitPullOffset, #queryPullOffset (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakemq.broker.tables.consume_stats import consume_tps, offsets_of
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.v5.bodies.stats import ConsumeStats5, OffsetWrapper5

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.queue import MessageQueue


def consume_stats_5(
    broker: Broker5,
    group: str,
    queues: Iterable[MessageQueue],
    topics: Iterable[str],
    *,
    pulled: bool,
) -> Steps[ConsumeStats5]:
    """Return how far a group has consumed these queues, and with ``pulled`` how far it has pulled.

    What it has pulled is at least what it has consumed.
    """
    pull_offsets, table = broker.pull_offsets, {}
    for queue in queues:
        found = offsets_of(broker, group, queue)
        consumed = found.consumer_offset
        pull_offset = pull_offsets.find(queue.topic or "", group, queue.queue_id)
        table[queue] = OffsetWrapper5(
            broker_offset=found.broker_offset,
            consumer_offset=consumed,
            last_timestamp=found.last_timestamp,
            pull_offset=max(consumed, pull_offset) if pulled else 0,
        )
        yield
    return ConsumeStats5(
        offset_table={queue: table[queue] for queue in java_hash_map_order(table)},
        consume_tps=consume_tps(broker, group, topics),
    )
