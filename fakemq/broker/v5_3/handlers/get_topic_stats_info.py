"""GET_TOPIC_STATS_INFO (202): return the first and next offset and the last time of each queue.

Behaviour: as in 5.5.0, without the messages that the topic gets in a second.

Source: broker/processor/AdminBrokerProcessor.java#getTopicStatsInfo (5.3.2)
"""

from __future__ import annotations

from fakemq.broker.handlers.get_topic_stats_info import topic_offsets
from fakemq.broker.v5_3.broker import Broker53, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.stats import TopicStatsTable
from fakemq.protocol.headers.topic import GetTopicStatsInfoRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_TOPIC_STATS_INFO)
def get_topic_stats_info(
    broker: Broker53, request: Request[GetTopicStatsInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    offsets = yield from topic_offsets(broker, request.header.topic, reads_count=True)
    body = yield from TopicStatsTable(offset_table=offsets).encode_in_steps()
    return Reply(body=body)
