"""Temporary: record encoding until protocol/message lands."""

from __future__ import annotations

import struct
from zlib import crc32

from fakemq.protocol.properties import decode_properties

MAGIC = -626843481
_HEAD = struct.Struct(">iiIiiqqiq")
_TAIL = struct.Struct(">iqi")
_Q = struct.Struct(">q")
_H = struct.Struct(">H")


def encode_record(
    body: bytes,
    topic: bytes,
    properties: bytes,
    queue_id: int,
    flag: int,
    queue_offset: int,
    phy_offset: int,
    sys_flag: int,
    born_ms: int,
    born_host: bytes,
    store_ms: int,
    store_host: bytes,
    reconsume: int,
    prepared: int,
) -> bytes:
    size = 75 + len(born_host) + len(store_host) + len(body) + len(topic) + len(properties)
    return b"".join(
        (
            _HEAD.pack(
                size,
                MAGIC,
                crc32(body) & 0x7FFFFFFF,
                queue_id,
                flag,
                queue_offset,
                phy_offset,
                sys_flag,
                born_ms,
            ),
            born_host,
            _Q.pack(store_ms),
            store_host,
            _TAIL.pack(reconsume, prepared, len(body)),
            body,
            bytes((len(topic),)),
            topic,
            _H.pack(len(properties)),
            properties,
        )
    )


_MEMBER = struct.Struct(">iiiii")
_SHORT = struct.Struct(">h")


def decode_batch(body: bytes) -> list[tuple[int, bytes, bytes]]:
    """(flag, body, properties) of each; ValueError if it's not a batch."""
    at, members = 0, []
    try:
        while at < len(body):
            _, _, _, flag, n = _MEMBER.unpack_from(body, at)
            at += 20
            data = body[at : at + n]
            at += n
            (m,) = _SHORT.unpack_from(body, at)
            at += 2
            props = body[at : at + m]
            at += m
            if n < 0 or m < 0 or at > len(body):
                raise ValueError("truncated")
            members.append((flag, data, props))
    except struct.error as error:
        raise ValueError(str(error)) from None
    return members


def index_fields(record: memoryview) -> tuple[str, int, int, dict[str, str]]:
    (sys_flag,) = struct.unpack_from(">i", record, 36)
    at = 48 + (20 if sys_flag & 16 else 8)
    (store_ms,) = _Q.unpack_from(record, at)
    at += 8 + (20 if sys_flag & 32 else 8) + 12
    (n,) = struct.unpack_from(">i", record, at)
    at += 4 + n
    n = record[at]
    topic = str(record[at + 1 : at + 1 + n], "utf-8")
    return (
        topic,
        sys_flag,
        store_ms,
        decode_properties(str(record[at + 3 + n :], "utf-8", "replace")),
    )
