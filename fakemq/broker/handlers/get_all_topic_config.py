"""GET_ALL_TOPIC_CONFIG (21): return all topics with their version; slaves and mqadmin send it.

Source: broker/processor/AdminBrokerProcessor.java#getAllTopicConfig (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.topic import GetAllTopicConfigResponseHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_TOPIC_CONFIG)
def get_all_topic_config(
    broker: Broker, request: Request[NoHeader]
) -> Reply[GetAllTopicConfigResponseHeader]:
    return Reply(GetAllTopicConfigResponseHeader(), body=broker.topics.encoded())
