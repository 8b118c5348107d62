"""Messages of clients, and the results of sending and pulling."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from fakemq.protocol import properties as names
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.message import MessageExt, decode_records, decompressed_body
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag

_COMPRESS_LEVEL = 5


class Message:
    """A message to send; text is encoded as UTF-8. ``keys`` are words joined by blanks.

    Source: common/message/Message.java (4.9.7)
    """

    __slots__ = ("body", "flag", "properties", "topic")

    def __init__(
        self,
        topic: str,
        body: bytes | str,
        *,
        tags: str = "",
        keys: str = "",
        flag: int = 0,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(body, str | bytes | bytearray | memoryview):
            raise TypeError(f"the body is {body!r}: expected bytes or text")
        self.topic = topic
        self.body = body.encode() if isinstance(body, str) else bytes(body)
        self.flag = flag
        self.properties = dict(properties or {})
        if tags:
            self.properties[names.TAGS] = tags
        if keys:
            self.properties[names.KEYS] = keys
        self.properties.setdefault(names.WAIT_STORE_MSG_OK, "true")

    @property
    def tags(self) -> str:
        return self.properties.get(names.TAGS, "")

    @property
    def keys(self) -> str:
        return self.properties.get(names.KEYS, "")

    @property
    def unique_id(self) -> str:
        """The id that the producer sets when it sends the message; empty until then."""
        return self.properties.get(names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX, "")

    def __repr__(self) -> str:
        return f"<message to {self.topic}, {len(self.body)} bytes, {self.properties}>"


class SendStatus(Enum):
    """How a send ended: stored, or stored but not flushed or replicated in time."""

    SEND_OK = ResponseCode.SUCCESS
    FLUSH_DISK_TIMEOUT = ResponseCode.FLUSH_DISK_TIMEOUT
    FLUSH_SLAVE_TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT
    SLAVE_NOT_AVAILABLE = ResponseCode.SLAVE_NOT_AVAILABLE


class SendResult(msgspec.Struct, frozen=True):
    """Where a message was stored. For a batch, ids are joined by commas; the offset is the first.

    Source: client/producer/SendResult.java (4.9.7)
    """

    status: SendStatus
    msg_id: str
    """The unique id that the producer set."""
    offset_msg_id: str
    """The id made of the broker's address and the record's place in its log."""
    queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    region_id: str = ""

    @property
    def message_id(self) -> str:
        """As ``msg_id``, by the name that received messages have too."""
        return self.msg_id

    @property
    def broker_name(self) -> str:
        return self.queue.broker_name or ""

    @property
    def queue_id(self) -> int:
        return self.queue.queue_id


class PullStatus(Enum):
    """How a pull ended."""

    FOUND = ResponseCode.SUCCESS
    NO_NEW_MSG = ResponseCode.PULL_NOT_FOUND
    NO_MATCHED_MSG = ResponseCode.PULL_RETRY_IMMEDIATELY
    OFFSET_ILLEGAL = ResponseCode.PULL_OFFSET_MOVED


class PullResult(msgspec.Struct, frozen=True):
    """The result of a pull, and the offset of the next one.

    Source: client/consumer/PullResult.java (4.9.7)
    """

    queue: MessageQueue
    status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    messages: list[MessageExt]
    suggest_which_broker_id: int = 0


def batch_body(messages: Iterable[Message]) -> bytes:
    """Return the body of a SEND_BATCH_MESSAGE; raise LocalProtocolError if it is impossible."""
    return encode_batch(
        BatchMember(
            one.body, encode_properties_as_java(one.properties).encode("utf-8", "replace"), one.flag
        )
        for one in messages
    )


def pulled_messages(data: bytes) -> list[MessageExt]:
    """Return the messages in the body of a pull or view, with their bodies decompressed."""
    messages = decode_records(data)
    for message in messages:
        message.body = decompressed_body(message)
    return messages


def compress(body: bytes) -> bytes:
    """Return a body as a 4.9.7 producer compresses it by default: zlib, level 5."""
    return zlib.compress(body, _COMPRESS_LEVEL)


class LocalTransactionState(Enum):
    """The result of a local transaction; after UNKNOW the broker asks again later.

    Source: client/producer/LocalTransactionState.java (4.9.7)
    """

    COMMIT_MESSAGE = MessageSysFlag.TRANSACTION_COMMIT_TYPE
    ROLLBACK_MESSAGE = MessageSysFlag.TRANSACTION_ROLLBACK_TYPE
    UNKNOW = MessageSysFlag.TRANSACTION_NOT_TYPE
