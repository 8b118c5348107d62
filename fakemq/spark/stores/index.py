"""The view ``index``: the entries of the index files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import InputPartition

from fakemq.protocol.layout.codecs import (
    INDEX_ENTRY,
    INDEX_ENTRY_FIELDS,
    INDEX_HEADER,
    INDEX_SLOT,
)
from fakemq.spark.records.message_columns import int_column, timestamps
from fakemq.spark.records.slices import fields_dtype
from fakemq.spark.stores.damage import Damage, damage_batches, gone, is_gone
from fakemq.store.stored_entries import Index
from fakemq.store.stored_file import OpenFiles, StoredFile

if TYPE_CHECKING:
    from fakemq.spark.stores.options import StoreOptions
    from fakemq.store.stored_node import StoredNode

_BATCH_ROWS = 10_000
_ENTRY = fields_dtype(INDEX_ENTRY_FIELDS)


@dataclass
class IndexPart(InputPartition):
    """One index file."""

    path: str
    node: str
    name: str


def index_parts(node: StoredNode, options: StoreOptions) -> Iterator[IndexPart]:
    """Return the parts of a node's index files."""
    for file in node.index_files():
        yield IndexPart(os.path.abspath(file.path), node.name, file.name)


def index_batches(
    part: IndexPart, options: StoreOptions, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the entries of a file, oldest first."""
    if is_gone(part):
        yield from damage_batches(part, [gone(0)], options, schema)
        return
    index = Index(StoredFile(OpenFiles(), part.path, part.name))
    head, size_bytes = index.head, index.file.size_bytes
    if head is None:
        text = f"{size_bytes} bytes are too few for a header"
        yield from damage_batches(part, [Damage(0, size_bytes, text)], options, schema)
        return
    if head.index_count < 2:
        return
    if not index.slots:
        text = (
            f"the entries do not fit the header: {head.index_count - 1} entries"
            f" from {head.begin_phy_offset} to {head.end_phy_offset}"
        )
        yield from damage_batches(part, [Damage(0, size_bytes, text)], options, schema)
        return
    first_at = INDEX_HEADER.size + index.slots * INDEX_SLOT.size
    for begin in range(1, head.index_count, _BATCH_ROWS):
        count = min(_BATCH_ROWS, head.index_count - begin)
        at = first_at + begin * INDEX_ENTRY.size
        some = np.frombuffer(index.file.read(at, count * INDEX_ENTRY.size), _ENTRY)
        numbers = np.arange(begin, begin + len(some))
        columns = {
            "keyHash": int_column(some["key_hash"]),
            "commitLogOffset": pa.array(some["phy_offset"].astype(np.int64)),
            "storeTimestamp": timestamps(
                head.begin_timestamp_ms + some["time_diff"].astype(np.int64) * 1000
            ),
            "slot": int_column(some["key_hash"] % index.slots),
            "entry": int_column(numbers),
            "previousEntry": int_column(some["previous_entry"]),
            "node": pa.repeat(pa.scalar(part.node), len(some)),
            "file": pa.repeat(pa.scalar(part.name), len(some)),
            "filePosition": pa.array(first_at + numbers * INDEX_ENTRY.size),
        }
        arrays = [columns.get(field.name, pa.nulls(len(some), field.type)) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
