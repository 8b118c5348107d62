"""CONSUME_MESSAGE_DIRECTLY (309): make one consumer consume one stored message now.

Behaviour: the broker finds the message by its offset id (the host in the id is ignored), sends it
to the consumer with the broker's name, and returns the consumer's answer.
Refused: as GET_CONSUMER_RUNNING_INFO; an invalid id, or an id without a message: SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#consumeMessageDirectly (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.broker.clients.relay import call_consumer
from fakemq.dispatch.answers import Parked, Request
from fakemq.dispatch.outcomes import required
from fakemq.protocol import table
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.headers.client import ConsumeMessageDirectlyResultRequestHeader
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.table import NoHeader


@handles(table.CONSUME_MESSAGE_DIRECTLY)
def consume_message_directly(
    broker: Broker, request: Request[ConsumeMessageDirectlyResultRequestHeader]
) -> Parked[NoHeader]:
    return consume_directly(broker, request)


def consume_directly(
    broker: Broker, request: Request[ConsumeMessageDirectlyResultRequestHeader]
) -> Parked[NoHeader]:
    """Pass the message that a request names on to its consumer."""
    header, command = request.header, request.command
    record = required(_record(broker, header.msg_id), "SelectMappedBufferResult", "size")
    command.ext_fields["brokerName"] = broker.config.broker_name
    command.body = bytes(record)
    return call_consumer(broker, command, header.consumer_group, header.client_id)


def _record(broker: Broker, message_id: str | None) -> memoryview | None:
    try:
        place = decode_offset_id(required(message_id, "String", "length"))
    except RemoteProtocolError:
        return None  # Java takes any text as an id, and fails when it reads the message
    return broker.store.select_one_message_by_offset(place.physical_offset)
