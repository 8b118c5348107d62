"""Rows for tests that write to topics, and writing them without a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa  # type: ignore[import-untyped]

from fakemq.spark.options import Options
from fakemq.spark.writing.options import WriteOptions, write_options_of
from fakemq.spark.writing.parcels import Written, write_rows
from fakemq.spark.writing.row_ids import RowIds

TYPES = {
    "value": pa.binary(),
    "queueId": pa.int32(),
    "delayLevel": pa.int64(),
    "properties": pa.map_(pa.string(), pa.string()),
}


def options(namesrv_addr: str = "127.0.0.1:9876", **given: str) -> WriteOptions:
    return write_options_of(Options("rocketmq", {"nameServer": namesrv_addr, **given}))


def rows(**columns: Sequence[object]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(values, TYPES.get(name, pa.string())) for name, values in columns.items()],
        names=list(columns),
    )


def write(
    namesrv_addr: str,
    batches: pa.RecordBatch | Iterable[pa.RecordBatch],
    given: Mapping[str, str] = {},
    *,
    write_id: str = "w",
    partition: int = 0,
) -> Written:
    """As one task does."""
    if isinstance(batches, pa.RecordBatch):
        batches = [batches]
    ids = RowIds(write_id, str(partition))
    return write_rows(batches, options(namesrv_addr, **given), ids)
