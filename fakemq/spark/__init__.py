"""RocketMQ for Apache Spark: data sources, and an audit of every message.

It needs the extra ``spark``: PySpark 4.2 or newer. ``register(spark)`` adds two formats:
``rocketmq`` reads and writes the topics of a cluster, ``rocketmq-store`` reads store directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Add the formats ``rocketmq`` and ``rocketmq-store`` to a session.

    On a ``local`` master both run with this Python, unless ``PYSPARK_PYTHON`` names another.
    Calling it again has no effect. Raise ImportError if the packages of the extra ``spark`` are
    missing or too old.
    """
    from fakemq.spark.requirements import require_pyspark

    require_pyspark()
    from fakemq.spark.interpreter import this_interpreter
    from fakemq.spark.source import RocketMQDataSource
    from fakemq.spark.store_source import RocketMQStoreDataSource

    with this_interpreter(spark):
        spark.dataSource.register(RocketMQDataSource)
        spark.dataSource.register(RocketMQStoreDataSource)
