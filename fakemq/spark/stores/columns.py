"""Undamaged records of a commit log as the columns of ``format("rocketmq-store")``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from fakemq.spark.records.message_columns import MessageColumns, int_column
from fakemq.spark.records.record_table import RecordTable
from fakemq.spark.records.slices import repeated
from fakemq.spark.stores.parts import broker_of

if TYPE_CHECKING:
    from fakemq.spark.stores.options import StoreOptions
    from fakemq.spark.stores.parts import LogPart


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
