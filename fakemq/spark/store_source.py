"""``format("rocketmq-store")``: the files of a broker's store."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

NAME = "rocketmq-store"


class RocketMQStoreDataSource(DataSource):
    """Reads a store directory, the fake's or Java's; what it takes is in docs/spark.md."""

    @classmethod
    def name(cls) -> str:
        return NAME
