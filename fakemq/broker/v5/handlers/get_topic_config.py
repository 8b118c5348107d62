"""GET_TOPIC_CONFIG (351): return one topic.

Refused: a topic that does not exist: TOPIC_NOT_EXIST.
Ignored: ``lo``, which asks for the mapping of a static topic.

Source: broker/processor/AdminBrokerProcessor.java#getTopicConfig (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.topic import GetTopicConfigRequestHeader


@handles(table.GET_TOPIC_CONFIG)
def get_topic_config(
    broker: Broker5, request: Request[GetTopicConfigRequestHeader]
) -> Reply[NoHeader]:
    topic = request.header.topic
    config = broker.topics.select(topic)
    if config is None:
        raise Refused(ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {topic}")
    return Reply(body=config.encode())
