"""RocketMQ for Apache Spark: data sources, and the audit of what became of every message.

Needs the extra ``spark``: PySpark from 4.2 on. ``register(spark)`` makes two formats known:
``rocketmq`` reads and writes the topics of a cluster, ``rocketmq-store`` reads store directories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make the formats ``rocketmq`` and ``rocketmq-store`` known to a session.

    On a ``local`` master both run with this Python, unless ``PYSPARK_PYTHON`` says another.
    Again does no harm. ImportError where what the extra ``spark`` installs is missing or too old.
    """
    from fakemq.spark.requirements import require_pyspark

    require_pyspark()
    from fakemq.spark.interpreter import this_interpreter
    from fakemq.spark.source import RocketMQDataSource
    from fakemq.spark.store_source import RocketMQStoreDataSource

    with this_interpreter(spark):
        spark.dataSource.register(RocketMQDataSource)
        spark.dataSource.register(RocketMQStoreDataSource)
