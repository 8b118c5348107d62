"""CLONE_GROUP_OFFSET (314): copy the offsets of one group in a topic to another group.

Behaviour: always 0. The offsets that the target group had in the topic are replaced. Unless
``offline`` is set, a source group with members must subscribe to the topic; otherwise nothing is
copied. A topic that does not exist is skipped. Without a topic nothing is copied: Java finds the
topics that the source consumes, and then copies under the topic name of the request.

Source: broker/processor/AdminBrokerProcessor.java#cloneGroupOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.tables.consume_stats import consumed_topic
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.offset import CloneGroupOffsetRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.CLONE_GROUP_OFFSET)
def clone_group_offset(
    broker: Broker, request: Request[CloneGroupOffsetRequestHeader]
) -> Reply[NoHeader]:
    header = request.header
    topic = header.topic
    if topic is None and broker.offsets.is_empty:
        return Reply()  # Java has nothing to compare the source with
    source = header.src_group
    if topic is None or broker.topics.select(topic) is None:
        return Reply()
    if header.offline or consumed_topic(broker, source, topic) is not None:
        broker.offsets.clone(source, header.dest_group, topic)
    return Reply()
