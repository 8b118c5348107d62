"""The verdict for each message and group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from fakemq.spark.audit.messages import EXPIRED, LOST, STORED, WAITS
from fakemq.spark.audit.summary import Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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
