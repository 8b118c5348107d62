"""Sends messages back that could not be consumed, to be tried again later.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#sendMessageBack (4.9.7)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from fakemq.client.consuming.received import DEAD_LETTER, ReceivedMessage
from fakemq.client.messages import Message
from fakemq.client.operation import ask_ok
from fakemq.client.producing import namespace
from fakemq.client.send_operations import SendOperations
from fakemq.client.tasks import Task
from fakemq.config.checked import whole
from fakemq.errors import ConfigError, FakemqError
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.topics import retry_topic

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

CLIENT_INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
"""Source: common/MixAll.java (4.9.7)"""

TIMEOUT_MS = 5_000
FIRST_RETRY_LEVEL = 3


class HasNamespace(Protocol):
    """The settings of any consumer."""

    @property
    def namespace(self) -> str: ...


class SendsBack(Protocol):
    """What is needed of a consumer, push or pull. ``group`` is in its namespace."""

    group: str

    @property
    def services(self) -> ClientServices: ...
    @property
    def settings(self) -> HasNamespace: ...
    @property
    def max_reconsume_times(self) -> int: ...


class SendingBack:
    """Sends the messages of one consumer back."""

    def __init__(self, context: SendsBack) -> None:
        self._context = context
        self._instance = context.services.instance
        self._sends = SendOperations(self._instance, CLIENT_INNER_PRODUCER_GROUP)

    def send_back(self, message: ReceivedMessage, level: int) -> Task[bool]:
        """Send a message back with a delay level; return whether a broker has it.

        If the broker that stored it does not take it, it is sent to the retry topic as a new
        message, which another broker may take.
        """
        try:
            yield from self._ask_broker(message, level)
            return True
        except Exception as error:
            self._log_failure(error)
        return (yield from self.to_retry_topic(message, message.reconsume_times + 1))

    def to_dead_letters(self, message: ReceivedMessage) -> Task[bool]:
        """Make a message a dead letter now; return whether it is one."""
        try:
            yield from self._ask_broker(message, DEAD_LETTER)
            return True
        except Exception as error:
            self._log_failure(error)
            return False

    def _ask_broker(self, message: ReceivedMessage, level: int) -> Task[None]:
        """Source: client/impl/MQClientAPIImpl.java#consumerSendMessageBack (4.9.7)"""
        context, instance = self._context, self._instance
        stored_in = MessageQueue(
            topic=message.stored.topic, broker_name=message.broker_name, queue_id=message.queue_id
        )
        addr = yield from instance.master_addr(stored_in)
        header = ConsumerSendMsgBackRequestHeader(
            group=context.group,
            origin_topic=self._full_topic(message),
            offset=message.stored.commit_log_offset,
            delay_level=level,
            origin_msg_id=message.message_id,
            max_reconsume_times=context.max_reconsume_times,
            bname=message.broker_name,
        )
        command = instance.command(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        yield from ask_ok(instance.asked_addr(addr), command, TIMEOUT_MS)

    def to_retry_topic(self, message: ReceivedMessage, reconsume_times: int) -> Task[bool]:
        """Send a message to the group's retry topic; return whether a broker has it.

        The broker makes it a dead letter when ``reconsume_times`` is the maximum.

        Differs: the message keeps the id of its origin also where Java loses it.

        Source: also ConsumeMessageOrderlyService.java#sendMessageBack (4.9.7)
        """
        stored, context = message.stored, self._context
        properties = dict(message.properties)
        properties.pop(names.TRANSACTION_PREPARED, None)
        if not properties.get(names.ORIGIN_MESSAGE_ID, "").strip():
            properties[names.ORIGIN_MESSAGE_ID] = message.message_id
        properties[names.RETRY_TOPIC] = self._full_topic(message)
        properties[names.RECONSUME_TIME] = str(reconsume_times)
        properties[names.MAX_RECONSUME_TIMES] = str(context.max_reconsume_times)
        properties[names.DELAY_TIME_LEVEL] = str(FIRST_RETRY_LEVEL + message.reconsume_times)
        again = Message(retry_topic(context.group), message.body, flag=stored.flag)
        again.properties = properties  # without WAIT, unless the stored message has it
        try:
            yield from self._sends.send(again)
            return True
        except Exception as error:
            self._log_failure(error)
            return False

    def _log_failure(self, error: Exception) -> None:
        """Also an error that none expects is a failure: the message is consumed again, here."""
        unexpected = not isinstance(error, FakemqError)
        _log.error(
            "sendMessageBack exception, group: %s: %s",
            self._context.group,
            error,
            exc_info=unexpected,
        )

    def _full_topic(self, message: ReceivedMessage) -> str:
        return namespace.wrap(self._context.settings.namespace, message.topic)


def require_sent_back(message: object, delay_level: int) -> None:
    """Raise ConfigError for what cannot be sent back."""
    if not isinstance(message, ReceivedMessage):
        raise ConfigError(f"message={message!r}: expected one that was pulled")
    whole("delay_level", delay_level, DEAD_LETTER, INT_MAX)
