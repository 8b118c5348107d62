"""Records as the columns of `fakemq.spark.records.schema`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from fakemq.protocol.hosts import format_host, unpack_host
from fakemq.protocol.properties import (
    KEYS,
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    decode_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.spark.records.record_table import RecordTable
from fakemq.spark.records.schema import TIMESTAMP, message_schema
from fakemq.spark.records.slices import (
    Ints,
    Pieces,
    binaries,
    common_piece,
    equal_sized,
    hexadecimals,
    like_next,
    pieces_at,
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
    def properties(self) -> EqualProperties | PropertyTable:
        table = self._table
        return property_columns(table.data, table.properties_begin, table.properties_end)

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


# The properties of many records at once; `decode_properties` defines their meaning.


def property_columns(data: bytes, begin: Ints, end: Ints) -> EqualProperties | PropertyTable:
    """Return the properties between each ``begin`` and ``end``, in the faster of two forms."""
    size_bytes = int(end[0] - begin[0]) if len(begin) else 0
    if size_bytes and (end - begin == size_bytes).all():
        pieces = pieces_at(data, begin, size_bytes)
        names = _equal_names(pieces)
        if names is not None:
            return EqualProperties(pieces, names)
    return PropertyTable(binaries(data, begin, end))


class EqualProperties:
    """Properties with the same names at the same places, as one producer's mostly are.

    The first record says where the values are in all; `PropertyTable` reads any records.
    """

    def __init__(self, pieces: Pieces, names: Mapping[bytes, slice]) -> None:
        """``names`` has the place of the value of each name."""
        self._pieces = pieces
        self._names = names

    def values(self, name: str) -> pa.Array:
        """Return the last value of a name in each record; null if there is none."""
        place = self._names.get(name.encode())
        if place is None:
            return pa.nulls(len(self._pieces), pa.string())
        return strings(equal_sized(self._pieces[:, place], pa.binary()))

    def maps(self) -> pa.Array:
        """Return all properties; a repeated name keeps its first place and its last value."""
        return PropertyTable(equal_sized(self._pieces, pa.binary())).maps()


def _equal_names(pieces: Pieces) -> dict[bytes, slice] | None:
    """Return the place of each name's last value; None if the records have different places."""
    if not like_next(pieces == ord(PROPERTY_SEPARATOR)).all():
        return None
    like = like_next(pieces)
    names: dict[bytes, slice] = {}
    end = -1
    for entry in pieces[0].tobytes().split(PROPERTY_SEPARATOR.encode()):
        end += 1 + len(entry)
        name, _, value = entry.partition(NAME_VALUE_SEPARATOR.encode())
        place = slice(end - len(value), end)
        like[:, place] = True
        if name and value:
            names[name] = place
    return names if like.all() else None


class PropertyTable:
    """The entries that have a name and a value, in the order of their records."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts
        places = np.frombuffer(texts.buffers()[1], np.int32)[: len(texts) + 1].astype(np.int64)
        self._data = texts.buffers()[2]
        self._raw = raw = np.frombuffer(self._data, np.uint8)
        between = np.flatnonzero(raw == ord(PROPERTY_SEPARATOR))
        # The marks are in order: the first two are the begin and end of the first entry, and so on.
        begin = np.sort(np.concatenate((places[:-1], between + 1)), kind="stable")
        end = np.sort(np.concatenate((between, places[1:])), kind="stable")
        middle = _first_in(np.flatnonzero(raw == ord(NAME_VALUE_SEPARATOR)), begin, end)
        counts = np.diff(np.searchsorted(between, places)) + 1
        record = np.repeat(np.arange(len(texts)), counts)
        kept = (begin < middle) & (middle + 1 < end)
        if not kept.all():
            record, begin, middle, end = (one[kept] for one in (record, begin, middle, end))
        self._record: Ints = record
        self._name_begin: Ints = begin
        self._name_end: Ints = middle
        self._value_begin: Ints = middle + 1
        self._value_end: Ints = end

    def values(self, name: str) -> pa.Array:
        """Return the last value of a name in each record; null if there is none."""
        wanted = np.frombuffer(name.encode(), f"V{len(name.encode())}")
        found = np.flatnonzero(self._name_end - self._name_begin == wanted.itemsize)
        if len(found):
            names = pieces_at(self._data, self._name_begin[found], wanted.itemsize)
            found = found[names.view(wanted.dtype)[:, 0] == wanted]
        count = len(self._texts)
        if not len(found):
            return pa.nulls(count, pa.string())
        if len(found) == count and (self._record[found] == np.arange(count)).all():
            begin, end = self._value_begin[found], self._value_end[found]
            return strings(binaries(self._data, begin, end))
        entry = np.full(count, -1)
        entry[self._record[found]] = found  # the last entry of a repeated name wins
        which = pa.array(2 * entry, mask=entry < 0)
        return strings(binaries(self._data, self._value_begin, self._value_end, which))

    def maps(self) -> pa.Array:
        """Return all properties; a repeated name keeps its first place and its last value."""
        names = strings(binaries(self._data, self._name_begin, self._name_end))
        values = strings(binaries(self._data, self._value_begin, self._value_end))
        counts = np.bincount(self._record, minlength=len(self._texts))
        if self._has_repeated(names):
            return _maps_one_by_one(self._texts)
        places = np.zeros(len(self._texts) + 1, np.int32)
        np.cumsum(counts, out=places[1:])
        return pa.MapArray.from_arrays(pa.array(places), names, values)

    def _has_repeated(self, names: pa.Array) -> bool:
        coded = names.dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        keys = np.sort(self._record * len(coded.dictionary) + codes)
        return bool((keys[1:] == keys[:-1]).any())


def _first_in(marks: Ints, begin: Ints, end: Ints) -> Ints:
    """Return the first mark in each piece, or the end of the piece."""
    if len(marks) == len(begin) and (begin <= marks).all() and (marks < end).all():
        return marks  # the usual case: one mark in each piece
    if not len(marks):
        return end
    at = np.searchsorted(marks, begin)
    first = marks[np.minimum(at, len(marks) - 1)]
    return np.where((at < len(marks)) & (first < end), first, end)


def _maps_one_by_one(texts: pa.Array) -> pa.Array:
    rows = [
        list(decode_properties(raw.decode("utf-8", "replace")).items()) for raw in texts.to_pylist()
    ]
    return pa.array(rows, pa.map_(pa.string(), pa.string()))
