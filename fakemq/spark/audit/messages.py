"""One row for each message: what producers were told of it, and what has become of it in stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from fakemq.spark.audit.records import DELAYED, GIVEN_UP, HALF, MESSAGE, OP

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STORED, WAITS, LOST, EXPIRED, ROLLED_BACK, ABANDONED, UNPROMISED = (
    *("stored", "waits", "lost", "expired", "rolled back", "given up", "unpromised"),
)
"""What may have become of a message before anybody consumes it."""

ACK_COLUMNS = (
    "topic string, msg_id string, broker string, queue_id int, queue_offset long, phy_offset long,"
    " status string, at_ms long, keys string, seq long,"
    " request long, size_bytes int"
)


def readable(records: DataFrame, logs: DataFrame) -> DataFrame:
    """Records with ``readable``: whether a consumer gets them, or will when a slave takes over.

    What only slaves have is out of reach once their master's log has gone on without it. What a
    master has deleted, as its time was over, is none of that.
    """
    masters = sf.broadcast(logs)
    ends = (
        records.join(masters, "broker")
        .where(sf.array_contains("nodes", sf.col("master")))
        .groupBy("broker")
        .agg(sf.max("phy_offset").alias("log_end"))
    )
    joined = records.join(masters, "broker", "left").join(sf.broadcast(ends), "broker", "left")
    overwritten = (
        sf.col("master").isNotNull()
        & ~sf.array_contains("nodes", sf.col("master"))
        & (sf.col("phy_offset") >= sf.col("log_begin"))
        & (sf.col("phy_offset") < sf.col("log_end"))
    )
    return joined.withColumn("readable", ~sf.coalesce(overwritten, sf.lit(False))).drop(
        "master", "log_begin", "log_end"
    )


def with_ends(records: DataFrame, delays: DataFrame) -> DataFrame:
    """Records with ``over``: of a half message, that its transaction has ended; of a delayed one,
    that its level has passed it.
    """
    ops = records.where((sf.col("kind") == OP) & sf.col("readable"))
    ends = ops.select(
        "broker",
        sf.lit(HALF).alias("kind"),
        "queue_id",
        # RocketMQ 5 has several of them in one record.
        sf.explode(sf.split("ends", ",").cast("array<bigint>")).alias("queue_offset"),
        sf.lit(True).alias("ended"),
    ).dropDuplicates()
    levels = sf.broadcast(delays.withColumn("kind", sf.lit(DELAYED)))
    passed = sf.col("queue_offset") < sf.coalesce("delay_offset", sf.lit(0))
    return (
        records.join(ends, ["broker", "kind", "queue_id", "queue_offset"], "left")
        .join(levels, ["broker", "kind", "queue_id"], "left")
        .withColumn("over", sf.coalesce("ended", sf.lit(False)) | passed)
        .drop("ended", "delay_offset")
    )


def messages(records: DataFrame, acks: DataFrame, logs: DataFrame) -> DataFrame:
    """Everything that was sent or stored, with its ``fate``; see `with_ends` for the records."""
    own = records.where(sf.col("retry_group").isNull())
    kind, over, there = sf.col("kind"), sf.col("over"), sf.col("readable")
    copy = there & (kind == MESSAGE)
    place = sf.struct("stored_ms", "broker", "queue_id", "queue_offset", "phy_offset")
    stored = own.groupBy("topic", "msg_id").agg(
        sf.count_if(copy).alias("copies"),
        sf.count_if(there & (kind == HALF) & ~over).alias("halves"),
        sf.count_if(there & (kind == HALF) & over).alias("ended"),
        sf.count_if(there & (kind == DELAYED) & ~over).alias("delayed"),
        sf.count_if(there & (kind == DELAYED) & over).alias("passed"),
        sf.count_if(there & (kind == GIVEN_UP)).alias("given_up"),
        sf.coalesce(sf.min(sf.when(copy, place)), sf.min(place)).alias("first"),
        sf.max("keys").alias("keys"),
        sf.max("tags").alias("tags"),
        # Enough to say which: nobody stores one message more often than that.
        sf.slice(sf.array_sort(sf.collect_set(sf.when(there, place))), 1, 16).alias("places"),
        sf.array_distinct(sf.flatten(sf.slice(sf.collect_set("nodes"), 1, 16))).alias("nodes"),
    )
    told = acks.groupBy("topic", "msg_id").agg(
        sf.bool_or(sf.coalesce("status", sf.lit("SEND_OK")) == "SEND_OK").alias("promised"),
        sf.count("*").alias("acks"),
        sf.min_by(
            sf.struct(
                *("at_ms", "broker", "queue_id", "queue_offset", "phy_offset", "seq", "size_bytes")
            ),
            # Without a time it counts all the same: else a file that has none says nothing.
            sf.coalesce("at_ms", sf.lit(0)),
        ).alias("ack"),
        sf.max("keys").alias("ack_keys"),
    )
    joined = stored.join(told, ["topic", "msg_id"], "full").join(
        sf.broadcast(logs.select(sf.col("broker").alias("ack_broker"), "log_begin")),
        sf.col("ack.broker") == sf.col("ack_broker"),
        "left",
    )
    return joined.select(
        *("topic", "msg_id", "places", "nodes", "ack"),
        sf.coalesce("copies", sf.lit(0)).alias("copies"),
        sf.coalesce("keys", "ack_keys", sf.lit("")).alias("keys"),
        sf.coalesce("tags", sf.lit("")).alias("tags"),
        _first("broker", "broker", sf.lit("")),
        _first("queue_id", "queue_id", sf.lit(-1)),
        _first("queue_offset", "queue_offset", sf.lit(-1)).alias("offset"),
        _first("phy_offset", "phy_offset"),
        _first("stored_ms", "at_ms", sf.lit(0)).alias("at_ms"),
        sf.col("first.stored_ms").alias("stored_ms"),
        (sf.coalesce("passed", sf.lit(0)) > 0).alias("delay_over"),
        fate().alias("fate"),
    )


def _first(stored: str, told: str, *otherwise: Column) -> Column:
    return sf.coalesce(f"first.{stored}", f"ack.{told}", *otherwise).alias(stored)


def fate() -> Column:
    """What has become of a message, by the columns that `messages` has counted."""

    def some(name: str) -> Column:
        return sf.coalesce(name, sf.lit(0)) > 0

    expired = sf.coalesce(sf.col("ack.phy_offset") < sf.col("log_begin"), sf.lit(False))
    return (
        sf.when(some("copies"), STORED)
        .when(some("halves") | some("delayed"), WAITS)
        .when(some("passed"), LOST)
        .when(some("given_up"), ABANDONED)
        .when(some("ended"), ROLLED_BACK)
        .when(sf.col("ack").isNotNull() & expired, EXPIRED)
        .when(sf.col("promised"), LOST)
        .otherwise(UNPROMISED)
    )
