"""VIEW_MESSAGE_BY_ID (33): return one stored message by its offset in the commit log.

Behaviour: the record is returned as it is stored. An offset inside a record returns the bytes that
lie there.

Source: broker/processor/QueryMessageProcessor.java#viewMessageById (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.query import ViewMessageRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.VIEW_MESSAGE_BY_ID)
def view_message_by_id(
    broker: Broker, request: Request[ViewMessageRequestHeader]
) -> Reply[NoHeader]:
    record = broker.store.select_one_message_by_offset(request.header.offset)
    if record is None:
        raise Refused(
            ResponseCode.SYSTEM_ERROR,
            f"can not find message by the offset, {request.header.offset}",
        )
    # Java writes the header by itself, in the server's own serialisation.
    return Reply(body=bytes(record), serialize_type=SerializeType.JSON)
