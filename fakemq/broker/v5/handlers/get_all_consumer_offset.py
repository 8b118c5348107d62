"""GET_ALL_CONSUMER_OFFSET (43): return the offsets of all groups; slaves send it.

Behaviour: as in 4.9.7, with a version, and the topics of each group.
Differs: ``pullOffsetTable`` is empty. Java says there where pulls got, by numbers without quotes,
which a slave of Java's cannot skip: it takes no offsets over then.

Source: broker/offset/ConsumerOffsetManager.java#encode, #getGroupTopicMap (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.tables import ConsumerOffsetSerializeWrapper5


@handles(table.GET_ALL_CONSUMER_OFFSET)
def get_all_consumer_offset(broker: Broker5, request: Request[NoHeader]) -> Steps[Reply[NoHeader]]:
    wrapper = yield from broker.offsets.wrapper()
    offsets = wrapper.offset_table
    topics: dict[str, list[str]] = {}
    for parts in (key.split("@") for key in offsets):
        if len(parts) == 2:
            topics.setdefault(parts[1], []).append(parts[0])
    body = ConsumerOffsetSerializeWrapper5(
        offset_table=offsets,
        data_version=broker.versions.offsets,
        group_topic_map={group: java_hash_map_order(names) for group, names in topics.items()},
        lmq_offset_table=getattr(wrapper, "lmq_offset_table", None),
    )
    return Reply(body=(yield from body.encode_in_steps()))
