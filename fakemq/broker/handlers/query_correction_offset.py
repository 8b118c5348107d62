"""QUERY_CORRECTION_OFFSET (308): return the lowest offset of all groups in each queue of a topic.

Behaviour: the groups in ``filterGroups`` (separated by commas) are left out, and lose all their
offsets in every topic, as in Java. If the offset of the compared group is lower than the lowest
offset, the result is 2^63 - 1. But Java looks it up with topic and group exchanged, so that happens
only if both have the same name.

Source: broker/processor/AdminBrokerProcessor.java#queryCorrectionOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import required
from fakemq.protocol import table
from fakemq.protocol.bodies.offset import QueryCorrectionOffsetBody
from fakemq.protocol.headers.offset import QueryCorrectionOffsetHeader
from fakemq.protocol.java import LONG_MAX, java_hash_map_order_in_steps
from fakemq.protocol.table import NoHeader


@handles(table.QUERY_CORRECTION_OFFSET)
def query_correction_offset(
    broker: Broker, request: Request[QueryCorrectionOffsetHeader]
) -> Steps[Reply[NoHeader]]:
    header = request.header
    filter_groups = (header.filter_groups or "").strip()
    lowest = yield from broker.offsets.query_min_offset_in_all_groups(
        header.topic, filter_groups.split(",") if filter_groups else ()
    )
    compare_group = header.get("compare_group", "null")  # Java builds the key "null@..."
    compared = broker.offsets.query_all(group=header.topic, topic=compare_group)
    for queue_id, offset in dict(compared).items():
        if required(lowest.get(queue_id), "Long", "longValue") > offset:
            lowest[queue_id] = LONG_MAX
        yield
    queue_ids = yield from java_hash_map_order_in_steps(lowest)
    found = {queue_id: lowest[queue_id] for queue_id in queue_ids}
    return Reply(body=QueryCorrectionOffsetBody(correction_offsets=found).encode())
