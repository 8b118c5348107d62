"""CLONE_GROUP_OFFSET (314): give a group the offsets that another has in a topic.

Behaviour: what the group had there is replaced. Unless ``offline``, a source that is online must
subscribe to the topic, or nothing is done. A topic that is not here is passed over.
The answer is always 0. Without a topic nothing is cloned: Java finds those that the source
consumes, and then clones under the name that the request has.

Source: broker/processor/AdminBrokerProcessor.java#cloneGroupOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.offset import CloneGroupOffsetRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.CLONE_GROUP_OFFSET)
def clone_group_offset(
    broker: Broker, request: Request[CloneGroupOffsetRequestHeader]
) -> Reply[NoHeader]:
    header = request.header
    source, topic = header.src_group, header.topic
    if topic is not None and broker.topics.select(topic) is not None:
        info = broker.consumers.group(source)
        if header.offline or info is None or not info.subscriptions or topic in info.subscriptions:
            broker.offsets.clone(source, header.dest_group, topic)
    return Reply()
