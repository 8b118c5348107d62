"""What the index needs of a record of the log: its keys, read without decoding the rest."""

from __future__ import annotations

from typing import NamedTuple

from fakemq.protocol.layout.codecs import RECORD_LEAST_BYTES
from fakemq.protocol.message import (
    MESSAGE_MAGIC_CODE,
    TOPIC_MAX_BYTES,
    decode_record,
    record_struct,
)
from fakemq.protocol.properties import (
    KEY_SEPARATOR,
    KEYS,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    decode_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag

_HEAD = record_struct("total_size", "magic_code", "sys_flag", "store_timestamp", "body_bytes")
_V6_FLAGS = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6
_ROLLBACK = MessageSysFlag.TRANSACTION_ROLLBACK_TYPE


class Keyed(NamedTuple):
    """The keys of a record, none for a rolled-back transaction."""

    topic: str
    keys: list[str]
    stored_ms: int


def read_keys(record: memoryview, *, tags: bool = False) -> Keyed:
    """Return a record's unique key, each word of its KEYS, and with ``tags`` a key for its tags.

    Raise RemoteProtocolError for a bad record.
    Source: store/index/IndexService.java#buildIndex (4.9.7, 5.5.0)
    """
    topic, properties, stored_ms, sys_flag = _read_usual(record) or _read_any(record)
    if sys_flag & MessageSysFlag.TRANSACTION_MASK == _ROLLBACK:
        return Keyed(topic, [], stored_ms)
    words = properties.get(KEYS)
    keys = [key for key in words.split(KEY_SEPARATOR) if key] if words else []
    uniq_key = properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
    if uniq_key is not None:
        keys.insert(0, uniq_key)
    if tags and properties.get(TAGS):
        keys.append(tag_key(properties[TAGS]))
    return Keyed(topic, keys, stored_ms)


def tag_key(tags: str) -> str:
    """Return the key under which 5.5.0 finds records by their tags."""
    return f"T#{tags}"


_Read = tuple[str, dict[str, str], int, int]


def _read_usual(record: memoryview) -> _Read | None:
    """Return what `_read_any` does; None unless the record is good, and its hosts are IPv4."""
    if len(record) < RECORD_LEAST_BYTES:
        return None
    size_bytes, magic, sys_flag, stored_ms, body_bytes = _HEAD.unpack_from(record)
    at = _HEAD.size + body_bytes
    if (
        magic != MESSAGE_MAGIC_CODE
        or size_bytes != len(record)
        or sys_flag & _V6_FLAGS
        or not _HEAD.size <= at < size_bytes
    ):
        return None
    tail = bytes(record[at:])
    end = 1 + tail[0]
    if tail[0] > TOPIC_MAX_BYTES or int.from_bytes(tail[end : end + 2]) != len(tail) - end - 2:
        return None
    properties = decode_properties(tail[end + 2 :].decode("utf-8", "replace"))
    return tail[1:end].decode("utf-8", "replace"), properties, stored_ms, sys_flag


def _read_any(record: memoryview) -> _Read:
    message = decode_record(record)
    return message.topic, message.properties, message.store_timestamp_ms, message.sys_flag
