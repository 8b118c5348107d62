"""A message as callers hand it to the store, and the drafts of its records.

Each send has both, so compiled code should know the places of their fields: they are plain classes.
Functions make them: in the interpreter a class with ``__init__`` takes twice as long.

Source: store/MessageExtBrokerInner.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.protocol.hosts import Host

if TYPE_CHECKING:
    from fakemq.journal.noted import Names
    from fakemq.protocol.message import MessageExt
    from fakemq.protocol.plain_properties import PlainProperties
    from fakemq.protocol.properties import PropertiesEncoder

LOCAL_HOST: Final[Host] = ("127.0.0.1", 0)


class InnerMessage:
    """A message, or a batch, that a caller asks the store to put.

    ``properties_string`` is what gets stored. ``properties`` is the same as a mapping; tags and
    keys are taken from there. Hosts are pairs of an IP address and a port. For `put_messages`,
    ``body`` is the batch as the client sent it, and each message of the batch gets the properties
    on top of its own. One that is ``plain`` has its properties in that form only: to read one of
    the other two is an AttributeError. The store may change a message that it is given: a delay
    level, for example, changes topic, queue and properties. `inner_message` makes one.
    """

    __slots__ = (
        "body",
        "born_host",
        "born_timestamp_ms",
        "flag",
        "plain",
        "prepared_transaction_offset",
        "properties",
        "properties_string",
        "queue_id",
        "reconsume_times",
        "store_host",
        "sys_flag",
        "topic",
        "wait_store_msg_ok",
    )

    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str]
    properties_string: str
    flag: int
    sys_flag: int
    born_timestamp_ms: int
    born_host: Host
    store_host: Host
    reconsume_times: int
    wait_store_msg_ok: bool
    prepared_transaction_offset: int
    plain: PlainProperties | None

    @classmethod
    def of(
        cls,
        stored: MessageExt,
        topic: str,
        queue_id: int,
        properties: dict[str, str],
        encode_properties: PropertiesEncoder,
    ) -> InnerMessage:
        """Return a copy of a stored message for another place; no caller waits for its flush.

        The properties are encoded at once: a later change of ``properties`` is not stored.
        ``encode_properties`` is that of the broker's reference.
        """
        return inner_message(
            topic,
            queue_id,
            stored.body,
            properties=properties,
            properties_string=encode_properties(properties),
            flag=stored.flag,
            sys_flag=stored.sys_flag,
            born_timestamp_ms=stored.born_timestamp_ms,
            born_host=stored.born_host,
            store_host=stored.store_host,
            reconsume_times=stored.reconsume_times,
            wait_store_msg_ok=False,
        )

    def __repr__(self) -> str:
        return f"<message for {self.topic}:{self.queue_id}, {len(self.body)} bytes>"


def inner_message(
    topic: str,
    queue_id: int,
    body: bytes,
    properties: dict[str, str] | None = None,
    properties_string: str = "",
    flag: int = 0,
    sys_flag: int = 0,
    born_timestamp_ms: int = 0,
    born_host: Host = LOCAL_HOST,
    store_host: Host = LOCAL_HOST,
    reconsume_times: int = 0,
    wait_store_msg_ok: bool = True,
    prepared_transaction_offset: int = 0,
    plain: PlainProperties | None = None,
) -> InnerMessage:
    """Return an `InnerMessage` with these fields."""
    message = InnerMessage()
    message.topic = topic
    message.queue_id = queue_id
    message.body = body
    message.plain = plain
    if plain is None:
        message.properties = {} if properties is None else properties
        message.properties_string = properties_string
    message.flag = flag
    message.sys_flag = sys_flag
    message.born_timestamp_ms = born_timestamp_ms
    message.born_host = born_host
    message.store_host = store_host
    message.reconsume_times = reconsume_times
    message.wait_store_msg_ok = wait_store_msg_ok
    message.prepared_transaction_offset = prepared_transaction_offset
    return message


RecordDraft: TypeAlias = "tuple[int, bytes, bytes, int, int, Names]"
"""The part of a record in which those of a batch differ, as plain values: a batch has many.

These are the flag, the body, the properties as they are stored, the bytes of the whole record, the
``tags_code`` of its `LogRecord`, and the unique id and keys that the client gave the message, as
the journal keeps them.
"""
