"""QUERY_MESSAGE (12): return messages of a topic by a key, or by their unique key.

Behaviour: the newest messages that the index has within the times, at most maxNum and
maxMsgsNumBatch, oldest first. A message with another key of the same hash is returned, too: clients
compare the keys again. With ``_UNIQUE_KEY_QUERY`` defaultQueryMaxNum replaces maxNum. A topic or
key that did not arrive is "null". If nothing is found: QUERY_NOT_FOUND.
Differs: a maxNum for which Java has not enough memory is answered.

Source: broker/processor/QueryMessageProcessor.java#queryMessage (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import NULL, list_capacity
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.query import (
    UNIQUE_MSG_QUERY_FLAG,
    QueryMessageRequestHeader,
    QueryMessageResponseHeader,
)


@handles(table.QUERY_MESSAGE)
def query_message(
    broker: Broker, request: Request[QueryMessageRequestHeader]
) -> Steps[Reply[QueryMessageResponseHeader]]:
    is_unique = request.command.ext_fields.get(UNIQUE_MSG_QUERY_FLAG) == "true"
    return (yield from found_by(broker, request.header, request.header.get("key", NULL), is_unique))


def found_by(
    broker: Broker, header: QueryMessageRequestHeader, key: str, is_unique: bool
) -> Steps[Reply[QueryMessageResponseHeader]]:
    """Answer with the messages of a key of the index, which may be a unique one."""
    max_num = broker.config.default_query_max_num if is_unique else header.max_num
    begin_ms, end_ms = header.begin_timestamp, header.end_timestamp  # null fails before the number
    result = yield from broker.store.query_message(
        header.get("topic", NULL), key, list_capacity(max_num), begin_ms, end_ms
    )
    answer = QueryMessageResponseHeader(
        index_last_update_timestamp=result.index_last_update_timestamp,
        index_last_update_phyoffset=result.index_last_update_phyoffset,
    )
    if not result.buffers:
        return Reply(
            answer,
            code=ResponseCode.QUERY_NOT_FOUND,
            remark="can not find message, maybe time range not correct",
        )
    # Java writes the header by itself, in the server's own serialisation.
    return Reply(answer, body=result.body, serialize_type=SerializeType.JSON)
