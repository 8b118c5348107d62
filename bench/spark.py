"""Spark with our data sources: reading beside other readers, growth, the driver's memory."""

from __future__ import annotations

from collections.abc import Iterator

from bench import spark_growth, spark_reading
from bench.measure import Figure, Plan
from bench.spark_session import session


def figures(plan: Plan) -> Iterator[Figure]:
    """Yield rows a second with ratios, curves over files and queues, the driver's memory."""
    with session() as spark:
        yield from spark_growth.figures(plan, spark)
        yield from spark_reading.figures(plan, spark)
