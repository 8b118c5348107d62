"""Reading by batch: the begin and end of each queue are fixed once, when the query is planned."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSourceReader, InputPartition

from fakemq.errors import ConfigError
from fakemq.spark.reading.bound_offsets import resolved, surveyed
from fakemq.spark.reading.offsets import queue_text
from fakemq.spark.reading.options import ReadOptions
from fakemq.spark.reading.planning import ranges_between, shared, split
from fakemq.spark.reading.queue_reading import read_ranges
from fakemq.spark.reading.topics import check_expression, find_queues


class RocketMQReader(DataSourceReader):
    """Reads from ``startingOffsets`` to ``endingOffsets``."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Return the ranges to read. Raise ConfigError or FakemqError."""
        options = self._options
        with options.client() as client:
            queues = find_queues(client, options.wanted)
            check_expression(client, queues, options.pulling)
            bounds = surveyed(client, queues, options)
            start = resolved(client, bounds, options.start, options)
            end = resolved(client, bounds, options.end, options)
        for queue in queues:
            if start[queue] > end[queue]:
                raise ConfigError(
                    f"rocketmq: {queue_text(queue)}: {options.start.option} begins at"
                    f" {start[queue]}, after {options.end.option} at {end[queue]}"
                )
        ranges = ranges_between(start, end)
        limits = options.min_partitions, options.max_records_per_partition
        return [InputPartition(part) for part in shared(split(ranges, *limits), *limits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Without ranges, Spark makes one partition that is None.
        return read_ranges(partition.value or (), self._options)
