"""GET_TOPIC_STATS_INFO (202): return the first and next offset and the last time of each queue.

Behaviour: as in 4.9.7, of read queues, too, and with the messages that the topic gets in a second.
Refused: a topic that does not exist: TOPIC_NOT_EXIST.
Differs: a topic of more than 32,768 queues is refused with SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#getTopicStatsInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.get_topic_stats_info import topic_offsets
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.topic import GetTopicStatsInfoRequestHeader
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.stats import TopicStatsTable5


@handles(table.GET_TOPIC_STATS_INFO)
def get_topic_stats_info(
    broker: Broker5, request: Request[GetTopicStatsInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    topic = request.header.topic
    stats = TopicStatsTable5(
        offset_table=(yield from topic_offsets(broker, topic, reads_count=True)),
        topic_put_tps=broker.stats.tps_topic_put_nums(topic),
    )
    body = yield from stats.encode_in_steps()
    return Reply(body=body)
