"""GET_EARLIEST_MSG_STORETIME (32): return when the oldest message of a queue was stored.

Behaviour: -1 for a queue without messages.
Ignored: ``bname``.

Source: broker/processor/AdminBrokerProcessor.java#getEarliestMsgStoretime (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.offset import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
)


@handles(table.GET_EARLIEST_MSG_STORETIME)
def get_earliest_msg_storetime(
    broker: Broker, request: Request[GetEarliestMsgStoretimeRequestHeader]
) -> Reply[GetEarliestMsgStoretimeResponseHeader]:
    header = request.header
    timestamp = broker.store.earliest_message_time(header.topic, header.queue_id)
    return Reply(GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp))
