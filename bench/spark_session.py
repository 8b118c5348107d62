"""A Spark session as on a user's machine, and what a query costs in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from bench.family import resident_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER = "local[2]"
HEAP = "2g"
"""``binaryFile`` makes an array of each file, and copies it."""
_MIB = 1 << 20


class Memory(NamedTuple):
    """The driver's memory in MiB: its JVM's heap after a collection, and its resident Python."""

    heap_mib: float
    python_mib: float


@contextmanager
def session() -> Iterator[SparkSession]:
    """Start a session on ``local[2]`` with our formats; stop it at the end."""
    import fakemq.spark
    from fakemq.spark.requirements import require_pyspark

    require_pyspark()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with TemporaryDirectory(prefix="fakemq-bench-") as folder:
        spark = (
            SparkSession.builder.master(MASTER)
            .appName("fakemq bench")
            .config("spark.driver.memory", HEAP)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(Path(folder, "warehouse")))
            .config("spark.local.dir", str(Path(folder, "local")))
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        fakemq.spark.register(spark)
        try:
            yield spark
        finally:
            spark.stop()


class Result(NamedTuple):
    """The result of a query that read everything."""

    rows: int
    value_bytes: int
    seconds: float


def read_all(frame: DataFrame, value: str = "value") -> Result:
    """Count the rows and the bytes of one column."""
    begin = perf_counter()
    row = frame.selectExpr("count(*)", f"sum(length({value}))").first()
    passed_s = perf_counter() - begin
    assert row is not None
    return Result(row[0], row[1] or 0, passed_s)


def topic(spark: SparkSession, namesrv_addr: str, name: str) -> DataFrame:
    """Return all messages of a topic."""
    reader = spark.read.format("rocketmq").option("nameServer", namesrv_addr)
    return reader.option("subscribe", name).load()


def store(spark: SparkSession, folder: Path) -> DataFrame:
    """Return all records of a store."""
    return spark.read.format("rocketmq-store").load(str(folder))


def log_files(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the same files as Spark's own reader returns them, whole: the fastest reader here."""
    return spark.read.format("binaryFile").load(str(folder / "commitlog"))


def driver_memory(spark: SparkSession) -> Memory:
    """Return the driver's memory while no query runs."""
    jvm = spark._jvm
    assert jvm is not None
    runtime = jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    used: int = runtime.totalMemory() - runtime.freeMemory()
    return Memory(used / _MIB, resident_bytes(os.getpid()) / _MIB)
