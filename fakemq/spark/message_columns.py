"""Records as the columns of `fakemq.spark.schema`."""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
import pyarrow as pa

from fakemq.protocol.compression import unpack
from fakemq.protocol.hosts import format_host, unpack_host
from fakemq.protocol.properties import (
    KEYS,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    decode_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag, compression_name
from fakemq.spark.record_table import Ints, RecordTable, positions_of
from fakemq.spark.schema import TIMESTAMP, message_schema

_OFFSET = struct.Struct(">q")


def pulled_batch(body: bytes, broker: str, *, include_properties: bool) -> pa.RecordBatch:
    """The messages in the body of a pull response, bodies as they were sent.

    RemoteProtocolError for what is no row of records, or a body that cannot be unpacked.
    """
    table = RecordTable(body, positions_of(body))
    columns = message_columns(table, broker, include_properties=include_properties)
    return pa.RecordBatch.from_arrays(
        columns, schema=message_schema(include_properties=include_properties)
    )


def message_columns(
    table: RecordTable, broker: str | None, *, include_properties: bool
) -> list[pa.Array]:
    """The columns of `MESSAGE_FIELDS`, and of `PROPERTIES_FIELD` if wanted.

    Every record must fit. RemoteProtocolError if a compressed body cannot be unpacked.
    """
    properties = [
        decode_properties(raw.decode("utf-8", "replace"))
        for raw in table.slices(table.properties_begin, table.properties_end)
    ]
    offset_ids = _offset_ids(table)
    ids = [
        one.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX) or offset_id
        for one, offset_id in zip(properties, offset_ids, strict=True)
    ]
    columns = [
        pa.array(_topics(table), pa.string()),
        pa.array([broker] * len(table), pa.string()),
        pa.array(table.queue_id.astype(np.int32)),
        pa.array(table.queue_offset),
        pa.array([one.get(KEYS) for one in properties], pa.string()),
        pa.array([one.get(TAGS) for one in properties], pa.string()),
        pa.array(_bodies(table), pa.binary()),
        _timestamps(table.store_timestamp_ms),
        _timestamps(table.born_timestamp_ms),
        pa.array(ids, pa.string()),
        pa.array(offset_ids, pa.string()),
        pa.array(_hosts(table, table.positions + 48, table.born_host_end), pa.string()),
        pa.array(_hosts(table, table.born_host_end + 8, table.store_host_end), pa.string()),
        pa.array(table.sys_flag.astype(np.int32)),
        pa.array(table.reconsume_times.astype(np.int32)),
        pa.array(table.physical_offset),
    ]
    if include_properties:
        columns.append(_map_array(properties))
    return columns


def _topics(table: RecordTable) -> list[str]:
    return [_text(raw) for raw in table.slices(table.topic_begin, table.topic_end)]


def _bodies(table: RecordTable) -> list[bytes]:
    """The bodies as they were sent."""
    bodies = table.slices(table.body_begin, table.body_end)
    for at in np.flatnonzero(table.sys_flag & MessageSysFlag.COMPRESSED).tolist():
        bodies[at] = unpack(compression_name(int(table.sys_flag[at])), bodies[at])
    return bodies


def _offset_ids(table: RecordTable) -> list[str]:
    """Source: common/message/MessageDecoder.java#createMessageId (4.9.7)"""
    hosts = table.slices(table.born_host_end + 8, table.store_host_end)
    return [
        _hex(host) + _OFFSET.pack(offset).hex().upper()
        for host, offset in zip(hosts, table.physical_offset.tolist(), strict=True)
    ]


def _hosts(table: RecordTable, begin: Ints, end: Ints) -> list[str]:
    return [_host(packed) for packed in table.slices(begin, end)]


@lru_cache(maxsize=4096)
def _hex(packed: bytes) -> str:
    return packed.hex().upper()


@lru_cache(maxsize=4096)
def _host(packed: bytes) -> str:
    return format_host(unpack_host(packed))


@lru_cache(maxsize=4096)
def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _timestamps(ms: Ints) -> pa.Array:
    return pa.array(ms * 1000).cast(TIMESTAMP)


def _map_array(properties: list[dict[str, str]]) -> pa.Array:
    offsets = np.cumsum([0, *map(len, properties)]).astype(np.int32)
    names = [name for one in properties for name in one]
    values = [value for one in properties for value in one.values()]
    return pa.MapArray.from_arrays(
        pa.array(offsets), pa.array(names, pa.string()), pa.array(values, pa.string())
    )
