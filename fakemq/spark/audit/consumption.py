"""One row for each message and group: whether it was delivered, how often, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from fakemq.spark.audit.records import DELAYED, DLQ, MESSAGE, RETRY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLACE = ["topic", "msg_id", "group", "broker", "raw_topic", "queue_id", "queue_offset"]


def attempts(records: DataFrame, groups: DataFrame, taken: DataFrame) -> DataFrame:
    """Return every record that a group should receive, and how often it was delivered.

    ``groups`` has the consumers of each ``topic``, ``taken`` is from `deliveries.by_place`.
    """
    there = records.where(sf.col("readable"))
    own = there.where(sf.col("kind") == MESSAGE).join(sf.broadcast(groups), "topic")
    again = there.where(sf.col("retry_group").isNotNull()).join(
        sf.broadcast(groups),
        (groups.group == sf.col("retry_group")) & (groups.topic == there.topic),
    )
    columns = ("kind", "over", "tags", "stored_ms", "attempt", "watched", "chosen")
    again = again.drop(groups.topic).select(*_PLACE, *columns)
    expected = own.select(*_PLACE, *columns).unionByName(again)
    return expected.join(taken.drop("attempt"), _PLACE, "full").withColumn(
        "times", sf.coalesce("times", sf.lit(0))
    )


def placed(attempts: DataFrame, positions: DataFrame) -> DataFrame:
    """Add to attempts what is known of their queues.

    That is: the committed offset, the first and last delivered offset, and whether a message was
    delivered after a later one.
    """
    queue = ["broker", "raw_topic", "queue_id", "group"]
    reached = (
        attempts.where(sf.col("times") > 0)
        .groupBy(*queue)
        .agg(
            sf.min("queue_offset").alias("begin_offset"),
            sf.max("queue_offset").alias("reached_offset"),
        )
    )
    in_queue = Window.partitionBy(*queue).orderBy(sf.col("queue_offset").desc())
    # By offset: after a loss, or with two masters, different records had one.
    behind = in_queue.rangeBetween(Window.unboundedPreceding, -1)
    first = sf.when(sf.col("kind") == MESSAGE, sf.col("first_position"))
    overtaken = sf.coalesce(first > sf.col("behind_position"), sf.lit(False))
    return (
        attempts.withColumn("behind_position", sf.min(first).over(behind))
        .withColumn("overtaken", overtaken)
        .join(positions, queue, "left")
        .join(reached, queue, "left")
    )


def judged(placed: DataFrame) -> DataFrame:
    """Add the columns ``consumed``, ``stuck``, ``due_later`` and ``unknown`` to attempts.

    There are three cases:
    1. If no deliveries of a group were recorded, it consumed everything before its offsets.
    2. If they were, nothing is known from before the record began.
    3. A group that never received a message with some tag does not subscribe to that tag.
    """
    waits = sf.col("kind").isin(DELAYED, DLQ)
    got = sf.col("times") > 0
    passed = sf.coalesce(sf.col("queue_offset") < sf.col("committed"), sf.lit(False))
    begun = sf.coalesce(sf.col("queue_offset") >= sf.col("begin_offset"), sf.lit(False))
    overtook = sf.coalesce(sf.col("queue_offset") < sf.col("reached_offset"), sf.lit(False))
    tag = ["topic", "group", "tags"]
    tags = placed.where(got & sf.col("tags").isNotNull()).select(*tag).distinct()
    wanted = sf.coalesce("wanted", sf.lit(False))
    known = placed.join(tags.withColumn("wanted", sf.lit(True)), tag, "left")
    missed = sf.col("watched") & ~got & (passed | overtook)
    retry = sf.col("kind") == RETRY
    return known.select(
        "*",
        (got | (~sf.col("watched") & passed)).alias("consumed"),
        (~waits & missed & (retry | (begun & wanted & ~sf.col("chosen")))).alias("stuck"),
        (~waits & ~got & ~passed & ~(sf.col("watched") & overtook)).alias("due_later"),
        (~waits & ~retry & missed & ~(begun & wanted & ~sf.col("chosen"))).alias("unknown"),
    )


def by_message(judged: DataFrame) -> DataFrame:
    """Return one row for each message and group, all retries included."""
    retry, delayed = sf.col("kind") == RETRY, sf.col("kind") == DELAYED
    own = sf.coalesce(sf.col("kind") == MESSAGE, sf.lit(False))
    tried = sf.collect_list(sf.when(retry, sf.col("attempt"))).alias("tried")
    waiting = sf.collect_set(sf.when(delayed & ~sf.col("over"), sf.col("attempt"))).alias("waiting")
    gone = sf.collect_set(sf.when(delayed & sf.col("over"), sf.col("attempt"))).alias("gone")
    place = ("broker", "raw_topic", "queue_id", "queue_offset", "journaled")
    twice = sf.struct("first_position", "second_position", *place)
    late = sf.struct(
        sf.col("behind_position").alias("first_position"),
        sf.col("first_position").alias("second_position"),
        *place,
    )
    found = judged.groupBy("topic", "group", "msg_id").agg(
        sf.sum("times").alias("deliveries"),
        sf.max(sf.coalesce("taken", sf.lit(0))).alias("most_taken"),
        sf.min(sf.when(sf.col("taken") > 1, twice)).alias("again"),
        sf.min(sf.when(sf.col("overtaken"), late)).alias("late"),
        sf.min("first_ms").alias("first_ms"),
        sf.min(sf.when(own, sf.col("first_position"))).alias("first_position"),
        sf.bool_or(sf.coalesce("consumed", sf.lit(False))).alias("consumed"),
        sf.bool_or(sf.coalesce("stuck", sf.lit(False))).alias("stuck"),
        sf.min(
            sf.when(sf.col("stuck"), sf.struct("raw_topic", "committed", "reached_offset"))
        ).alias("stuck_at"),
        sf.bool_or(sf.coalesce(sf.col("due_later") & own, sf.lit(False))).alias("own_due_later"),
        sf.bool_or(sf.coalesce(sf.col("due_later") & ~own, sf.lit(False))).alias("due_later"),
        sf.bool_or(sf.coalesce("unknown", sf.lit(False))).alias("unknown"),
        sf.bool_or(sf.coalesce(sf.col("kind") == DLQ, sf.lit(False))).alias("dead"),
        *(tried, waiting, gone),
    )
    lost_retries = sf.array_except("gone", "tried")
    return found.select(
        *("topic", "group", "msg_id", "deliveries", "first_ms", "first_position", "consumed"),
        *("again", "late", "unknown", "dead", "stuck_at"),
        (sf.col("stuck") | ((sf.size(lost_retries) > 0) & ~sf.col("dead"))).alias("stuck"),
        (sf.size(lost_retries) > 0).alias("retry_gone"),
        (sf.size("tried") > sf.size(sf.array_distinct("tried"))).alias("tried_twice"),
        (sf.col("most_taken") > 1).alias("taken_twice"),
        (
            sf.col("due_later")
            # A delivery may be known without its place.
            | (sf.col("own_due_later") & (sf.col("deliveries") == 0))
            | (sf.size(sf.array_except("waiting", "tried")) > 0)
        ).alias("due_later"),
    )
