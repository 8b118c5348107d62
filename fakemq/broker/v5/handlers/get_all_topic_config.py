"""GET_ALL_TOPIC_CONFIG (21): return topics with their version; slaves and mqadmin send it.

Behaviour: as in 4.9.7, in pages of at most splitMetadataSize topics if the request asks for them.

Source: broker/processor/AdminBrokerProcessor.java#getAllTopicConfig (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.table_pages import page_of
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.tables import TopicConfigAndMappingSerializeWrapper
from fakemq.protocol.v5.headers.topic import (
    GetAllTopicConfigRequestHeader,
    GetAllTopicConfigResponseHeader5,
)


@handles(table.GET_ALL_TOPIC_CONFIG)
def get_all_topic_config(
    broker: Broker5, request: Request[GetAllTopicConfigRequestHeader]
) -> Steps[Reply[GetAllTopicConfigResponseHeader5]]:
    header, topics = request.header, broker.topics.snapshot()
    page, version = page_of(
        topics,
        broker.topics.data_version,
        broker.config,
        seq=header.topic_seq,
        known_version=header.data_version,
        most=header.max_topic_num,
    )
    count = len(topics) if broker.reference.counts_tables else None
    body = TopicConfigAndMappingSerializeWrapper(
        topic_config_table=page,
        data_version=version,
        mapping_data_version=broker.versions.mappings,
    )
    total = GetAllTopicConfigResponseHeader5(total_topic_num=count)
    return Reply(total, body=(yield from broker.topic_page.encoded(body, page)))
