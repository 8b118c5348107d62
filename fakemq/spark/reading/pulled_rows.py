"""The bodies of many pulls of one queue as rows: exactly the requested messages."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.subscription import build_subscription, is_tag_type
from fakemq.spark.reading.options import Pulling, ReadOptions
from fakemq.spark.reading.planning import QueueRange
from fakemq.spark.records.message_columns import message_batch
from fakemq.spark.records.record_table import RecordTable
from fakemq.spark.records.record_walk import positions_of
from fakemq.spark.records.unpacking import unpacked


def pulled_rows(data: bytes, part: QueueRange, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Yield the messages of joined response bodies that are in the range and have a requested tag.

    A broker compares only hashes of tags, and does not stop at the end of a range. Compressed
    bodies that are large make several batches.
    Raise RemoteProtocolError for a damaged record or compressed body.

    Source: client/impl/consumer/PullAPIWrapper.java#processPullResult (4.9.7)
    """
    table = RecordTable(data, positions_of(data))
    if not table.fitting.all():
        at = int(table.positions[~table.fitting][0])
        raise RemoteProtocolError(f"the record at {at} of {len(data)} bytes is inconsistent")
    inside = (table.queue_offset >= part.start) & (table.queue_offset < part.end)
    if not inside.all():
        table = table.some(inside)
    tags = pa.array(_tags(options.pulling), pa.string())
    while len(table):
        bodies, bad, count = unpacked(table)
        if bad:
            raise RemoteProtocolError(next(iter(bad.values())))
        batch = message_batch(
            table.some(range(count)),
            part.queue.broker_name or "",
            bodies,
            include_properties=options.include_properties,
        )
        yield batch.filter(pc.is_in(batch["tags"], tags)) if len(tags) else batch
        table = table.some(range(count, len(table)))


def _tags(pulling: Pulling) -> list[str]:
    if not is_tag_type(pulling.expression_type):
        return []
    return list(build_subscription("", pulling.expression, pulling.expression_type).tags_set)
