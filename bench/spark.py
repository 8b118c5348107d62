"""Spark on our data sources: reading beside others' reading, growth, the driver's memory."""

from __future__ import annotations

from collections.abc import Iterator

from bench import spark_growth, spark_reading
from bench.measure import Figure, Plan
from bench.spark_session import session


def figures(plan: Plan) -> Iterator[Figure]:
    """Rows a second with ratios, curves over files and queues, what the driver holds."""
    with session() as spark:
        yield from spark_growth.figures(plan, spark)
        yield from spark_reading.figures(plan, spark)
