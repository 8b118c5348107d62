"""Builds the requests of sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
PLAIN_FIELDS_MAX = 1_024
"""Of how many topics the fields are kept: a program may send to any number of topics."""

# Plain numbers, which cost less than members of an Enum, to find and to encode.
_SEND, _SEND_V2 = int(RequestCode.SEND_MESSAGE), int(RequestCode.SEND_MESSAGE_V2)
_SEND_REPLY = int(RequestCode.SEND_REPLY_MESSAGE)
_SEND_REPLY_V2 = int(RequestCode.SEND_REPLY_MESSAGE_V2)
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
        self._plain_fields: dict[str, dict[str, str]] = {}
        """By topic."""

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
        settings, properties = self._settings, message.properties
        body, sys_flag = message.body, 0
        if settings.namespace:
            properties[names.INSTANCE_ID] = settings.namespace
        if len(body) >= settings.compress_over_bytes:
            body = compress(body, settings.compress_level)
            sys_flag = _COMPRESSED
        if properties.get(names.TRANSACTION_PREPARED, "").lower() == "true":
            sys_flag |= _PREPARED
        fields = self._fields(message, topic, queue, now_ms)
        if sys_flag:
            fields["f"] = f"{sys_flag}"
        if topic.startswith(RETRY_PREFIX):
            # They stay among the properties too, as those are encoded before in Java.
            fields["j"] = f"{int(properties.get(names.RECONSUME_TIME, '0'))}"
            if (times := properties.get(names.MAX_RECONSUME_TIMES)) is not None:
                fields["l"] = f"{int(times)}"
        if queue.broker_name is not None:
            fields["n"] = queue.broker_name
        is_reply = properties.get(names.MESSAGE_TYPE) == REPLY_MESSAGE_FLAG
        if not settings.smart_send:
            fields = {_LONG_NAMES[name]: text for name, text in fields.items()}
            code = _SEND_REPLY if is_reply else _SEND
        else:
            code = _SEND_REPLY_V2 if is_reply else _SEND_V2
        return self._command(code, fields, body)

    def batch(
        self, batch: Message, topic: str, queue: MessageQueue, now_ms: int
    ) -> RemotingCommand:
        """Return the request that sends a batch, whose body is encoded already."""
        if self._settings.namespace:
            batch.properties[names.INSTANCE_ID] = self._settings.namespace
        fields = self._fields(batch, topic, queue, now_ms)
        fields["m"] = "true"
        if queue.broker_name is not None:
            fields["n"] = queue.broker_name
        return self._command(RequestCode.SEND_BATCH_MESSAGE, fields, batch.body)

    def _fields(
        self, message: Message, topic: str, queue: MessageQueue, now_ms: int
    ) -> dict[str, str]:
        """Return the fields of a SendMessageRequestHeaderV2, those of every message to a queue.

        They are copied from those of the topic, because a header object costs as much as the rest
        of a send.
        """
        fields = self._plain_fields.get(topic)
        if fields is None:
            fields = self._make_plain_fields(topic)
        fields = fields.copy()
        fields["e"] = f"{queue.queue_id}"
        fields["g"] = f"{now_ms}"
        if message.flag:
            fields["h"] = f"{message.flag}"
        fields["i"] = encode_properties_as_java(message.properties)
        return fields

    def _make_plain_fields(self, topic: str) -> dict[str, str]:
        """Return the fields of a message without flags; remember them."""
        if len(self._plain_fields) >= PLAIN_FIELDS_MAX:
            self._plain_fields.clear()
        fields = self._plain_fields[topic] = {
            "a": self._group,
            "b": topic,
            "c": self._settings.create_topic_key,
            "d": f"{self._settings.default_topic_queue_nums}",
            "e": "",
            "f": "0",
            "g": "",
            "h": "0",
            "i": "",
            "j": "0",
            "k": "false",
            "m": "false",
        }
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


# Splits a long list of messages into batches that a broker takes.
#
# Source: example/batch/SplitBatchProducer.java#ListSplitter (4.9.7)

RECORD_BYTES = 126
"""What a broker stores of a message besides its body, topic and properties: the fields of a record,
two IPv6 hosts, and the properties of the batch, which each of its records has."""

UNIQUE_ID_BYTES = 66
"""The property with a unique id, which a message gets with its first send."""


def stored_bytes(message: Message) -> int:
    """Return the most that a message of a batch takes in a broker's log, without a namespace.

    Differs: Java's example counts characters and less around them, so that a batch of many short
    messages may be larger than what it is split for.
    """
    properties = encode_properties_as_java(message.properties)
    return (
        RECORD_BYTES
        + (0 if message.unique_id else UNIQUE_ID_BYTES)
        + len(message.topic.encode("utf-8", "replace"))
        + len(message.body)
        + len(properties.encode("utf-8", "replace"))
    )


def split(messages: Sequence[Message], limit_bytes: int) -> Iterator[Sequence[Message]]:
    """Yield the messages in their order, in batches of at most ``limit_bytes``.

    A message that is larger is a batch of its own: the broker says what it thinks of it.
    """
    first = size = 0
    for index, message in enumerate(messages):
        added = stored_bytes(message)
        if index > first and size + added > limit_bytes:
            yield messages[first:index]
            first, size = index, 0
        size += added
    if first < len(messages):
        yield messages[first:]
