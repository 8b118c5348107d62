"""CLEAN_UNUSED_TOPIC (316): forget the queues of topics that have no config any more.

The half and op topics of transactions are kept, config or not; the commit log keeps its records.
The answer is always 0.

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
