"""SEARCH_OFFSET_BY_TIMESTAMP (29): return the offset of the message stored nearest to a time.

Behaviour: a time between two messages finds the nearer one; a time after the last one finds the
last.
Ignored: ``bname``.

Source: broker/processor/AdminBrokerProcessor.java#searchOffsetByTimestamp (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.headers.offset import SearchOffsetRequestHeader, SearchOffsetResponseHeader


@handles(table.SEARCH_OFFSET_BY_TIMESTAMP)
def search_offset_by_timestamp(
    broker: Broker, request: Request[SearchOffsetRequestHeader]
) -> Reply[SearchOffsetResponseHeader]:
    header = request.header
    offset = broker.store.offset_in_queue_by_time(header.topic, header.queue_id, header.timestamp)
    return Reply(SearchOffsetResponseHeader(offset=offset))
