"""CLEAN_UNUSED_TOPIC (316): delete the queues of topics that have no config any more.

Behaviour: always 0. The half and op topics of transactions are kept, with or without a config. The
commit log keeps its records.

Source: broker/processor/AdminBrokerProcessor.java#cleanUnusedTopic (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.CLEAN_UNUSED_TOPIC)
def clean_unused_topic(broker: Broker, request: Request[NoHeader]) -> Reply[NoHeader]:
    broker.store.clean_unused_topic(broker.topics.snapshot().keys())
    return Reply()
