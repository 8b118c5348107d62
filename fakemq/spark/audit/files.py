"""The files of other programs: what producers were told, and what consumers got."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from fakemq.errors import ConfigError
from fakemq.spark.audit.inputs import is_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ACKS = (
    "msg_id string, topic string, broker string, queue_id int, queue_offset long,"
    " offset_msg_id string, status string, at_ms long, keys string"
)
"""One row for each send that was answered; of a batch, ids are joined by commas."""

DELIVERIES = (
    "`group` string, client string, msg_id string, topic string, broker string, queue_id int,"
    " offset long, reconsume_times int, at_ms long, result string"
)
"""One row for each time that a consumer was given a message."""

_CORRUPT = "not_read"


class Rejected:
    """How many rows of a file were no such rows; counted when the file has been read."""

    def __init__(self, path: str, what: str, needed: Sequence[str], frame: DataFrame) -> None:
        self._path, self._what, self._needed, self._frame = path, what, needed, frame

    def notes(self) -> list[str]:
        """A line if there were some; ConfigError if there was nothing else."""
        usable = sf.expr(" and ".join(f"`{name}` is not null" for name in self._needed))
        bad, good = self._frame.select(
            sf.count_if(~usable), sf.count_if(usable)
        ).first() or (0, 0)  # fmt: skip
        if bad and not good:
            raise ConfigError(
                f"{self._path}: no {self._what}: each row needs {', '.join(self._needed)};"
                " see docs/audit.md"
            )
        return [f"{self._path}: {bad} rows are no {self._what} and were left out"] if bad else []


def read_rows(
    spark: SparkSession, path: str, ddl: str, *, what: str, needed: Sequence[str]
) -> tuple[DataFrame, Rejected]:
    """The rows of a file of JSON lines or Parquet that have what is needed.

    What a file has no column for is null. ConfigError if it is not there.
    """
    if is_parquet(path):
        found = spark.read.parquet(path)
        wanted = spark.createDataFrame([], ddl).schema
        there = {name.lower(): name for name in found.columns}
        frame = found.select(
            *(
                sf.col(f"`{there[one.name]}`").cast(one.dataType).alias(one.name)
                if one.name in there
                else sf.lit(None).cast(one.dataType).alias(one.name)
                for one in wanted
            )
        )
    else:
        frame = (
            spark.read.schema(f"{ddl}, {_CORRUPT} string")
            .option("columnNameOfCorruptRecord", _CORRUPT)
            .json(path)
            .drop(_CORRUPT)
        )
    usable = sf.expr(" and ".join(f"`{name}` is not null" for name in needed))
    return frame.where(usable), Rejected(path, what, needed, frame)


def one_row_each(acks: DataFrame) -> DataFrame:
    """Acknowledgements of batches as those of their messages, which lie one behind the other."""
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
