"""Deliveries from journals and from consumers' own files, as places in stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = (
    "`group` string, broker string, raw_topic string, topic string, queue_id int,"
    " queue_offset long, msg_id string, attempt int, ok boolean, at_ms long, position long,"
    " journaled boolean"
)
"""``position`` is the order: the number in the journal, if ``journaled``, else the time.
``ok`` is false if the consumer requested a retry.
"""

_DONE = ("CONSUME_SUCCESS", "SUCCESS", "COMMIT", "ACK", "OK", "")


def of_journal(delivered: DataFrame) -> DataFrame:
    """Return the deliveries of a journal: each pull response that was sent counts."""
    return delivered.select(
        *("group", "broker", sf.col("topic").alias("raw_topic"), "topic", "queue_id"),
        *("queue_offset", "msg_id", sf.lit(None).cast("int").alias("attempt")),
        *(sf.lit(True).alias("ok"), "at_ms", sf.col("seq").alias("position")),
        sf.lit(True).alias("journaled"),
    )


def of_file(rows: DataFrame) -> DataFrame:
    """Return the deliveries that consumers recorded; clients show a retry under its first topic."""
    again = sf.coalesce("reconsume_times", sf.lit(0)) > 0
    retry = sf.concat(sf.lit(RETRY_PREFIX), sf.col("group"))
    shown = sf.col("topic").startswith(RETRY_PREFIX)
    return rows.select(
        *("group", "broker", sf.when(again & ~shown, retry).otherwise(sf.col("topic"))),
        *("topic", "queue_id", sf.col("offset").alias("queue_offset"), "msg_id"),
        sf.coalesce("reconsume_times", sf.lit(0)).alias("attempt"),
        sf.upper(sf.coalesce("result", sf.lit(""))).isin(*_DONE).alias("ok"),
        *("at_ms", sf.col("at_ms").alias("position"), sf.lit(False).alias("journaled")),
    ).toDF(*_names())


def _names() -> list[str]:
    return [one.split()[0].strip("`") for one in COLUMNS.split(", ")]


def located(deliveries: DataFrame, records: DataFrame) -> DataFrame:
    """Add to deliveries the message, broker and attempt of the delivered record.

    A record that is in no store any more keeps the fields from its file.
    """
    place = ["raw_topic", "queue_id", "queue_offset"]
    known = records.select(
        *place,
        *(sf.col(name).alias(f"its_{name}") for name in ("broker", "msg_id", "topic", "attempt")),
    )
    same = (
        sf.coalesce(sf.col("its_broker") == sf.col("broker"), sf.lit(True))
        & sf.coalesce(sf.col("its_msg_id") == sf.col("msg_id"), sf.lit(True))
        & sf.col("its_msg_id").isNotNull()
    )
    # A place may belong to several brokers, or have had other records: keep the delivery once.
    numbered = deliveries.withColumn("delivery", sf.monotonically_increasing_id())
    match = sf.min(
        sf.when(same, sf.struct("its_broker", "its_msg_id", "its_topic", "its_attempt"))
    ).alias("its")
    others = [name for name in numbered.columns if name not in (*place, "delivery")]
    found = (
        numbered.join(known, place, "left")
        .groupBy("delivery", *place)
        .agg(match, *(sf.first(name).alias(name) for name in others))
    )
    return found.select(
        *(*place, "group", "ok", "at_ms", "position", "journaled"),
        *(
            sf.coalesce(f"its.its_{name}", name).alias(name)
            for name in ("topic", "msg_id", "attempt")
        ),
        sf.coalesce("its.its_broker", "broker", sf.lit("")).alias("broker"),
    ).where(sf.col("msg_id").isNotNull())


def by_place(deliveries: DataFrame) -> DataFrame:
    """Return how often and when each place was delivered to each group."""
    position = sf.array_sort(sf.collect_list(sf.struct("position", "at_ms")))
    return (
        deliveries.groupBy(
            *("topic", "msg_id", "group", "broker", "raw_topic", "queue_id", "queue_offset"),
            "attempt",
        )
        .agg(
            sf.count("*").alias("times"),
            sf.count_if("ok").alias("taken"),
            sf.slice(position, 1, 2).alias("first_two"),
            sf.bool_or("journaled").alias("journaled"),
        )
        .select(
            "*",
            sf.col("first_two")[0]["position"].alias("first_position"),
            sf.col("first_two")[0]["at_ms"].alias("first_ms"),
            sf.get("first_two", sf.lit(1))["position"].alias("second_position"),
        )
        .drop("first_two")
    )
