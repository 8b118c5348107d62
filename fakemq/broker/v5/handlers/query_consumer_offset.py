"""QUERY_CONSUMER_OFFSET (14): return how far a group has consumed a queue.

Behaviour: as in 4.9.7, but while a reset of the queue is pending, its offset is returned, and with
``setZeroIfNotFound=false`` a group without an offset never begins at 0. An empty queue has no
entry in memory.
Ignored: ``bname``.

Source: broker/processor/ConsumerManageProcessor.java#queryConsumerOffset,
broker/offset/ConsumerOffsetManager.java#queryOffset,
store/DefaultMessageStore.java#checkInMemByConsumeOffset (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.offset import QueryConsumerOffsetResponseHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.offset import QueryConsumerOffsetRequestHeader5


@handles(table.QUERY_CONSUMER_OFFSET)
def query_consumer_offset(
    broker: Broker5, request: Request[QueryConsumerOffsetRequestHeader5]
) -> Reply[QueryConsumerOffsetResponseHeader]:
    header = request.header
    topic, queue_id = header.topic, header.queue_id
    group = header.get("consumer_group", NULL)
    offset = broker.offset_resets.find(topic, group, queue_id)
    if offset is None or not broker.config.use_server_side_reset_offset:
        offset = broker.offsets.query(group, topic, queue_id)
    if offset < 0:
        if header.set_zero_if_not_found is False:
            raise Refused(
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, do not set to zero, maybe this group boot first",
            )
        is_empty = broker.store.queue_unit(topic, queue_id, 0) is None
        if is_empty or broker.offsets.first_boot_offset(topic, queue_id) is None:
            raise Refused(
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
            )
        offset = 0
    return Reply(QueryConsumerOffsetResponseHeader(offset=offset))
