"""``format("rocketmq-store")``: the files of a broker's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from fakemq.spark.options import Options
from fakemq.spark.stores.index import IndexPart, index_batches, index_parts
from fakemq.spark.stores.log import log_batches
from fakemq.spark.stores.options import NAME, StoreOptions, store_options
from fakemq.spark.stores.parts import LogPart, log_parts, nodes_of
from fakemq.spark.stores.queues import QueuePart, queue_batches, queue_parts
from fakemq.spark.stores.schema import store_ddl, wanted_schema

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.types import StructType

_PARTS = {"log": log_parts, "consumequeue": queue_parts, "index": index_parts}


class RocketMQStoreDataSource(DataSource):
    """Reads a store directory, fakemq's or Java's; docs/spark_store.md lists the options."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        options = store_options(Options(NAME, self.options))
        nodes_of(options)
        return store_ddl(options)

    def reader(self, schema: StructType) -> StoreReader:
        options = store_options(Options(NAME, self.options))
        return StoreReader(options, wanted_schema(options, schema))


class StoreReader(DataSourceReader):
    """Makes partitions on the driver, and their rows on the workers."""

    def __init__(self, options: StoreOptions, schema: pa.Schema) -> None:
        self.options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Divide files into partitions. It reads names and sizes, but no records."""
        make = _PARTS[self.options.view]
        return [part for node in nodes_of(self.options) for part in make(node, self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition: by 10,000, or by 4 MiB of a log."""
        match partition:
            case LogPart():
                return log_batches(partition, self.options, self._schema)
            case QueuePart():
                return queue_batches(partition, self.options, self._schema)
            case IndexPart():
                return index_batches(partition, self.options, self._schema)
        return iter(())  # a store without any records
