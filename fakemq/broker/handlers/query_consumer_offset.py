"""QUERY_CONSUMER_OFFSET (14): return how far a group has consumed a queue.

Behaviour: a group without an offset begins at 0 while entry 0 counts as in memory; else the code is
QUERY_NOT_FOUND (22).
Ignored: ``bname``.

Source: broker/processor/ConsumerManageProcessor.java#queryConsumerOffset (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.offset import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
)


@handles(table.QUERY_CONSUMER_OFFSET)
def query_consumer_offset(
    broker: Broker, request: Request[QueryConsumerOffsetRequestHeader]
) -> Reply[QueryConsumerOffsetResponseHeader]:
    header = request.header
    group, topic = header.get("consumer_group", NULL), header.get("topic", NULL)
    offset: int | None = broker.offsets.query(group, topic, header.queue_id)
    if offset is not None and offset < 0:
        offset = broker.offsets.first_boot_offset(header.topic, header.queue_id)
    if offset is None:
        raise Refused(
            ResponseCode.QUERY_NOT_FOUND,
            "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
        )
    return Reply(QueryConsumerOffsetResponseHeader(offset=offset))
