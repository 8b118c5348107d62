"""The kind of a stored record, and the message that it belongs to.

A message may become several records: half, delayed, in its topic, and one for each retry. All have
the unique id that the producer assigned; properties contain the first topic.
Source: store/CommitLog.java#asyncPutMessage, broker/processor/SendMessageProcessor.java#
asyncConsumerSendMsgBack, broker/transaction/queue/TransactionalMessageBridge.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as sf

from fakemq.protocol import properties as names
from fakemq.protocol.topics import (
    DLQ_PREFIX,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGE, HALF, OP, DELAYED, RETRY, DLQ, GIVEN_UP = (
    *("message", "half", "op", "delayed", "retry", "dlq"),
    "given up",
)
"""Kinds of records; the last is a half message whose producer never decided."""


def kind_of(topic: Column) -> Column:
    """Return the kind of a record from the topic in which it is stored."""
    return (
        sf.when(topic == TRANS_HALF_TOPIC, HALF)
        .when(topic == TRANS_OP_HALF_TOPIC, OP)
        .when(topic == SCHEDULE_TOPIC, DELAYED)
        .when(topic == TRANS_CHECK_MAX_TIME_TOPIC, GIVEN_UP)
        .when(topic.startswith(RETRY_PREFIX), RETRY)
        .when(topic.startswith(DLQ_PREFIX), DLQ)
        .otherwise(MESSAGE)
    )


def is_system(topic: Column) -> Column:
    """Return True if a topic is RocketMQ's own and contains no messages of applications."""
    return (
        sf.lower(topic).startswith("rmq_sys_")
        | topic.isin("TBW102", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", SCHEDULE_TOPIC)
        | topic.endswith("_REPLY_TOPIC")
        | topic.startswith("%")
    )


def classified(records: DataFrame) -> DataFrame:
    """Classify rows of ``rocketmq-store`` that have ``node`` and ``broker``.

    ``raw_topic`` is the topic of the record, ``topic`` the topic to which the message was sent,
    ``goes_to`` the later topic of a waiting record, and ``retry_group`` the group of a retry.
    """
    raw = sf.col("topic")
    real, retry = _property(names.REAL_TOPIC), _property(names.RETRY_TOPIC)
    found = records.select(
        "node",
        "broker",
        raw.alias("raw_topic"),
        sf.col("queueId").alias("queue_id"),
        sf.col("offset").alias("queue_offset"),
        sf.col("commitLogOffset").alias("phy_offset"),
        sf.unix_millis("timestamp").alias("stored_ms"),
        sf.coalesce(_property(names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX), "offsetMsgId").alias("msg_id"),
        sf.col("offsetMsgId").alias("offset_msg_id"),
        sf.coalesce("key", sf.lit("")).alias("keys"),
        sf.coalesce("tags", sf.lit("")).alias("tags"),
        sf.col("reconsumeTimes").alias("attempt"),
        kind_of(raw).alias("kind"),
        sf.when(raw == SCHEDULE_TOPIC, real).alias("goes_to"),
        sf.when(raw == TRANS_OP_HALF_TOPIC, sf.col("value").cast("string")).alias("ends"),
        real.alias("real_topic"),
        retry.alias("retry_topic"),
    )
    place = sf.coalesce("goes_to", "raw_topic")
    tried_again = place.startswith(RETRY_PREFIX) | place.startswith(DLQ_PREFIX)
    waits = sf.col("kind").isin(HALF, GIVEN_UP, DELAYED)
    return found.select(
        "*",
        sf.when(tried_again, sf.coalesce("retry_topic", place))
        .when(waits, sf.coalesce("real_topic", "raw_topic"))
        .otherwise(sf.col("raw_topic"))
        .alias("topic"),
        sf.when(tried_again, sf.regexp_replace(place, f"^({RETRY_PREFIX}|{DLQ_PREFIX})", "")).alias(
            "retry_group"
        ),
    ).drop("real_topic", "retry_topic")


def _property(name: str) -> Column:
    return sf.col("properties").getItem(name)


def once_each(records: DataFrame) -> DataFrame:
    """Return one row for a record that several nodes of a broker have, with their ``nodes``.

    Nodes whose logs differ have different records at one place.
    """
    keys = ("broker", "raw_topic", "queue_id", "queue_offset", "phy_offset", "msg_id")
    others = [name for name in records.columns if name not in (*keys, "node")]
    return records.groupBy(*keys).agg(
        sf.array_sort(sf.collect_set("node")).alias("nodes"),
        *(sf.first(name).alias(name) for name in others),
    )
