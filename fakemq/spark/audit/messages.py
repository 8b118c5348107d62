"""One row for each message: the response that its producer got, and its records in the stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from fakemq.spark.audit.records import DELAYED, GIVEN_UP, HALF, MESSAGE, OP
from fakemq.spark.audit.summary import Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STORED, WAITS, LOST, EXPIRED, ROLLED_BACK, ABANDONED, UNPROMISED = (
    *("stored", "waits", "lost", "expired", "rolled back", "given up", "unpromised"),
)
"""What may have happened to a message before it is consumed."""

ACK_COLUMNS = (
    "topic string, msg_id string, broker string, queue_id int, queue_offset long, phy_offset long,"
    " status string, at_ms long, keys string, seq long,"
    " request long, size_bytes int"
)


def readable(records: DataFrame, logs: DataFrame, cuts: Mapping[str, int]) -> DataFrame:
    """Add ``readable`` to records: whether a consumer can read them, now or from a slave later.

    A record that only slaves have is not readable once their master's log has continued without
    it. A record that a master deleted because of its age is not of this kind. Nor is one readable
    that no node has before the place in ``cuts`` at which its master will cut its log.
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
        & (sf.col("phy_offset") <= sf.col("log_end"))
    )
    gone = sf.coalesce(overwritten, sf.lit(False))
    if cuts:
        cut_at = sf.create_map(*(sf.lit(part) for pair in cuts.items() for part in pair))
        gone |= ~sf.exists(
            "nodes",
            lambda node: sf.coalesce(sf.col("phy_offset") < cut_at[node], sf.lit(True)),
        )
    return joined.withColumn("readable", ~gone).drop("master", "log_begin", "log_end")


def with_ends(records: DataFrame, delays: DataFrame) -> DataFrame:
    """Add ``over`` to records: the transaction of a half message has ended, or the level of a
    delayed message has passed it.
    """
    ops = records.where((sf.col("kind") == OP) & sf.col("readable"))
    ends = ops.select(
        "broker",
        sf.lit(HALF).alias("kind"),
        "queue_id",
        # RocketMQ 5 stores several of them in one record.
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
    """Return everything that was sent or stored, with its ``fate``; see `with_ends` for records."""
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
        # Enough to show; a message is hardly ever stored more often.
        sf.slice(sf.array_sort(sf.collect_set(sf.when(there, place))), 1, 16).alias("places"),
        sf.array_distinct(sf.flatten(sf.slice(sf.collect_set("nodes"), 1, 16))).alias("nodes"),
    )
    acknowledged = acks.groupBy("topic", "msg_id").agg(
        sf.bool_or(sf.coalesce("status", sf.lit("SEND_OK")) == "SEND_OK").alias("promised"),
        sf.count("*").alias("acks"),
        sf.min_by(
            sf.struct(
                *("at_ms", "broker", "queue_id", "queue_offset", "phy_offset", "seq", "size_bytes")
            ),
            # A row without a time counts too; otherwise a file without times would be ignored.
            sf.coalesce("at_ms", sf.lit(0)),
        ).alias("ack"),
        sf.max("keys").alias("ack_keys"),
    )
    joined = stored.join(acknowledged, ["topic", "msg_id"], "full").join(
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


def _first(stored: str, acknowledged: str, *otherwise: Column) -> Column:
    return sf.coalesce(f"first.{stored}", f"ack.{acknowledged}", *otherwise).alias(stored)


def fate() -> Column:
    """Return the column ``fate``, from the counts of `messages`."""

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


# The verdict for each message and group.


def verdicts(messages: DataFrame, groups: DataFrame, consumption: DataFrame) -> DataFrame:
    """Add ``verdict`` to messages and groups; null if nothing can be said."""
    consumers = groups.select("topic", "group", "watched")
    per_group = messages.join(sf.broadcast(consumers), "topic", "left").withColumn(
        "group", sf.coalesce("group", sf.lit(""))
    )
    joined = per_group.join(consumption, ["topic", "group", "msg_id"], "left")
    return joined.withColumn("deliveries", sf.coalesce("deliveries", sf.lit(0))).withColumn(
        "verdict", verdict()
    )


def verdict() -> Column:
    """Return the verdict from the columns of `messages.messages` and `consumption.by_message`."""

    def so(name: str) -> Column:
        return sf.coalesce(name, sf.lit(False))

    fate, delivered = sf.col("fate"), sf.col("deliveries") > 0
    twice = (sf.col("copies") > 1) | so("taken_twice") | so("tried_twice")
    due_later = (fate == WAITS) | so("due_later") | (sf.col("group") == "")
    nothing_known = so("unknown") & ~delivered & (sf.col("copies") < 2)
    consumed = so("consumed") | delivered
    return (
        sf.when(fate == LOST, Verdict.LOST.value)
        .when(fate.isin(STORED, WAITS) & so("stuck"), Verdict.STUCK.value)
        .when(nothing_known, None)
        .when(twice & fate.isin(STORED, WAITS, EXPIRED), Verdict.DUPLICATED.value)
        .when(sf.col("late").isNotNull(), Verdict.OUT_OF_ORDER.value)
        .when(due_later & fate.isin(STORED, WAITS), Verdict.PENDING.value)
        .when(consumed & fate.isin(STORED, WAITS, EXPIRED), Verdict.DELIVERED.value)
    )
