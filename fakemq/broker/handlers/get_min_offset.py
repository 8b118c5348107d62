"""GET_MIN_OFFSET (31): return the offset of the oldest message of a queue.

Ignored: ``bname``.

Source: broker/processor/AdminBrokerProcessor.java#getMinOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.offset import GetMinOffsetRequestHeader, GetMinOffsetResponseHeader


@handles(table.GET_MIN_OFFSET)
def get_min_offset(
    broker: Broker, request: Request[GetMinOffsetRequestHeader]
) -> Reply[GetMinOffsetResponseHeader]:
    header = request.header
    offset = broker.store.min_offset_in_queue(header.topic, header.queue_id)
    return Reply(GetMinOffsetResponseHeader(offset=offset))
