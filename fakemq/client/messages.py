"""Messages of clients, and the results of sending and pulling."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from reprlib import Repr
from typing import TYPE_CHECKING, Never

import msgspec

from fakemq.config import checked
from fakemq.config.checked import whole
from fakemq.errors import ArgumentError
from fakemq.protocol import properties as names
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.java import INT_MAX, LONG_MAX
from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES
from fakemq.protocol.message import MessageExt, decode_records, decompressed_body
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag

if TYPE_CHECKING:
    from fakemq.clock.durations import Duration

_log = logging.getLogger("fakemq.client")

_COMPRESS_LEVEL = 5

UNPACKED_MAX_BYTES = 4 * MESSAGE_BODY_MAX_BYTES
"""The compressed bodies of one answer, unpacked. Java has no limit."""


class Message:
    """A message to send: ``Message("orders", b"paid", tags="eu", keys=["o-1", "c-7"])``.

    Text is encoded as UTF-8. ``tags`` is one tag, by which consumers filter. ``keys`` are words by
    which a message can be found: text with blanks between them, or several texts. ``delay_level``
    n delays it by the broker's n-th time (by default 1 s, 5 s, 10 s, 30 s, 1 min … 2 h); 0 not.
    ``delay`` chooses the level by its default time, such as ``"30m"``.
    ``properties`` are yours; consumers filter by them, too (`fakemq.client.SQL`).

    Source: common/message/Message.java (4.9.7)
    """

    __slots__ = ("body", "flag", "properties", "topic")

    def __init__(
        self,
        topic: str,
        body: bytes | str,
        *unnamed: Never,
        tags: str = "",
        keys: str | Iterable[str] = "",
        delay_level: int = 0,
        delay: Duration | None = None,
        flag: int = 0,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        if unnamed:
            raise unnamed_error(unnamed)
        _check_topic(topic)
        self.topic = topic
        self.body = body if type(body) is bytes else _own_bytes(body)
        self.flag = flag
        self.properties = {} if properties is None else _own_properties(properties)
        if tags:
            self.properties[names.TAGS] = tags
        if keys:
            self.properties[names.KEYS] = _joined_keys(keys)
        if self.properties:
            _check_properties(self.properties.items())
        if delay is not None:
            if delay_level:
                raise ArgumentError("delay and delay_level: expected one of them")
            delay_level = level_of(delay)
        if delay_level:
            self.delay_level = delay_level
        self.properties.setdefault(names.WAIT_STORE_MSG_OK, "true")

    @property
    def tags(self) -> str:
        return self.properties.get(names.TAGS, "")

    @tags.setter
    def tags(self, tags: str) -> None:
        self._set(names.TAGS, tags)

    @property
    def keys(self) -> str:
        return self.properties.get(names.KEYS, "")

    @keys.setter
    def keys(self, keys: str) -> None:
        self._set(names.KEYS, keys)

    def _set(self, name: str, value: str) -> None:
        self.properties.pop(name, None)
        if value:
            _check_properties([(name, value)])
            self.properties[name] = value

    @property
    def delay_level(self) -> int:
        """The number of the broker's delay level; 0 for a message that is delivered at once."""
        text = self.properties.get(names.DELAY_TIME_LEVEL, "")
        return int(text) if text.isdecimal() and len(text) < 11 else 0

    @delay_level.setter
    def delay_level(self, level: int) -> None:
        whole("delay_level", level, 0, INT_MAX)
        self.properties[names.DELAY_TIME_LEVEL] = str(level)

    @property
    def unique_id(self) -> str:
        """The id that the producer sets when it sends the message; empty until then."""
        return self.properties.get(names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX, "")

    def require_valid(self) -> None:
        """Raise TypeError for what was changed, since this message was made, into what it cannot
        have. A producer calls this before it sends."""
        if type(self.body) is not bytes:
            raise ArgumentError(f"the body is {self.body!r}: expected bytes")
        _check_topic(self.topic)
        if type(self.properties) is not dict:
            raise ArgumentError(f"properties={self.properties!r}: expected a dict of texts")
        _check_properties(self.properties.items())

    def __repr__(self) -> str:
        return f"<message to {self.topic}, {len(self.body)} bytes, {self.properties}>"


def level_of(delay: Duration) -> int:
    """Return the delay level that waits for ``delay`` by default; ConfigError if none does."""
    from fakemq.clock.durations import span_ms  # few messages are delayed
    from fakemq.protocol.delay_levels import DEFAULT_DELAY_LEVELS, parse_delay_levels

    levels = parse_delay_levels(DEFAULT_DELAY_LEVELS)
    return checked.delay_level(span_ms(delay, name="delay"), delay, levels)


_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 60


def require_message(*given: object) -> None:
    """Raise ArgumentError unless the first argument of a send is a message, and the only one."""
    if not given:
        return  # it has a name
    if len(given) == 1 and type(given[0]) is Message:
        return
    message, unnamed = given[0], given[1:]
    if unnamed and isinstance(message, str):
        made = f"Message({message!r}, {_REPR.repr(unnamed[0])})"
        raise ArgumentError(f"expected one Message, such as {made}, not a topic and a body")
    if not isinstance(message, Message):
        raise ArgumentError(f"expected a Message, not {_REPR.repr(message)}")
    if unnamed:
        raise unnamed_error(unnamed)


def unnamed_error(unnamed: Sequence[object]) -> ArgumentError:
    """Return the error for arguments without names behind those that may have none."""
    value = _REPR.repr(unnamed[0])
    return ArgumentError(f"{value}: expected it by its name, such as tags={value}")


def _check_topic(topic: object) -> None:
    if not isinstance(topic, str):
        raise ArgumentError(f"topic={topic!r}: expected text")
    if not topic.isascii():
        checked.utf8("topic", topic)


def _own_bytes(body: object) -> bytes:
    if not isinstance(body, str | bytes | bytearray | memoryview):
        raise ArgumentError(f"the body is {body!r}: expected bytes or text")
    return checked.utf8("the body", body) if isinstance(body, str) else bytes(body)


def _own_properties(properties: object) -> dict[str, str]:
    if not isinstance(properties, Mapping):
        raise ArgumentError(f"properties={properties!r}: expected names and values, both text")
    return dict(properties)


def _joined_keys(keys: object) -> str:
    if isinstance(keys, str):
        return keys
    several: list[str] = []
    for key in keys if isinstance(keys, Iterable) else [keys]:
        if not isinstance(key, str):
            raise ArgumentError(f"keys={keys!r}: expected text, or several texts")
        several.append(key)
    return names.KEY_SEPARATOR.join(several)


_ARGUMENTS: dict[object, str] = {names.TAGS: "tags", names.KEYS: "keys"}


def _check_properties(properties: Iterable[tuple[object, object]]) -> None:
    """Raise TypeError for what is no text, or would be read as further properties or as none.

    Source: common/message/Message.java#putUserProperty (4.9.7)
    """
    for name, value in properties:
        if not isinstance(name, str) or not isinstance(value, str):
            if isinstance(name, str) and name in _ARGUMENTS:
                raise ArgumentError(f"{_ARGUMENTS[name]}={value!r}: expected text")
            raise ArgumentError(f"properties has {name!r}: {value!r}: expected text for both")
        if not (name.isascii() and value.isascii()):
            checked.utf8(_ARGUMENTS.get(name, f"properties has {name!r}: its name"), name)
            checked.utf8(_ARGUMENTS.get(name, f"properties has {name!r}: its value"), value)
        if "\x01" in value or "\x02" in value or "\x01" in name or "\x02" in name:
            raise ArgumentError(
                f"{_ARGUMENTS.get(name, 'properties')} has {name!r}: {value!r}: expected text"
                " without \\x01 and \\x02, which separate properties"
            )
        if not name or not value:
            raise ArgumentError(
                f"properties has {name!r}: {value!r}: expected neither to be empty, since a broker"
                " drops such a property"
            )


class SendStatus(str, Enum):  # noqa: UP042  # a StrEnum prints without its type
    """How a send ended: stored, or stored but not flushed or replicated in time.

    Each equals its name, too: ``result.status == "SEND_OK"``.
    """

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


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
    trace_on: bool = True
    """Whether the broker wants traces of messages."""
    recall_handle: str | None = None
    """Of a timer message at a broker of 5.5.0: what `Producer.recall_message` takes."""

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


def viewed_messages(data: bytes) -> list[MessageExt]:
    """Return the messages in the body of a view or query, with their bodies decompressed.

    Raise RemoteProtocolError for a record or body that cannot be read, for an offset behind which
    no other can be committed, and for bodies that unpack to over `UNPACKED_MAX_BYTES`.
    """
    return _unpacked(decode_records(data), left_out=None)


def pulled_messages(data: bytes, broker_name: str) -> list[MessageExt]:
    """Return the messages in the body of a pull or pop, with their bodies decompressed.

    A message whose body cannot be unpacked, or unpacks to over 64 MiB, is left out and logged: the
    consumer continues behind it. Otherwise raise as `viewed_messages` does.

    Differs: Java leaves out all messages behind it in the same answer as well, and logs no place.
    Source: common/message/MessageDecoder.java#decode, #decodes (4.9.7)
    """

    def left_out(message: MessageExt, error: RemoteProtocolError) -> None:
        _log.error(
            "a message is left out, topic=%s, broker=%s, queueId=%d, queueOffset=%d: %s",
            message.topic,
            broker_name,
            message.queue_id,
            message.queue_offset,
            error,
        )

    return _unpacked(decode_records(data), left_out)


def _unpacked(
    messages: list[MessageExt],
    left_out: Callable[[MessageExt, RemoteProtocolError], None] | None,
) -> list[MessageExt]:
    """Decompress the bodies; raise if one cannot be, or tell ``left_out`` and leave it out.

    The limit of the whole answer always raises: the messages over it may be good.
    """
    unpacked = []
    left_bytes = UNPACKED_MAX_BYTES
    for message in messages:
        if not 0 <= message.queue_offset < LONG_MAX:
            raise RemoteProtocolError(f"{message!r} has an offset that no queue has")
        if message.sys_flag & MessageSysFlag.COMPRESSED:
            try:
                message.body = decompressed_body(message, min(left_bytes, MESSAGE_BODY_MAX_BYTES))
            except RemoteProtocolError as error:
                if left_out is None or left_bytes < MESSAGE_BODY_MAX_BYTES:
                    raise
                left_out(message, error)
                continue
            left_bytes -= len(message.body)
        unpacked.append(message)
    return unpacked


def compress(body: bytes, level: int = _COMPRESS_LEVEL) -> bytes:
    """Return a body as a 4.9.7 producer compresses it by default: zlib, level 5."""
    return zlib.compress(body, level)


class LocalTransactionState(Enum):
    """The result of a local transaction; after UNKNOW the broker asks again later.

    Source: client/producer/LocalTransactionState.java (4.9.7)
    """

    COMMIT_MESSAGE = MessageSysFlag.TRANSACTION_COMMIT_TYPE
    ROLLBACK_MESSAGE = MessageSysFlag.TRANSACTION_ROLLBACK_TYPE
    UNKNOW = MessageSysFlag.TRANSACTION_NOT_TYPE
