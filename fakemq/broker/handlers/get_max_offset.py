"""GET_MAX_OFFSET (30): return the offset that the next message of a queue will get.

Behaviour: 0 for a queue that does not exist.
Ignored: ``bname``.

Source: broker/processor/AdminBrokerProcessor.java#getMaxOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.offset import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader


@handles(table.GET_MAX_OFFSET)
def get_max_offset(
    broker: Broker, request: Request[GetMaxOffsetRequestHeader]
) -> Reply[GetMaxOffsetResponseHeader]:
    header = request.header
    offset = broker.store.max_offset_in_queue(header.topic, header.queue_id)
    return Reply(GetMaxOffsetResponseHeader(offset=offset))
