"""``format("rocketmq-store")``: the files of a broker's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from fakemq.errors import ConfigError, did_you_mean
from fakemq.spark.options import Options
from fakemq.spark.records.schema import MESSAGE_FIELDS, PROPERTIES_FIELD, TIMESTAMP
from fakemq.spark.stores.index import IndexPart, index_batches, index_parts
from fakemq.spark.stores.log import log_batches
from fakemq.spark.stores.options import CONSUME_QUEUE, INDEX, LOG, NAME, StoreOptions, store_options
from fakemq.spark.stores.parts import LogPart, log_parts, nodes_of
from fakemq.spark.stores.queues import QueuePart, queue_batches, queue_parts

if TYPE_CHECKING:
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


# The columns of ``format("rocketmq-store")``, by view.

Field = tuple[str, str, pa.DataType]

_SIMPLE = {"long": "bigint"}
"""Where Spark's own name of a type differs."""

_PLACE: tuple[Field, ...] = (
    ("node", "string", pa.string()),
    ("file", "string", pa.string()),
    ("filePosition", "long", pa.int64()),
)
"""The node's folder, the file below it, and bytes from the begin of the file."""

_RECORD: tuple[Field, ...] = (
    *_PLACE,
    ("recordBytes", "long", pa.int64()),
    ("flag", "int", pa.int32()),
    ("bodyCrc", "int", pa.int32()),
    ("preparedTransactionOffset", "long", pa.int64()),
)
"""Fields that only a stored message has. ``recordBytes`` is also the size of a damaged range."""

_UNIT: tuple[Field, ...] = (
    ("topic", "string", pa.string()),
    ("queueId", "int", pa.int32()),
    ("offset", "long", pa.int64()),
    ("commitLogOffset", "long", pa.int64()),
    ("size", "int", pa.int32()),
    ("tagsCode", "long", pa.int64()),
    ("recordFound", "boolean", pa.bool_()),
    *_PLACE,
)
"""``recordFound``: whether the record is where the entry says; null before the begin of the log."""

_ENTRY: tuple[Field, ...] = (
    ("keyHash", "int", pa.int32()),
    ("commitLogOffset", "long", pa.int64()),
    ("storeTimestamp", "timestamp", TIMESTAMP),
    ("slot", "int", pa.int32()),
    ("entry", "int", pa.int32()),
    ("previousEntry", "int", pa.int32()),
    *_PLACE,
)
"""``storeTimestamp`` has a precision of one second, as in the index."""


def store_fields(options: StoreOptions) -> tuple[Field, ...]:
    """Return name, Spark type and Arrow type of a view's columns; the last is the damage column.

    Raise ConfigError if the damage column has the name of another column.
    """
    fields = {LOG: (*MESSAGE_FIELDS, *_RECORD), CONSUME_QUEUE: _UNIT, INDEX: _ENTRY}[options.view]
    if options.include_properties:
        fields = (*MESSAGE_FIELDS, PROPERTIES_FIELD, *_RECORD)
    damage = options.damage_column
    if damage.lower() in (name.lower() for name, _, _ in fields):
        raise ConfigError(
            f"{NAME}: option columnNameOfCorruptRecord is {damage!r}, and view {options.view}"
            " has such a column already"
        )
    return (*fields, (damage, "string", pa.string()))


def store_ddl(options: StoreOptions) -> str:
    """Return the columns as a DDL text for Spark."""
    columns = ((name.replace("`", "``"), ddl) for name, ddl, _ in store_fields(options))
    return ", ".join(f"`{name}` {ddl}" for name, ddl in columns)


def wanted_schema(options: StoreOptions, wanted: StructType) -> pa.Schema:
    """Return the columns that a reader makes: some of a view's columns, in any order.

    Raise ConfigError for a column that the view does not have, or that has another type.
    """
    known = {name: (ddl, arrow) for name, ddl, arrow in store_fields(options)}
    chosen = []
    for field in wanted.fields:
        if field.name not in known:
            more = "; option includeProperties adds it" if field.name == "properties" else ""
            raise ConfigError(
                f"{NAME}: view {options.view} has no column {field.name}"
                f"{did_you_mean(field.name, known)}{more}"
            )
        ddl, arrow = known[field.name]
        if field.dataType.simpleString() != _SIMPLE.get(ddl, ddl):
            raise ConfigError(
                f"{NAME}: column {field.name} is {ddl}, not {field.dataType.simpleString()}"
            )
        chosen.append((field.name, arrow))
    return pa.schema(chosen)
