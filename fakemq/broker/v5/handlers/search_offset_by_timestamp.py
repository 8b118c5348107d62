"""SEARCH_OFFSET_BY_TIMESTAMP (29): return the offset of the first message from a time on.

Behaviour: with ``boundaryType=UPPER`` of the last one stored at or before it. A time after the last
message finds the end of the queue. ``liteTopic`` stands for the light queue of a lite topic: 0 if
it has no messages.
Ignored: ``bname``.

Source: broker/processor/AdminBrokerProcessor.java#searchOffsetByTimestamp,
common/BoundaryType.java#getType (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.headers.offset import SearchOffsetResponseHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.offset import SearchOffsetRequestHeader5
from fakemq.protocol.v5.lite import lite_queue


@handles(table.SEARCH_OFFSET_BY_TIMESTAMP)
def search_offset_by_timestamp(
    broker: Broker5, request: Request[SearchOffsetRequestHeader5]
) -> Reply[SearchOffsetResponseHeader]:
    header, topic = request.header, request.header.topic
    lite = header.lite_topic
    if lite and broker.takes_lite(lite):
        topic = lite_queue(topic, lite) or ""
        if header.queue_id or not broker.store.max_offset_in_queue(topic, 0):
            return Reply(SearchOffsetResponseHeader(offset=0))
    offset = broker.store.boundary_in_queue_by_time(
        topic,
        header.queue_id,
        header.timestamp,
        upper=(header.boundary_type or "").upper() == "UPPER",
    )
    return Reply(SearchOffsetResponseHeader(offset=offset))
