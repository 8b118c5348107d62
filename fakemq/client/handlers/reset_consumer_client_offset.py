"""RESET_CONSUMER_CLIENT_OFFSET (220): continue at other offsets.

Behaviour: a push consumer of the group drops the queues in the body, and takes them again at their
new offsets 10 s later. There is no answer. A group without a push consumer in this client, and a
body that cannot be read, are logged.
Differs: the list that brokers send for C++ clients is read, too.

Source: client/impl/ClientRemotingProcessor.java#resetOffset (4.9.7)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fakemq.client.consuming.asked import ResetsOffsets, consumer_of
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.offset import ResetOffsetBody, ResetOffsetBodyForC
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices
    from fakemq.protocol.command import RemotingCommand

_log = logging.getLogger("fakemq.client")


def reset_consumer_client_offset(
    services: ClientServices, addr: str, request: RemotingCommand
) -> Task[None]:
    """Reset the offsets of a consumer."""
    try:
        header = ResetOffsetRequestHeader.decode(request.ext_fields)
        topic, group = header.topic, header.group
        offsets = _offsets(request.body)
    except ProtocolError as error:
        _log.warning("cannot read the offsets that %s resets: %s", addr, error)
        return
    consumer = consumer_of(services, group)
    if isinstance(consumer, ResetsOffsets):
        yield from consumer.reset_offsets(topic, offsets)
    else:
        _log.info("[reset-offset] consumer dose not exist. group=%s", group)


def _offsets(body: bytes) -> dict[MessageQueue, int]:
    if not body:
        return {}
    try:
        return ResetOffsetBody.decode(body).offset_table
    except ProtocolError:
        listed = ResetOffsetBodyForC.decode(body).offset_table
    return {
        MessageQueue(
            topic=one.topic, broker_name=one.broker_name, queue_id=one.queue_id
        ): one.offset
        for one in listed
    }
