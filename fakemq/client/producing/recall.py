"""The recall of a timer message, which only brokers of RocketMQ 5 know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.errors import MQClientError, RemotingCommandError
from fakemq.client.operation import ask_ok
from fakemq.client.producing.group_names import require_topic_to_send
from fakemq.client.producing.send_commands import broker_topic
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.timer import (
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
)

if TYPE_CHECKING:
    from fakemq.client.instance import ClientInstance
    from fakemq.client.producing.settings import ProducerSettings
    from fakemq.client.tasks import Task


def recall_message(
    instance: ClientInstance,
    settings: ProducerSettings,
    group: str,
    topic: str,
    recall_handle: str,
) -> Task[str]:
    """Delete a timer message before it is delivered; return its unique id.

    Source: client/impl/producer/DefaultMQProducerImpl.java#recallMessage (5.5.0)
    """
    topic = broker_topic(settings, topic)
    require_topic_to_send(topic)
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        raise MQClientError("topic is not supported")
    try:
        handle = RecallHandle.decode(recall_handle)
    except ValueError as error:
        raise MQClientError(f"{error}: {recall_handle!r}; see SendResult.recall_handle") from None
    addr = instance.routes.master_addr(handle.broker_name)
    if addr is None:
        yield from instance.update_route(topic)
        addr = instance.routes.master_addr(handle.broker_name)
    if addr is None:
        raise MQClientError(f"The broker service address not found: {handle.broker_name}")
    header = RecallMessageRequestHeader(
        topic=topic,
        recall_handle=recall_handle,
        producer_group=group,
        bname=handle.broker_name,
    )
    command = instance.command(RequestCode5.RECALL_MESSAGE, header)
    response = yield from ask_ok(instance.asked_addr(addr), command, settings.send_timeout_ms)
    try:
        return RecallMessageResponseHeader.decode(response.ext_fields).msg_id
    except ProtocolError as error:
        raise RemotingCommandError(addr, error) from error
