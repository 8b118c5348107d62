"""``format("rocketmq")``: the topics of a cluster."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

from fakemq.spark.options import Options
from fakemq.spark.schema import message_ddl

NAME = "rocketmq"


class RocketMQDataSource(DataSource):
    """Reads and writes topics, by batch and by stream; what it takes is in docs/spark.md."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        options = Options(NAME, self.options)
        return message_ddl(include_properties=options.flag("includeProperties", False))
