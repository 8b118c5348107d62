"""GET_CONSUMER_STATUS_FROM_CLIENT (221): how far a consumer has got.

Behaviour: answered with the offset of each queue of the topic; with none for a group that has no
push consumer in this client.

Source: client/impl/ClientRemotingProcessor.java#getConsumeStatus (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.consuming.asked import KnowsOffsets, consumer_of
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.offset import GetConsumerStatusBody
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import GetConsumerStatusRequestHeader

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices


def get_consumer_status_from_client(
    services: ClientServices, addr: str, request: RemotingCommand
) -> Task[RemotingCommand]:
    """Return the offsets of a consumer's queues."""
    yield from ()
    header = GetConsumerStatusRequestHeader.decode(request.ext_fields)
    consumer = consumer_of(services, header.group)
    body = GetConsumerStatusBody()
    if isinstance(consumer, KnowsOffsets):
        body.message_queue_table = consumer.consumed_offsets(header.topic)
    return RemotingCommand(ResponseCode.SUCCESS, body=body.encode())
