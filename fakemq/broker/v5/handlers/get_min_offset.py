"""GET_MIN_OFFSET (31): return the offset of the oldest message of a queue.

Behaviour: as in 4.9.7, with an empty remark.
Refused: no topic or no queue: SYSTEM_ERROR, with the text of Java's exception alone.
Ignored: ``bname``.

Source: broker/processor/AdminBrokerProcessor.java#getMinOffset (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.offset import GetMinOffsetRequestHeader, GetMinOffsetResponseHeader

_TEXTS = {
    "topic": 'Cannot invoke "Object.hashCode()" because "key" is null',
    "queue_id": 'Cannot invoke "java.lang.Integer.intValue()" because the return value of'
    ' "org.apache.rocketmq.remoting.protocol.header.GetMinOffsetRequestHeader.getQueueId()"'
    " is null",
}
"""What Java says about a field that did not arrive."""


@handles(table.GET_MIN_OFFSET)
def get_min_offset(
    broker: Broker5, request: Request[GetMinOffsetRequestHeader]
) -> Reply[GetMinOffsetResponseHeader]:
    for field, text in _TEXTS.items():
        if request.header.get(field, None) is None:
            raise Refused(ResponseCode.SYSTEM_ERROR, text)
    offset = broker.store.min_offset_in_queue(request.header.topic, request.header.queue_id)
    return Reply(GetMinOffsetResponseHeader(offset=offset), remark="")
