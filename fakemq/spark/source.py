"""``format("rocketmq")``: the topics of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from fakemq.errors import ConfigError
from fakemq.spark.options import Options
from fakemq.spark.records.schema import message_ddl

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from fakemq.spark.reading.batch_reader import RocketMQReader
    from fakemq.spark.reading.stream_reader import RefusedStreamReader, RocketMQStreamReader
    from fakemq.spark.writing.writers import BatchWriter, StreamWriter

NAME = "rocketmq"


class RocketMQDataSource(DataSource):
    """Reads and writes topics, by batch and by stream; docs/spark_read.md lists the options."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        options = Options(NAME, self.options)
        return message_ddl(include_properties=options.flag("includeProperties", False))

    def reader(self, schema: StructType) -> RocketMQReader:
        from fakemq.spark.reading.batch_reader import RocketMQReader
        from fakemq.spark.reading.options import read_options

        options = Options(NAME, self.options)
        return RocketMQReader(read_options(options, streaming=False, columns=schema.names))

    def streamReader(  # noqa: N802 - Spark's name
        self, schema: StructType
    ) -> RocketMQStreamReader | RefusedStreamReader:
        from fakemq.spark.reading.options import read_options
        from fakemq.spark.reading.stream_reader import RefusedStreamReader, RocketMQStreamReader

        options = Options(NAME, self.options)
        try:
            return RocketMQStreamReader(read_options(options, streaming=True, columns=schema.names))
        except ConfigError as error:
            return RefusedStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from fakemq.spark.writing.writers import BatchWriter

        return BatchWriter(Options(NAME, self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802
        from fakemq.spark.writing.writers import StreamWriter

        return StreamWriter(Options(NAME, self.options), schema)
