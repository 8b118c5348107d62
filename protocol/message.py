"""Messages as they are stored and pulled, and the records they are stored in.

A record's fields and their places are declared in layout/record.py.
"""

# Over 400 lines: records are built, checked and decoded beside the message that they hold.

from __future__ import annotations

import struct
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from fakemq.protocol.errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from fakemq.protocol.hosts import V6_HOST_BYTES, Host, pack_host, unpack_host
from fakemq.protocol.java import crc32, java_string_hash
from fakemq.protocol.layout.codecs import (
    RECORD_FIELDS,
    RECORD_LEAST_BYTES,
    RECORD_V6_MORE_BYTES,
    build_record,
    parse_record,
    parse_record_head,
)
from fakemq.protocol.message_id import create_offset_id
from fakemq.protocol.properties import (
    KEYS,
    PROPERTIES_MAX_BYTES,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    decode_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag, compression_name

Buffer: TypeAlias = bytes | bytearray | memoryview

MESSAGE_MAGIC_CODE: Final = -626843481
"""0xDAA320A7, in every record."""

BLANK_MAGIC_CODE: Final = -875286124
"""0xCBD43194, where the rest of a commit-log file is blank."""

BLANK_MIN_BYTES: Final = 8
"""Always left free at the end of a file, for the blank's own two fields."""

TOPIC_MAX_BYTES: Final = 127
"""As UTF-8; the length is an int8."""

LARGEST_RECORD_BYTES: Final = 8 << 20
"""Twice the default of maxMessageSize. Readers of logs expect no larger record; a broker with
another maxMessageSize may write one.
"""

_V6_FLAGS: Final = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6


class MessageExt:
    """A stored message. Treat it as a value: nothing watches for changes.

    ``body`` is as stored, compressed perhaps. ``commit_log_offset`` is the place of the record
    in the commit log, ``store_size_bytes`` its size.

    Source: common/message/MessageExt.java (4.9.7)
    """

    __slots__ = (
        "_properties",
        "body",
        "body_crc",
        "born_host",
        "born_timestamp_ms",
        "commit_log_offset",
        "flag",
        "prepared_transaction_offset",
        "properties_string",
        "queue_id",
        "queue_offset",
        "reconsume_times",
        "store_host",
        "store_size_bytes",
        "store_timestamp_ms",
        "sys_flag",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str,
        body: bytes,
        properties_string: str,
        queue_id: int,
        flag: int,
        queue_offset: int,
        commit_log_offset: int,
        sys_flag: int,
        body_crc: int,
        born_timestamp_ms: int,
        born_host: Host,
        store_timestamp_ms: int,
        store_host: Host,
        reconsume_times: int,
        prepared_transaction_offset: int,
        store_size_bytes: int,
    ) -> None:
        self.topic = topic
        self.body = body
        self.properties_string = properties_string
        self.queue_id = queue_id
        self.flag = flag
        self.queue_offset = queue_offset
        self.commit_log_offset = commit_log_offset
        self.sys_flag = sys_flag
        self.body_crc = body_crc
        self.born_timestamp_ms = born_timestamp_ms
        self.born_host = born_host
        self.store_timestamp_ms = store_timestamp_ms
        self.store_host = store_host
        self.reconsume_times = reconsume_times
        self.prepared_transaction_offset = prepared_transaction_offset
        self.store_size_bytes = store_size_bytes
        self._properties: dict[str, str] | None = None

    @property
    def properties(self) -> dict[str, str]:
        """The properties, in the order they are stored in."""
        if self._properties is None:
            self._properties = decode_properties(self.properties_string)
        return self._properties

    @property
    def tags(self) -> str | None:
        """The property TAGS."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> str | None:
        """The property KEYS, its words joined by blanks."""
        return self.properties.get(KEYS)

    @property
    def offset_msg_id(self) -> str:
        """The id that says where the message is stored."""
        return create_offset_id(self.store_host, self.commit_log_offset)

    @property
    def msg_id(self) -> str:
        """The id a client shows: the unique one if there is one, else the offset id.

        Source: common/message/MessageClientExt.java#getMsgId (4.9.7)
        """
        return self.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX) or self.offset_msg_id

    @property
    def physical_offset(self) -> int:
        """The old name of ``commit_log_offset``, for one release."""
        return self.commit_log_offset

    def __repr__(self) -> str:
        return (
            f"<message {self.topic}:{self.queue_id} offset {self.queue_offset}"
            f" at {self.commit_log_offset}, {len(self.body)} bytes>"
        )


# -- records ------------------------------------------------------------------------------------


def record_struct(*names: str) -> struct.Struct:
    """Return a struct that reads these fields of a record, in the record's order.

    Fields between them are skipped. Hosts before the last field must be IPv4 addresses.
    """
    form, at = ">", 0
    for name in names:
        offset, kind = RECORD_FIELDS[name]
        form += f"{offset - at}x{kind}"
        at = offset + struct.calcsize(f">{kind}")
    return struct.Struct(form)


def record_fields(*names: str) -> struct.Struct:
    """Return a struct of these fields of a record without what is between them."""
    return struct.Struct(">" + "".join([RECORD_FIELDS[name][1] for name in names]))


def record_starts(sys_flag: int) -> tuple[struct.Struct, struct.Struct]:
    """Return two structs of the fields before a record's body; hosts are as ``sys_flag`` says.

    The first is of the fields that are equal in all records of one put, from ``sys_flag`` on. The
    second is of all fields: of those before these, of these as one piece, and of ``body_bytes``.
    """
    v6_flags = {
        "born_host": MessageSysFlag.BORNHOST_V6,
        "store_host": MessageSysFlag.STOREHOSTADDRESS_V6,
    }
    names = list(RECORD_FIELDS)
    first, end = names.index("sys_flag"), names.index("body_bytes")
    kinds = [
        f"{V6_HOST_BYTES}s" if sys_flag & v6_flags.get(name, 0) else kind
        for name, (_, kind) in RECORD_FIELDS.items()
    ]
    equal = struct.Struct(">" + "".join(kinds[first:end]))
    return equal, struct.Struct(f">{''.join(kinds[:first])}{equal.size}s{kinds[end]}")


_SYS_FLAG: Final = record_struct("sys_flag")
_STORE_TIMESTAMP: Final = record_struct("store_timestamp")


def record_store_timestamp_ms(record: memoryview) -> int:
    """Return when a record was stored, in milliseconds; it has RECORD_LEAST_BYTES at least."""
    (sys_flag,) = _SYS_FLAG.unpack_from(record)
    more_bytes = RECORD_V6_MORE_BYTES if sys_flag & MessageSysFlag.BORNHOST_V6 else 0
    timestamp_ms: int = _STORE_TIMESTAMP.unpack_from(record, more_bytes)[0]
    return timestamp_ms


def record_size_bytes(
    sys_flag: int, body_bytes: int, topic_bytes: int, properties_bytes: int
) -> int:
    """Return the size of a record, whose hosts are as ``sys_flag`` says.

    Source: store/CommitLog.java#calMsgLength (4.9.7)
    """
    v6_hosts = (sys_flag & _V6_FLAGS).bit_count()
    return (
        RECORD_LEAST_BYTES
        + RECORD_V6_MORE_BYTES * v6_hosts
        + body_bytes
        + topic_bytes
        + properties_bytes
    )


def encode_record(
    topic: str,
    body: bytes,
    properties: str | bytes,
    *,
    queue_id: int,
    born_host: Host,
    store_host: Host,
    flag: int = 0,
    sys_flag: int = 0,
    queue_offset: int = 0,
    physical_offset: int = 0,
    born_timestamp_ms: int = 0,
    store_timestamp_ms: int = 0,
    reconsume_times: int = 0,
    prepared_transaction_offset: int = 0,
) -> bytes:
    """Return the record of a message, ready to be appended.

    The two IPv6 bits of ``sys_flag`` are set as the hosts demand. LocalProtocolError for what a
    record cannot carry: a topic over 127 bytes, properties over 32767, a host that is a name.

    Source: store/CommitLog.java#MessageExtEncoder.encode (4.9.7)
    """
    if isinstance(properties, str):
        properties = properties.encode("utf-8", "replace")
    born = pack_host(born_host)
    stored = pack_host(store_host)
    sys_flag &= ~_V6_FLAGS
    if len(born) == V6_HOST_BYTES:
        sys_flag |= MessageSysFlag.BORNHOST_V6
    if len(stored) == V6_HOST_BYTES:
        sys_flag |= MessageSysFlag.STOREHOSTADDRESS_V6
    return build_record(
        crc32(body),
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born_timestamp_ms,
        born,
        store_timestamp_ms,
        stored,
        reconsume_times,
        prepared_transaction_offset,
        body,
        topic.encode("utf-8", "replace"),
        properties,
    )


def readdressed(record: Buffer, topic: bytes, properties: bytes) -> bytes:
    """Return a whole record with another topic and other properties, and all else as it is.

    Raise as `decode_record` for what is none, and LocalProtocolError for what none can carry.
    """
    total_size, *_, old_topic, old_properties, end = parse_record(record)
    if total_size != end or end != len(record):
        raise RemoteProtocolError(f"a record of {len(record)} bytes says it has {total_size}")
    if len(topic) > TOPIC_MAX_BYTES or len(properties) > PROPERTIES_MAX_BYTES:
        raise LocalProtocolError(f"a topic of {len(topic)}, properties of {len(properties)} bytes")
    body_end = end - len(old_topic) - len(old_properties) - _LENGTHS.size
    changed = bytearray(record[:body_end])
    changed += _TOPIC_BYTES.pack(len(topic))
    changed += topic
    changed += _PROPERTIES_BYTES.pack(len(properties))
    changed += properties
    _SIZE.pack_into(changed, 0, len(changed))
    return bytes(changed)


_TOPIC_BYTES: Final = record_fields("topic_bytes")
_PROPERTIES_BYTES: Final = record_fields("properties_bytes")
_LENGTHS: Final = record_fields("topic_bytes", "properties_bytes")


def decode_record(data: Buffer, offset: int = 0) -> MessageExt:
    """Return the message of the record at ``offset``.

    Raises TruncatedError if the data end too early, RemoteProtocolError if there is no record, or
    one that lies about its size. Differs: Java's decoder looks neither at the magic nor the size.

    Source: common/message/MessageDecoder.java#decode (4.9.7)
    """
    (
        total_size,
        _,
        body_crc,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born_timestamp_ms,
        born_host,
        store_timestamp_ms,
        store_host,
        reconsume_times,
        prepared_transaction_offset,
        body,
        topic,
        properties,
        end,
    ) = parse_record(data, offset)
    if total_size != end - offset:
        raise RemoteProtocolError(
            f"a record of {end - offset} bytes at {offset} says it has {total_size}"
        )
    return MessageExt(
        topic=topic.decode("utf-8", "replace"),
        body=body,
        properties_string=properties.decode("utf-8", "replace"),
        queue_id=queue_id,
        flag=flag,
        queue_offset=queue_offset,
        commit_log_offset=physical_offset,
        sys_flag=sys_flag,
        body_crc=body_crc,
        born_timestamp_ms=born_timestamp_ms,
        born_host=unpack_host(born_host),
        store_timestamp_ms=store_timestamp_ms,
        store_host=unpack_host(store_host),
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_transaction_offset,
        store_size_bytes=total_size,
    )


def decode_records(data: Buffer) -> list[MessageExt]:
    """Return the messages in the body of a pull response: records without a gap.

    Raises as `decode_record` does. Differs: Java keeps what came before the first bad record.

    Source: common/message/MessageDecoder.java#decodes (4.9.7)
    """
    messages = []
    offset = 0
    while offset < len(data):
        message = _decode_plain_record(data, offset) if type(data) is bytes else None
        if message is None:
            message = decode_record(data, offset)
        offset += message.store_size_bytes
        messages.append(message)
    return messages


def decode_good_records(data: Buffer) -> list[MessageExt]:
    """Return the messages in records without a gap, and leave out those that are damaged.

    For example: a check of transactions continues behind a half message that rotted on the disk.
    Differs: Java keeps only what came before the first bad record.

    Source: common/message/MessageDecoder.java#decodes (4.9.7)
    """
    messages, view, offset = [], memoryview(data), 0
    while offset + _SIZE.size <= len(view):
        (size_bytes,) = _SIZE.unpack_from(view, offset)
        if not 0 < size_bytes <= len(view) - offset:
            break
        with suppress(ProtocolError, ValueError):
            messages.append(decode_record(view[offset : offset + size_bytes], 0))
        offset += size_bytes
    return messages


_SIZE: Final = record_struct("total_size")
_PLAIN_HEAD: Final = record_struct(
    *tuple(RECORD_FIELDS)[: tuple(RECORD_FIELDS).index("topic_bytes")]
)
"""Everything before the body, of a record with IPv4 addresses."""

_NEW: Final = MessageExt.__new__


def _decode_plain_record(data: bytes, offset: int) -> MessageExt | None:
    """Return the message of a record with IPv4 addresses; None for another, or a damaged one.

    A consumer spends much of its time here: this takes 40 % of what `decode_record` takes.
    """
    if len(data) - offset < RECORD_LEAST_BYTES:
        return None
    (
        total_size,
        magic_code,
        body_crc,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        sys_flag,
        born_timestamp_ms,
        born_host,
        store_timestamp_ms,
        store_host,
        reconsume_times,
        prepared_transaction_offset,
        body_bytes,
    ) = _PLAIN_HEAD.unpack_from(data, offset)
    end = offset + total_size
    body_at = offset + _PLAIN_HEAD.size
    topic_at = body_at + body_bytes + 1
    if magic_code != MESSAGE_MAGIC_CODE or sys_flag & _V6_FLAGS:
        return None
    if not body_at < topic_at < end <= len(data):
        return None
    topic_bytes = data[topic_at - 1]
    properties_at = topic_at + topic_bytes + 2
    if topic_bytes > TOPIC_MAX_BYTES or not 0 <= end - properties_at <= PROPERTIES_MAX_BYTES:
        return None
    if data[properties_at - 2] << 8 | data[properties_at - 1] != end - properties_at:
        return None
    message = _NEW(MessageExt)  # keyword arguments cost as much as all the rest
    message.topic = str(data[topic_at : topic_at + topic_bytes], "utf-8", "replace")
    message.body = data[body_at : topic_at - 1]
    message.properties_string = str(data[properties_at:end], "utf-8", "replace")
    message.queue_id = queue_id
    message.flag = flag
    message.queue_offset = queue_offset
    message.commit_log_offset = physical_offset
    message.sys_flag = sys_flag
    message.body_crc = body_crc
    message.born_timestamp_ms = born_timestamp_ms
    message.born_host = unpack_host(born_host)
    message.store_timestamp_ms = store_timestamp_ms
    message.store_host = unpack_host(store_host)
    message.reconsume_times = reconsume_times
    message.prepared_transaction_offset = prepared_transaction_offset
    message.store_size_bytes = total_size
    message._properties = None
    return message


def record_properties_bytes(data: Buffer, offset: int = 0) -> bytes:
    """Return the properties in the record at ``offset``, not decoded; raises as `decode_record`.

    Source: common/message/MessageDecoder.java#decodeProperties (4.9.7)
    """
    *_, properties, _ = parse_record(data, offset)
    return bytes(properties)


def record_properties(data: Buffer, offset: int = 0) -> dict[str, str]:
    """Return the properties in the record at ``offset``; raises as `decode_record` does."""
    return decode_properties(record_properties_bytes(data, offset).decode("utf-8", "replace"))


class RecordStatus(Enum):
    """What stands at a place in the commit log."""

    OK = "ok"
    BLANK = "blank"
    BAD = "bad"


class RecordCheck(NamedTuple):
    """What was found at a place in the commit log.

    ``size_bytes`` is a record's, or the whole blank's; 0 if BAD. ``reason`` says what is bad.
    """

    status: RecordStatus
    size_bytes: int
    message: MessageExt | None = None
    reason: str = ""


def check_record(data: Buffer, offset: int = 0, *, check_crc: bool = True) -> RecordCheck:
    """Return what stands at ``offset`` of a commit-log file; never raises.

    Differs: Java takes a body or properties of negative length for empty.

    Source: store/CommitLog.java#checkMessageAndReturnSize (4.9.7)
    """
    try:
        total_size, magic_code = parse_record_head(data, offset)
        if magic_code == BLANK_MAGIC_CODE:
            return RecordCheck(RecordStatus.BLANK, total_size)
        message = decode_record(data, offset)
    except RemoteProtocolError as error:
        return RecordCheck(RecordStatus.BAD, 0, reason=str(error))
    # Java sums no empty body.
    if check_crc and message.body and crc32(message.body) != message.body_crc:
        return RecordCheck(
            RecordStatus.BAD,
            0,
            reason=f"CRC {crc32(message.body):#x} of the body where {message.body_crc:#x} is said",
        )
    return RecordCheck(RecordStatus.OK, total_size, message)


# -- what is in them ----------------------------------------------------------------------------


LEAST_TAGS_CODE: Final = -(1 << 31)
"""In an entry of a queue, a lower one is the address of a unit in the extension of the queue.

Source: store/ConsumeQueueExt.java#isExtAddr (4.9.7)
"""
FIRST_EXTENSION_ADDRESS: Final = -(1 << 63)
"""The address of the first unit of an extension."""


def tags_code(tags: str | None) -> int:
    """Return what a consume-queue entry keeps of TAGS; 0 for none.

    Source: common/message/MessageExtBrokerInner.java#tagsString2tagsCode (4.9.7)
    """
    if not tags:
        return 0
    return _known_hash(tags) if len(tags) <= _KNOWN_TAGS_CHARS else java_string_hash(tags)


_known_hash: Final = lru_cache(maxsize=4096)(java_string_hash)
_KNOWN_TAGS_CHARS: Final = 100
"""Those of a longer text are worked out each time: a peer may send any number of them."""


def decompressed_body(message: MessageExt, at_most: int | None = None) -> bytes:
    """Return the body as the producer gave it.

    Raises RemoteProtocolError if it is not what sys_flag says or unpacks to over ``at_most`` bytes
    (by default 64 MiB), LocalProtocolError if it is LZ4 or ZSTD and the extra ``compress`` is not
    installed.

    Source: common/message/MessageDecoder.java#decode, common/compression (4.9.7)
    """
    if not message.sys_flag & MessageSysFlag.COMPRESSED:
        return message.body
    from fakemq.protocol.compression import unpack  # few messages are compressed

    try:
        return unpack(compression_name(message.sys_flag), message.body, at_most)
    except RemoteProtocolError as error:
        raise RemoteProtocolError(f"the body of {message!r} {error}") from error
