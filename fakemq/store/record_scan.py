"""Reads and checks one record of a log file for recovery, fast: a million records in seconds.

There are two cases: 1. A usual record is read in one straight pass. 2. Anything else is read again
by `check_record`, which finds what is wrong.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.java import crc32
from fakemq.protocol.layout.codecs import RECORD_LEAST_BYTES
from fakemq.protocol.message import (
    MESSAGE_MAGIC_CODE,
    TOPIC_MAX_BYTES,
    RecordStatus,
    check_record,
    record_size_bytes,
    record_struct,
    tags_code,
)
from fakemq.protocol.properties import PROPERTY_SEPARATOR, TAGS, decode_properties
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.store.records import LogRecord

if TYPE_CHECKING:
    from fakemq.store.delay_levels import DelayLevels

SECTOR_BYTES = 512
"""A disk writes this number of bytes completely or not at all."""
_USUAL_HEAD = record_struct(
    "total_size",
    "magic_code",
    "body_crc",
    "queue_id",
    "queue_offset",
    "sys_flag",
    "store_timestamp",
    "body_bytes",
)
_V6_FLAGS = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6
_SCHEDULE = SCHEDULE_TOPIC.encode()
_TAGS = TAGS.encode() + b"\x01"
_SEPARATOR = ord(PROPERTY_SEPARATOR)


class End(NamedTuple):
    """No record: the blank at a file's end, or the reason why the bytes are no good record."""

    blank: bool
    why: str


def look(
    view: memoryview,
    at: int,
    end: int,
    delay_levels: DelayLevels,
    *,
    first_offset: int,
    check_crc: bool,
    check_torn: bool = False,
) -> LogRecord | End:
    """Return the record at the position ``at`` of a log file, or why none is there.

    ``end`` is the position where the file's data end, ``first_offset`` the physical offset of its
    first byte. ``check_crc`` compares the body with its checksum, as Java does. ``check_torn``
    finds what Java does not: a crash may have kept the first sectors of a record and lost the
    others. No checksum covers topic and properties, which Java would deliver as zeros.
    """
    usual = _look_at_usual(view, at, end, first_offset, check_crc, check_torn)
    if usual is not None:
        return usual
    check = check_record(view[:end], at, check_crc=check_crc)
    message = check.message
    if message is None:
        return End(check.status is RecordStatus.BLANK, check.reason)
    stored_ms = message.store_timestamp_ms
    try:
        code = delay_levels.queue_code(message.topic, message.properties, stored_ms)
    except NumberFormatError as error:
        return End(False, str(error))
    if check_torn:
        topic = at + record_size_bytes(message.sys_flag, len(message.body), 0, 0) - 2
        properties = topic + view[topic - 1] + 2
        if _is_torn(view, topic, properties - 2) or _is_torn(
            view, properties, at + check.size_bytes
        ):
            return End(False, "topic or properties were never written")
    return LogRecord(
        message.topic,
        message.queue_id,
        message.queue_offset,
        first_offset + at,
        check.size_bytes,
        message.sys_flag,
        code,
        stored_ms,
    )


def _look_at_usual(
    view: memoryview, at: int, end: int, first_offset: int, check_crc: bool, check_torn: bool
) -> LogRecord | None:
    """Return a good record of IPv4 hosts that is not delayed; None for anything else."""
    if at + RECORD_LEAST_BYTES > end:
        return None
    size_bytes, magic, crc, queue_id, queue_offset, sys_flag, stored_ms, body_bytes = (
        _USUAL_HEAD.unpack_from(view, at)
    )
    body, stop = at + _USUAL_HEAD.size, at + size_bytes
    topic = body + body_bytes + 1
    if (
        magic != MESSAGE_MAGIC_CODE
        or sys_flag & _V6_FLAGS
        or body_bytes < 0
        or stop > end
        or topic + 2 > stop
    ):
        return None
    topic_end = topic + view[topic - 1]
    properties = topic_end + 2
    if (
        properties > stop
        or topic_end - topic > TOPIC_MAX_BYTES
        or properties + (view[topic_end] << 8 | view[topic_end + 1]) != stop
        or (check_crc and body_bytes and crc32(view[body : topic - 1]) != crc)
        or (check_torn and (_is_torn(view, topic, topic_end) or _is_torn(view, properties, stop)))
    ):
        return None
    name = bytes(view[topic:topic_end])
    if name == _SCHEDULE:
        return None
    text = bytes(view[properties:stop])
    code = _tags_code_of(text) if _TAGS in text else 0
    return LogRecord(
        _name(name),
        queue_id,
        queue_offset,
        first_offset + at,
        size_bytes,
        sys_flag,
        code,
        stored_ms,
    )


@lru_cache(maxsize=4096)
def _name(topic: bytes) -> str:
    return topic.decode("utf-8", "replace")


def _tags_code_of(properties: bytes) -> int:
    """Return the code of the tags in properties that contain the bytes of their name."""
    at = properties.find(_TAGS)
    behind = at + len(_TAGS)
    if properties.find(_TAGS, behind) < 0 and (not at or properties[at - 1] == _SEPARATOR):
        end = properties.find(_SEPARATOR, behind)
        return _code(properties[behind:end] if end >= 0 else properties[behind:])
    return tags_code(decode_properties(properties.decode("utf-8", "replace")).get(TAGS))


@lru_cache(maxsize=4096)
def _code(tags: bytes) -> int:
    return tags_code(tags.decode("utf-8", "replace"))


def _is_torn(view: memoryview, start: int, stop: int) -> bool:
    """Return whether one sector of the range, or its part in the range, is all zeros."""
    while start < stop:
        edge = start - start % SECTOR_BYTES + SECTOR_BYTES
        if not view[start] and not any(view[start : min(edge, stop)]):
            return True
        start = edge
    return False
