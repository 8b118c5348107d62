"""The view ``log``: the records of a commit log, and the damaged ranges between them."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from fakemq.protocol.layout.codecs import RECORD_HEAD
from fakemq.protocol.message import BLANK_MIN_BYTES, RecordStatus
from fakemq.spark.records.message_columns import MessageColumns, int_column
from fakemq.spark.records.record_table import RecordTable, unpacked
from fakemq.spark.records.slices import repeated
from fakemq.spark.stores.damage import Damage, damage_batches, gone, is_gone
from fakemq.spark.stores.log_walk import LOCATED_BYTES, LogFile, Records
from fakemq.spark.stores.parts import broker_of

if TYPE_CHECKING:
    from fakemq.spark.stores.options import StoreOptions
    from fakemq.spark.stores.parts import LogPart

BATCH_BYTES = 4 << 20
"""A batch has the records of this many bytes of the log, or one that is larger."""


class Stretch(NamedTuple):
    """Undamaged records, and where their bytes begin in the file."""

    table: RecordTable
    begin: int


def log_batches(
    part: LogPart, options: StoreOptions, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part of a log file; a damaged range is one row."""
    if is_gone(part):
        missing = gone(part.begin, part.end - part.begin)
        yield from damage_batches(part, [missing], options, schema)
        return
    for found in LogReader(part).stretches():
        if isinstance(found, Damage):
            yield from damage_batches(part, [found], options, schema)
        else:
            yield from _record_batches(part, found, options, schema)


def _record_batches(
    part: LogPart, stretch: Stretch, options: StoreOptions, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of undamaged records. A body that cannot be decompressed counts as damage."""
    table, begin = chosen(stretch.table, options), stretch.begin
    while len(table):
        bodies, bad, count = unpacked(table) if "value" in schema.names else ({}, {}, len(table))
        damages = [
            Damage(int(table.positions[at]) + begin, int(table.size_bytes[at]), text)
            for at, text in bad.items()
        ]
        yield from damage_batches(part, damages, options, schema)
        numbers = [at for at in range(count) if at not in bad] if bad else range(count)
        if numbers:
            whole = table.some(numbers)
            if bad:
                bodies = {new: bodies[old] for new, old in enumerate(numbers) if old in bodies}
            yield StoredColumns(part, whole, begin, bodies).batch(schema)
        table = table.some(range(count, len(table)))


class LogReader:
    """Reads the records that begin in a part."""

    def __init__(self, part: LogPart) -> None:
        self._part = part
        self._file = LogFile(part.path, part.name)
        self._limit = min(part.limit, self._file.size_bytes)

    def stretches(self) -> Iterator[Stretch | Damage]:
        """Yield undamaged records, about 4 MiB at a time, and the damage between them."""
        part, file = self._part, self._file
        if part.gap:
            yield Damage(0, None, part.gap)
        position = file.boundary(part.begin, self._limit)
        end = file.boundary(part.end, self._limit) if part.end < self._limit else self._limit
        again = -1
        while position < end:
            records = file.records(position, end, BATCH_BYTES)
            if len(records.positions):
                behind = yield from self._whole(records, position)
                if behind > position:
                    position = behind
                    continue
            if position != again and self._is_whole_now(position):
                again = position  # a broker may have been writing it, so read it once more
                continue
            damage = self._damage(position)
            if damage is None:
                return
            yield damage
            position += damage.size_bytes or 0

    def _is_whole_now(self, position: int) -> bool:
        return self._file.check(position).status is RecordStatus.OK

    def _whole(self, records: Records, begin: int) -> Generator[Stretch | Damage, None, int]:
        """Yield the undamaged records up to the first inconsistent one; return its position."""
        data = records.data
        table = RecordTable(data, records.positions)
        behind = begin + records.end
        if not table.fitting.all():
            count = int(table.fitting.argmin())
            behind = begin + int(table.positions[count])
            table = RecordTable(data, table.positions[:count])
        wrong = wrong_sums(table)
        if wrong:
            kept = np.ones(len(table), np.bool_)
            kept[list(wrong)] = False
            for at, text in wrong.items():
                position = int(table.positions[at]) + begin
                yield Damage(position, int(table.size_bytes[at]), text)
            table = RecordTable(data, table.positions[kept])
        if len(table):
            yield Stretch(table, begin)
        return behind

    def _damage(self, position: int) -> Damage | None:
        """Return the damage at ``position``; None if all records end here."""
        file, limit, is_last = self._file, self._limit, self._part.is_last
        if file.size_bytes - position < BLANK_MIN_BYTES or file.is_blank(position):
            return None
        if not any(file.file.read(position, RECORD_HEAD.size)):
            there = file.file.data_from(position)
            if there is None or there >= limit:
                text = "neither a record nor a blank, and another file follows"
                return None if is_last else Damage(position, limit - position, text)
            reason = f"zeros, followed by other bytes at {there}"
        else:
            if is_last and self._is_half_written(position):
                return None
            check = file.check(position)
            reason = check.reason or f"a blank of {check.size_bytes} bytes"
        behind = file.next_boundary(position + 1, limit)
        return Damage(position, behind - position, f"no record: {reason}")

    def _is_half_written(self, position: int) -> bool:
        """Return True if a record begins here that was not complete when the parts were made."""
        file, written = self._file, self._limit - position
        end = file.run(position, position + 1)
        if end <= self._limit:
            return written < BLANK_MIN_BYTES
        if written >= LOCATED_BYTES and not file.is_located(position):
            return False
        table = RecordTable(file.file.read(position, end - position), np.zeros(1, np.int64))
        # The sizes of the parts that are already written must add up.
        return bool(table.fitting[0]) or written <= int(table.properties_begin[0])


def wrong_sums(table: RecordTable) -> dict[int, str]:
    """Return the records whose body has another CRC than stored, each with its error text."""
    data, crc32 = table.data, zlib.crc32
    begins, ends = table.body_begin.tolist(), table.body_end.tolist()
    sums = [crc32(data[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    is_sums = np.frombuffer(array("I", sums), np.uintc).astype(np.int64) & 0x7FFF_FFFF
    # Java computes no CRC for an empty body.
    wrong = (is_sums != table.body_crc) & (table.body_begin != table.body_end)
    return {
        at: f"CRC {is_sums[at]:#x} of the body, but {table.body_crc[at]:#x} is stored"
        for at in np.flatnonzero(wrong).tolist()
    }


# Undamaged records of a commit log as the columns of ``format("rocketmq-store")``.


class StoredColumns:
    """The columns of undamaged records of one file; a column is made when it is requested."""

    def __init__(
        self, part: LogPart, table: RecordTable, begin: int, unpacked: Mapping[int, bytes]
    ) -> None:
        self._part = part
        self._table = table
        self._begin = begin
        self._messages = MessageColumns(table, broker_of(part.node), unpacked)

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """Return a batch with the requested columns; the damage column is null."""
        return pa.RecordBatch.from_arrays([self._column(field) for field in schema], schema=schema)

    def _column(self, field: pa.Field) -> pa.Array:
        table = self._table
        if self._messages.knows(field.name):
            return self._messages.column(field.name)
        match field.name:
            case "node":
                return self._same(self._part.node)
            case "file":
                return self._same(self._part.name)
            case "filePosition":
                return pa.array(table.positions + self._begin)
            case "recordBytes":
                return pa.array(table.size_bytes)
            case "flag":
                return int_column(table.flag)
            case "bodyCrc":
                return int_column(table.body_crc)
            case "preparedTransactionOffset":
                return pa.array(table.prepared_transaction_offset)
        return pa.nulls(len(table), field.type)

    def _same(self, text: str) -> pa.Array:
        return repeated(text, len(self._table))


def chosen(table: RecordTable, options: StoreOptions) -> RecordTable:
    """Return the records that pass the options' topics and times."""
    kept = np.ones(len(table), np.bool_)
    if options.topics:
        topics = MessageColumns(table, None).column("topic")
        kept = pc.is_in(topics, pa.array(sorted(options.topics))).to_numpy(zero_copy_only=False)
    if options.starting_ms is not None:
        kept = kept & (table.store_timestamp_ms >= options.starting_ms)
    if options.ending_ms is not None:
        kept = kept & (table.store_timestamp_ms < options.ending_ms)
    return table if kept.all() else table.some(kept)
