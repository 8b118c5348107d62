"""Which Python runs the formats: the one that has fakemq, unless the user names another.

Spark starts the Python in ``PYSPARK_PYTHON``, else the first ``python3`` on the PATH. If a virtual
environment is not activated, that Python has no fakemq, and Spark's error only says so.
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
    """Formats registered in this context run with this Python if all of Spark is on this machine.

    The user's own functions keep their Python. A ``PYSPARK_PYTHON`` that is set is not changed,
    and neither is a cluster, whose machines may not have this path.
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
    """Return the context; None for a session of Spark Connect, whose server chooses the Python."""
    from pyspark.sql import SparkSession

    return spark.sparkContext if isinstance(spark, SparkSession) else None
