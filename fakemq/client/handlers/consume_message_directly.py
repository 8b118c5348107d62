"""CONSUME_MESSAGE_DIRECTLY (309): make a consumer consume one stored message now.

Behaviour: the body is a stored record. The listener is called with it, and what came of it is the
answer; nothing is committed or sent back.
Refused: a group that has no push consumer in this client, a body without a record: SYSTEM_ERROR.

Source: client/impl/ClientRemotingProcessor.java#consumeMessageDirectly (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.consuming.asked import ConsumesDirectly, consumer_of
from fakemq.client.handlers.get_consumer_running_info import not_here
from fakemq.client.messages import viewed_messages
from fakemq.client.tasks import Task
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import ConsumeMessageDirectlyResultRequestHeader

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices


def consume_message_directly(
    services: ClientServices, addr: str, request: RemotingCommand
) -> Task[RemotingCommand]:
    """Return what the listener made of the message."""
    header = ConsumeMessageDirectlyResultRequestHeader.decode(request.ext_fields)
    consumer = consumer_of(services, header.consumer_group)
    if not isinstance(consumer, ConsumesDirectly):
        return not_here(header.consumer_group)
    messages = viewed_messages(request.body)
    if not messages:
        return RemotingCommand(ResponseCode.SYSTEM_ERROR, remark="the body has no message")
    result = yield from consumer.consume_directly(messages[0], header.broker_name or "")
    return RemotingCommand(ResponseCode.SUCCESS, body=result.encode())
