"""Files of other programs: the responses that producers got, and what consumers received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

from fakemq.errors import ConfigError
from fakemq.spark.audit.inputs import is_parquet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ACKS = (
    "msg_id string, topic string, broker string, queue_id int, queue_offset long,"
    " offset_msg_id string, status string, at_ms long, keys string"
)
"""One row for each send that was answered; the ids of a batch are joined by commas."""

DELIVERIES = (
    "`group` string, client string, msg_id string, topic string, broker string, queue_id int,"
    " offset long, reconsume_times int, at_ms long, result string"
)
"""One row for each message that a consumer received."""

_CORRUPT = "not_read"


class Rows(NamedTuple):
    """The rows of a file, some of which may be invalid."""

    path: str
    what: str
    needed: Sequence[str]
    frame: DataFrame

    @property
    def is_usable(self) -> Column:
        """Return a column: whether a row of ``frame`` has all needed fields."""
        return sf.expr(" and ".join(f"`{name}` is not null" for name in self.needed))

    @property
    def usable(self) -> DataFrame:
        return self.frame.where(self.is_usable)

    def notes(self) -> list[str]:
        """Return a line if rows are left out or missing. Raise ConfigError if none is usable."""
        is_usable = self.is_usable
        try:
            bad, good = self.frame.select(
                sf.count_if(~is_usable), sf.count_if(is_usable)
            ).first() or (0, 0)  # fmt: skip
        except PySparkException as error:
            raise _unreadable(self.path, error) from None
        if bad and not good:
            raise ConfigError(
                f"{self.path}: has no {self.what}: each line or row needs"
                f" {', '.join(self.needed)}; see docs/audit.md"
            )
        if not good:
            return [f"{self.path}: has no {self.what}: it is empty"]
        return [f"{self.path}: {bad} rows are not {self.what} and were left out"] if bad else []


def read_rows(
    spark: SparkSession, path: str, ddl: str, *, what: str, needed: Sequence[str]
) -> Rows:
    """Return the rows of a file of JSON lines or Parquet.

    A missing column, or one of another type, is null. Raise ConfigError if the file is missing or
    damaged.
    """
    if not is_parquet(path):
        frame = (
            spark.read.schema(f"{ddl}, {_CORRUPT} string")
            .option("columnNameOfCorruptRecord", _CORRUPT)
            .json(path)
            .drop(_CORRUPT)
        )
        return Rows(path, what, needed, frame)
    wanted = spark.createDataFrame([], ddl).schema
    try:
        found = spark.read.parquet(path)
        there = {name.lower(): name for name in found.columns}
        frame = found.select(
            *(
                sf.col(f"`{there[one.name]}`").try_cast(one.dataType).alias(one.name)
                if one.name in there
                else sf.lit(None).cast(one.dataType).alias(one.name)
                for one in wanted
            )
        )
    except Exception as error:  # an exception of Spark, or one of Java that Spark passes through
        raise _unreadable(path, error) from None
    return Rows(path, what, needed, frame)


def acks(spark: SparkSession, path: str) -> Rows:
    """Return the rows of a file of `ACKS`."""
    return read_rows(spark, path, ACKS, what="acknowledgements", needed=("topic",))


def deliveries(spark: SparkSession, path: str) -> Rows:
    """Return the rows of a file of `DELIVERIES`."""
    needed = ("group", "topic", "msg_id")
    return read_rows(spark, path, DELIVERIES, what="deliveries", needed=needed)


def _unreadable(path: str, error: Exception) -> ConfigError:
    """Return an error with the first line of Spark's text."""
    said = str(getattr(error, "java_exception", error)).strip().splitlines()
    return ConfigError(f"{path}: cannot be read: {said[0] if said else type(error).__name__}")


def one_row_each(acks: DataFrame) -> DataFrame:
    """Return the acknowledgements of batches as one row for each message; those are adjacent."""
    ids = sf.split(sf.coalesce("msg_id", "offset_msg_id"), ",")
    offset_ids = sf.split(sf.coalesce("offset_msg_id", sf.lit("")), ",")
    return (
        acks.withColumn("offset_ids", offset_ids)
        .select("*", sf.posexplode(ids).alias("member", "id"))
        .withColumn("offset_msg_id", sf.nullif(sf.get("offset_ids", sf.col("member")), sf.lit("")))
        .withColumn("msg_id", sf.when(sf.col("msg_id").isNotNull(), sf.col("id")))
        .withColumn("queue_offset", sf.col("queue_offset") + sf.col("member"))
        .drop("offset_ids", "member", "id")
    )
