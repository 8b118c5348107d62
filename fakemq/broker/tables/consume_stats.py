"""How far groups have consumed the queues of topics.

Source: broker/processor/AdminBrokerProcessor.java#getConsumeStats, #fetchAllConsumeStatsInBroker
(4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakemq.dispatch.answers import Refused
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.stats import ConsumeStats, OffsetWrapper
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.java import java_hash_map_order

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.topic import TopicConfig

MAX_QUEUES = 1 << 15
"""A topic may have two billion queues; an answer about this number still fits into one frame."""


def queues_of(broker: Broker, topic: str, queue_nums: int) -> list[MessageQueue]:
    """Return the first queues of a topic at this broker; Refused for more than MAX_QUEUES."""
    if queue_nums > MAX_QUEUES:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"topic {topic} has {queue_nums} queues, fakemq lists no more than {MAX_QUEUES}",
        )
    name = broker.config.broker_name
    return [MessageQueue(topic, name, queue_id) for queue_id in range(queue_nums)]


def consumed_topic(broker: Broker, group: str, topic: str) -> TopicConfig | None:
    """Return the config of a topic; None if it does not exist, or if a group with members does not
    subscribe to it.
    """
    consumers = broker.consumers
    if consumers.subscriptions(group) and consumers.find_subscription(group, topic) is None:
        return None
    return broker.topics.select(topic)


def consume_stats(
    broker: Broker, group: str, queues: Iterable[MessageQueue], topics: Iterable[str]
) -> Steps[ConsumeStats]:
    """Return how far a group has consumed these queues, and its messages per second."""
    table = {}
    for queue in queues:
        table[queue] = offsets_of(broker, group, queue)
        yield
    return ConsumeStats(
        offset_table={queue: table[queue] for queue in java_hash_map_order(table)},
        consume_tps=consume_tps(broker, group, topics),
    )


def consume_tps(broker: Broker, group: str, topics: Iterable[str]) -> float:
    """Return how many messages of these topics a group gets in a second."""
    return sum((broker.stats.tps_group_get_nums(group, topic) for topic in topics), start=0.0)


def offsets_of(broker: Broker, group: str, queue: MessageQueue) -> OffsetWrapper:
    """Return how far a queue is filled, and how far the group has consumed it."""
    topic, queue_id = queue.topic or "", queue.queue_id
    consumed = max(0, broker.offsets.query(group, topic, queue_id))
    stored_ms = broker.store.message_store_timestamp(topic, queue_id, consumed - 1)
    return OffsetWrapper(
        broker_offset=broker.store.max_offset_in_queue(topic, queue_id),
        consumer_offset=consumed,
        last_timestamp=max(0, stored_ms),
    )
