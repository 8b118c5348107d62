"""GET_TOPIC_STATS_INFO (202): return the first and next offset and the last time of each queue.

Behaviour: the time is when the queue's last message was stored.
Refused: a topic that does not exist: TOPIC_NOT_EXIST.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#getTopicStatsInfo (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.sending.checks import existing_topic
from fakemq.broker.tables.consume_stats import queues_of
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.stats import TopicOffset, TopicStatsTable
from fakemq.protocol.headers.topic import GetTopicStatsInfoRequestHeader
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader


@handles(table.GET_TOPIC_STATS_INFO)
def get_topic_stats_info(
    broker: Broker, request: Request[GetTopicStatsInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    offsets = yield from topic_offsets(broker, request.header.topic)
    body = yield from TopicStatsTable(offset_table=offsets).encode_in_steps()
    return Reply(body=body)


def topic_offsets(
    broker: Broker, topic: str, *, reads_count: bool = False
) -> Steps[dict[MessageQueue, TopicOffset]]:
    """Return the first and next offset of each queue, in the order of Java's map.

    With ``reads_count`` those of a topic's read queues, too. Raise Refused if there is no topic.
    """
    config = existing_topic(broker, topic)
    count = max(config.write_queue_nums, config.read_queue_nums if reads_count else 0)
    offsets = {}
    for queue in java_hash_map_order(queues_of(broker, topic, count)):
        offsets[queue] = _offset(broker, queue)
        yield
    return offsets


def _offset(broker: Broker, queue: MessageQueue) -> TopicOffset:
    store, topic, queue_id = broker.store, queue.topic or "", queue.queue_id
    end = store.max_offset_in_queue(topic, queue_id)
    return TopicOffset(
        min_offset=store.min_offset_in_queue(topic, queue_id),
        max_offset=end,
        last_update_timestamp=store.message_store_timestamp(topic, queue_id, end - 1) if end else 0,
    )
