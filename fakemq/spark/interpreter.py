"""Which Python runs the formats: the one that has fakemq, unless the user says another.

Spark starts what is set by ``PYSPARK_PYTHON``, else the first ``python3`` on the PATH. With a
virtual environment that is not activated that one finds no fakemq, and says no more than so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SPARKS_DEFAULT = "python3"


@contextmanager
def this_interpreter(spark: SparkSession) -> Iterator[None]:
    """What is registered in here runs with this Python, where all of Spark is on this machine.

    Functions of the user's own keep the Python they have. A ``PYSPARK_PYTHON`` that is set is
    left alone, and so is a cluster, whose machines may have nothing at this path.
    """
    context = _context(spark)
    if (
        context is None
        or context.pythonExec != _SPARKS_DEFAULT
        or "PYSPARK_PYTHON" in os.environ
        or not str(context.master).startswith("local")
        or not sys.executable
    ):
        yield
        return
    context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = _SPARKS_DEFAULT


def _context(spark: object) -> SparkContext | None:
    """None for a session of Spark Connect, whose Python is its server's affair."""
    from pyspark.sql import SparkSession

    return spark.sparkContext if isinstance(spark, SparkSession) else None
