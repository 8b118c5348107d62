"""Records as the columns of `fakemq.spark.records.schema`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from fakemq.protocol.hosts import format_host, unpack_host
from fakemq.protocol.properties import KEYS, TAGS, UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.spark.records.property_table import PropertyTable
from fakemq.spark.records.record_table import RecordTable
from fakemq.spark.records.schema import TIMESTAMP, message_schema
from fakemq.spark.records.slices import (
    Ints,
    binaries,
    common_piece,
    hexadecimals,
    repeated,
    strings,
)

_YEAR_1_MS = -62_135_596_800_000
_YEAR_10000_MS = 253_402_300_800_000


def message_batch(
    table: RecordTable,
    broker: str,
    unpacked: Mapping[int, bytes],
    *,
    include_properties: bool,
) -> pa.RecordBatch:
    """Return a batch with the columns of `fakemq.spark.records.schema`; records must be valid."""
    columns = MessageColumns(table, broker, unpacked)
    schema = message_schema(include_properties=include_properties)
    return pa.RecordBatch.from_arrays(
        [columns.column(name) for name in schema.names], schema=schema
    )


class MessageColumns:
    """The columns of valid records; a column is made when it is requested."""

    def __init__(
        self,
        table: RecordTable,
        broker: str | None,
        unpacked: Mapping[int, bytes] = {},
    ) -> None:
        """``unpacked`` maps the number of a record to its decompressed body."""
        self._table = table
        self._unpacked = unpacked
        self._broker = broker

    @staticmethod
    def knows(name: str) -> bool:
        """Return True if there is such a column."""
        return name in _MAKE

    def column(self, name: str) -> pa.Array:
        """Return one of the columns in `fakemq.spark.records.schema`."""
        return _MAKE[name](self)

    def brokers(self) -> pa.Array:
        return repeated(self._broker, len(self._table))

    def bodies(self) -> pa.Array:
        """Return the bodies as producers sent them."""
        table = self._table
        raw = binaries(table.data, table.body_begin, table.body_end)
        packed = np.flatnonzero(table.sys_flag & MessageSysFlag.COMPRESSED)
        if not len(packed):
            return raw
        bodies = raw.to_pylist()
        for at in packed.tolist():
            bodies[at] = self._unpacked[at]
        return pa.array(bodies, pa.binary())

    def msg_ids(self) -> pa.Array:
        """Return the unique ids; the offset id for a message without one."""
        unique = self.properties.values(UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
        return pc.coalesce(unique, self.offset_ids) if unique.null_count else unique

    @cached_property
    def properties(self) -> PropertyTable:
        table = self._table
        return PropertyTable(binaries(table.data, table.properties_begin, table.properties_end))

    @cached_property
    def offset_ids(self) -> pa.Array:
        """Source: common/message/MessageDecoder.java#createMessageId (4.9.7)"""
        table = self._table
        host = common_piece(table.data, table.store_host_begin, table.store_host_end)
        if host is not None:
            return hexadecimals(table.physical_offset, _hex(host))
        hosts = self._by_host(_hex, table.store_host_begin, table.store_host_end)
        return pc.binary_join_element_wise(hosts, hexadecimals(table.physical_offset), "")

    def topics(self) -> pa.Array:
        table = self._table
        topic = common_piece(table.data, table.topic_begin, table.topic_end)
        if topic is not None:
            return repeated(topic.decode("utf-8", "replace"), len(table))
        return strings(binaries(table.data, table.topic_begin, table.topic_end))

    def born_hosts(self) -> pa.Array:
        return self._by_host(_host, self._table.born_host_begin, self._table.born_host_end)

    def store_hosts(self) -> pa.Array:
        return self._by_host(_host, self._table.store_host_begin, self._table.store_host_end)

    def _by_host(self, text: Callable[[bytes], str], begin: Ints, end: Ints) -> pa.Array:
        """Return a text for each host; few hosts are different, so each is formatted once."""
        host = common_piece(self._table.data, begin, end)
        if host is not None:
            return repeated(text(host), len(self._table))
        coded = binaries(self._table.data, begin, end).dictionary_encode()
        texts = pa.array([text(one) for one in coded.dictionary.to_pylist()], pa.string())
        return texts.take(coded.indices)


def _hex(packed: bytes) -> str:
    return packed.hex().upper()


def _host(packed: bytes) -> str:
    return format_host(unpack_host(packed))


def timestamps(ms: Ints) -> pa.Array:
    """Return milliseconds since the epoch as Spark timestamps; null outside the years 1 to 9999.

    The client sets the born time of a message, and Spark cannot pass other years to Python.
    """
    wrong = (ms < _YEAR_1_MS) | (ms >= _YEAR_10000_MS)
    return pa.array(ms * 1000, mask=wrong if wrong.any() else None).cast(TIMESTAMP)


def int_column(numbers: Ints) -> pa.Array:
    """Return a column of 32-bit integers."""
    return pa.array(numbers.astype(np.int32))


_MAKE: dict[str, Callable[[MessageColumns], pa.Array]] = {
    "topic": MessageColumns.topics,
    "broker": MessageColumns.brokers,
    "queueId": lambda of: int_column(of._table.queue_id),
    "offset": lambda of: pa.array(of._table.queue_offset),
    "key": lambda of: of.properties.values(KEYS),
    "tags": lambda of: of.properties.values(TAGS),
    "value": MessageColumns.bodies,
    "timestamp": lambda of: timestamps(of._table.store_timestamp_ms),
    "bornTimestamp": lambda of: timestamps(of._table.born_timestamp_ms),
    "msgId": MessageColumns.msg_ids,
    "offsetMsgId": lambda of: of.offset_ids,
    "bornHost": MessageColumns.born_hosts,
    "storeHost": MessageColumns.store_hosts,
    "sysFlag": lambda of: int_column(of._table.sys_flag),
    "reconsumeTimes": lambda of: int_column(of._table.reconsume_times),
    "commitLogOffset": lambda of: pa.array(of._table.physical_offset),
    "properties": lambda of: of.properties.maps(),
}
