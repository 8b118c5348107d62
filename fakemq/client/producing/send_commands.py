"""Builds the requests of sends."""

from __future__ import annotations

from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message, compress
from fakemq.client.producing import namespace
from fakemq.client.producing.settings import ProducerSettings
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import RETRY_PREFIX

REPLY_MESSAGE_FLAG = "reply"
"""The message type of a reply. Source: common/MixAll.java (4.9.7)"""

_LONG_NAMES = {
    SendMessageRequestHeaderV2.wire_names.get(attribute, wire): wire
    for wire, attribute, _ in SendMessageRequestHeader.field_specs()
}
_FIRST_TRY: tuple[str, str | None] = ("0", None)
"""How often a message was consumed, and how often it may be."""
_COMPRESSED = int(MessageSysFlag.COMPRESSED | MessageSysFlag.COMPRESSION_ZLIB_TYPE)
_PREPARED = int(MessageSysFlag.TRANSACTION_PREPARED_TYPE)


class SendCommands:
    """The requests of one producer.

    Source: client/impl/producer/DefaultMQProducerImpl.java#sendKernelImpl,
    client/impl/MQClientAPIImpl.java#sendMessage (4.9.7)
    """

    def __init__(self, instance: ClientInstance, settings: ProducerSettings, group: str) -> None:
        self._instance = instance
        self._settings = settings
        self._group = group

    def set_unique_id(self, message: Message, now_ms: int) -> None:
        """Put a unique id into a message that has none.

        Source: common/message/MessageClientIDSetter.java#setUniqID (4.9.7)
        """
        if names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX not in message.properties:
            unique_id = self._instance.unique_ids.create(now_ms)
            message.properties[names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX] = unique_id

    def single(
        self, message: Message, topic: str, queue: MessageQueue, now_ms: int
    ) -> RemotingCommand:
        """Return the request that sends one message; ``topic`` is its name for the broker."""
        self.set_unique_id(message, now_ms)
        settings = self._settings
        properties, body, sys_flag = message.properties, message.body, 0
        if settings.namespace:
            properties[names.INSTANCE_ID] = settings.namespace
        if len(body) >= settings.compress_over_bytes:
            body = compress(body, settings.compress_level)
            sys_flag = _COMPRESSED
        if properties.get(names.TRANSACTION_PREPARED, "").lower() == "true":
            sys_flag |= _PREPARED
        retry = _FIRST_TRY
        if topic.startswith(RETRY_PREFIX):
            # They stay among the properties too, as those are encoded before in Java.
            retry = (
                str(int(properties.get(names.RECONSUME_TIME, "0"))),
                properties.get(names.MAX_RECONSUME_TIMES),
            )
        fields = self._fields(message, topic, queue, properties, sys_flag, retry, now_ms)
        is_reply = properties.get(names.MESSAGE_TYPE) == REPLY_MESSAGE_FLAG
        if not settings.smart_send:
            fields = {_LONG_NAMES[name]: text for name, text in fields.items()}
            code = RequestCode.SEND_REPLY_MESSAGE if is_reply else RequestCode.SEND_MESSAGE
        else:
            code = RequestCode.SEND_REPLY_MESSAGE_V2 if is_reply else RequestCode.SEND_MESSAGE_V2
        return self._command(code, fields, body)

    def batch(
        self, batch: Message, topic: str, queue: MessageQueue, now_ms: int
    ) -> RemotingCommand:
        """Return the request that sends a batch, whose body is encoded already."""
        properties = batch.properties
        if self._settings.namespace:
            properties[names.INSTANCE_ID] = self._settings.namespace
        fields = self._fields(batch, topic, queue, properties, 0, _FIRST_TRY, now_ms)
        fields["m"] = "true"
        return self._command(RequestCode.SEND_BATCH_MESSAGE, fields, batch.body)

    def _fields(
        self,
        message: Message,
        topic: str,
        queue: MessageQueue,
        properties: dict[str, str],
        sys_flag: int,
        retry: tuple[str, str | None],
        now_ms: int,
    ) -> dict[str, str]:
        """Return the fields of a SendMessageRequestHeaderV2.

        Written out here, because a header object costs as much as the rest of a send.
        """
        settings = self._settings
        reconsume_times, max_reconsume_times = retry
        fields = {
            "a": self._group,
            "b": topic,
            "c": settings.create_topic_key,
            "d": f"{settings.default_topic_queue_nums}",
            "e": f"{queue.queue_id}",
            "f": f"{sys_flag}",
            "g": f"{now_ms}",
            "h": f"{message.flag}",
            "i": encode_properties_as_java(properties),
            "j": reconsume_times,
            "k": "false",
            "m": "false",
        }
        if max_reconsume_times is not None:
            fields["l"] = str(int(max_reconsume_times))
        if queue.broker_name is not None:
            fields["n"] = queue.broker_name
        return fields

    def _command(self, code: int, fields: dict[str, str], body: bytes) -> RemotingCommand:
        config = self._instance.config
        return RemotingCommand(
            code,
            ext_fields=fields,
            body=body,
            language=config.language,
            version=config.version,
            serialize_type=config.serialize_type,
        )


def broker_topic(settings: ProducerSettings, topic: str) -> str:
    """Return the name of a topic in the namespace of a producer."""
    return namespace.wrap(settings.namespace, topic) if settings.namespace else topic
