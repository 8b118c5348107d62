"""QUERY_MESSAGE (12): return messages of a topic by a key, their unique key, or their tags.

Behaviour: with ``indexType=T`` the key is the message's tags; any other type finds keys and unique
keys alike. Index files that 4.9.7 wrote have no tags.
Ignored: ``lastKey``, which is for a store in RocksDB.

Source: broker/processor/QueryMessageProcessor.java#queryMessage,
store/index/IndexService.java#queryOffset (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.query_message import found_by
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import NULL
from fakemq.protocol.header import parse_bool
from fakemq.protocol.headers.query import UNIQUE_MSG_QUERY_FLAG, QueryMessageResponseHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.query import QueryMessageRequestHeader5
from fakemq.store.index_build import tag_key

TAG_TYPE = "T"


@handles(table.QUERY_MESSAGE)
def query_message(
    broker: Broker5, request: Request[QueryMessageRequestHeader5]
) -> Steps[Reply[QueryMessageResponseHeader]]:
    header = request.header
    is_unique = parse_bool(request.command.ext_fields.get(UNIQUE_MSG_QUERY_FLAG, ""))
    key = header.get("key", NULL)
    if header.index_type == TAG_TYPE and not is_unique:
        key = tag_key(key)
    return (yield from found_by(broker, header, key, is_unique))
