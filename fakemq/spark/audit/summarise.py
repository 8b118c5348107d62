"""Reduces the tables of an audit to what fits one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from fakemq.protocol.java import LONG_MAX
from fakemq.spark.audit import messages as fates
from fakemq.spark.audit.records import MESSAGE
from fakemq.spark.audit.summary import Count, FaultSummary, LagPoint, MessageSummary, Store, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from fakemq.spark.audit.inputs import RunNode
    from fakemq.spark.audit.pipeline import AuditRequest, RunTables

FINDINGS = (Verdict.LOST, Verdict.STUCK, Verdict.DUPLICATED, Verdict.OUT_OF_ORDER)
"""The verdicts that make a command exit with 1, the worst first."""

MESSAGES_AT_MOST = 10_000
DAMAGED_AT_MOST = 1_000
LAG_POINTS = 200
SECONDS_AT_MOST = 100_000
FAULTS_AT_MOST = 1_000
_MS_A_SECOND = 1000


def by_group(verdicts: DataFrame) -> list[Row]:
    """Return one row with all counts for each topic and group, in one job."""
    took = sf.greatest(sf.col("first_ms") - sf.col("stored_ms"), sf.lit(0))
    return (
        verdicts.groupBy("topic", "group")
        .agg(
            *(sf.count_if(sf.col("verdict") == one.value).alias(one.value) for one in Verdict),
            sf.count_if(sf.col("verdict").isNull() & sf.col("unknown")).alias("unknown"),
            sf.count_if("dead").alias("dead"),
            sf.percentile_approx(took, [0.5, 0.99]).alias("some"),
            sf.max(took).alias("most"),
        )
        .orderBy("topic", "group")
        .collect()
    )


def counts(rows: Iterable[Row]) -> list[Count]:
    """Return the number of messages with each verdict, by topic and group."""
    return [
        Count(row.topic, row.group, verdict, row[verdict.value])
        for row in rows
        for verdict in Verdict
        if row[verdict.value]
    ]


def latencies(rows: Iterable[Row]) -> list[tuple[str, int, int, int]]:
    """Return the times of messages from stored to first delivered, by topic and group."""
    return [(f"{row.topic} / {row.group}", *row["some"], row.most) for row in rows if row["some"]]


def findings(verdicts: DataFrame) -> DataFrame:
    """Return the rows that a user has to look at."""
    return verdicts.where(sf.col("verdict").isin(*(one.value for one in FINDINGS)))


def found_messages(with_causes: DataFrame) -> list[MessageSummary]:
    """Return the first findings; the worst come first."""
    rank = sf.array_position(sf.array(*(sf.lit(one.value) for one in FINDINGS)), sf.col("verdict"))
    rows = (
        with_causes.orderBy(
            rank, "topic", "group", "at_ms", "broker", "queue_id", "offset", "msg_id"
        )
        .limit(MESSAGES_AT_MOST)
        .select(
            *("topic", "group", "verdict", "msg_id", "keys", "broker", "queue_id", "offset"),
            *("at_ms", "deliveries", "cause"),
        )
        .collect()
    )
    return [
        MessageSummary(
            topic=row.topic,
            group=row.group,
            verdict=Verdict(row.verdict),
            msg_id=row.msg_id,
            keys=row["keys"],
            broker=row.broker,
            queue_id=row.queue_id,
            offset=row.offset,
            at_ms=row.at_ms,
            deliveries=row.deliveries,
            cause=row.cause,
        )
        for row in rows
    ]


def by_node(tables: RunTables) -> list[Row]:
    """Return the number of records that a node ``held``, and of those ``missing`` but on others."""
    begins = [(one.name, one.broker, one.stored().log.min_offset) for one in tables.nodes]
    spark = tables.records.sparkSession
    nodes = spark.createDataFrame(begins, "node string, broker string, log_begin long")
    has = sf.array_contains("nodes", sf.col("node"))
    is_due = (sf.col("kind") == MESSAGE) & (sf.col("phy_offset") >= sf.col("log_begin"))
    return (
        tables.records.join(sf.broadcast(nodes), "broker")
        .groupBy("node", "broker", "kind")
        .agg(
            sf.count_if(has).alias("held"),
            sf.count_if(~has & is_due & sf.col("readable")).alias("missing"),
        )
        .orderBy("node", "kind")
        .collect()
    )


def stores(tables: RunTables, rows: Iterable[Row]) -> list[Store]:
    """Return what each node contains, and what is missing there."""
    damaged: dict[str, list[str]] = {}
    for row in tables.damage.limit(DAMAGED_AT_MOST).collect():
        line = f"{row.file}:{row.filePosition}: {row.damage}"
        damaged.setdefault(row.node, []).append(line)
    held: dict[str, dict[str, int]] = {}
    missing: Counter[str] = Counter()
    for row in rows:
        missing[row.node] += row.missing
        if row.held:
            held.setdefault(row.node, {})[row.kind] = row.held
    return [
        Store(one.name, held.get(one.name, {}), missing[one.name], damaged.get(one.name, []))
        for one in tables.nodes
    ]


def span(tables: RunTables) -> tuple[int, int]:
    """Return the first and last time of any data, in ms since the epoch; 0 without data."""
    times = (
        tables.records.select("stored_ms")
        .unionAll(tables.taken.select("first_ms"))
        .unionAll(tables.acks.select("at_ms"))
        .toDF("ms")
    )
    begin, end = times.agg(sf.min("ms"), sf.max("ms")).first() or (None, None)
    return (begin or 0, end or 0)


def lag(verdicts: DataFrame, begin_ms: int, end_ms: int) -> DataFrame:
    """Return messages stored and not yet delivered, by topic and group, at the end of each step.

    For a group whose deliveries were not recorded, only the lag at the end is known.
    """
    step_ms = max(1, -(-(end_ms - begin_ms + 1) // LAG_POINTS))
    mine = verdicts.where((sf.col("group") != "") & (sf.col("fate") == fates.STORED)).where(
        sf.col("verdict").isNotNull()
    )
    stored = sf.when(sf.col("watched"), sf.col("stored_ms")).otherwise(sf.lit(end_ms))
    got = sf.when(sf.col("watched"), sf.greatest("first_ms", "stored_ms")).otherwise(sf.lit(end_ms))
    consumed = sf.when(sf.col("watched"), sf.col("first_ms").isNotNull()).otherwise(
        sf.col("consumed")
    )
    changes = mine.select(
        *("topic", "group"),
        sf.explode(
            sf.array(
                sf.struct(stored.alias("ms"), sf.lit(1).alias("by")),
                sf.struct(sf.when(consumed, got).alias("ms"), sf.lit(-1).alias("by")),
            )
        ).alias("change"),
    ).where(sf.col("change.ms").isNotNull())
    step = sf.floor((sf.col("change.ms") - begin_ms) / step_ms)
    steps = changes.groupBy("topic", "group", step.alias("step")).agg(
        sf.sum("change.by").alias("by")
    )
    so_far = Window.partitionBy("topic", "group").orderBy("step")
    return steps.select(
        *("topic", "group"),
        sf.least(sf.lit(begin_ms) + (sf.col("step") + 1) * step_ms - 1, sf.lit(end_ms)).alias(
            "at_ms"
        ),
        sf.sum("by").over(so_far).alias("messages"),
    )


def lag_points(frame: DataFrame) -> list[LagPoint]:
    rows = frame.orderBy("topic", "group", "at_ms").collect()
    return [LagPoint(row.topic, row.group, row.at_ms, row.messages) for row in rows]


def per_second(taken: DataFrame) -> list[tuple[int, int]]:
    """Return the number of first deliveries in each second that had any."""
    second = sf.floor(sf.col("first_ms") / _MS_A_SECOND).alias("second")
    rows = (
        taken.where(sf.col("first_ms").isNotNull())
        .groupBy(second)
        .agg(sf.sum("times"))
        .orderBy("second")
        .limit(SECONDS_AT_MOST)
        .collect()
    )
    return [(row[0], row[1]) for row in rows]


def unknown(asked: AuditRequest, counts: Sequence[Count]) -> list[str]:
    """Return requested groups and topics that occur nowhere; they may be misspelt."""
    groups, topics = {one.group for one in counts}, {one.topic for one in counts}
    return [
        f"group {group}: no input has an offset or a delivery of it"
        for group in asked.groups
        if group not in groups
    ] + [
        f"topic {topic}: no input has a message of it"
        for topic in asked.topics
        if topic not in topics
    ]


def notes(tables: RunTables, groups: Sequence[Row], nodes: Iterable[Row]) -> list[str]:
    """Return what could not be judged, and why; takes the rows of `by_group` and `by_node`."""
    found = list(tables.notes)
    rows = (
        tables.messages.where(sf.col("fate") != fates.STORED).groupBy("topic", "fate").count()
    ).collect()
    for row in sorted(rows):
        text = _FATES.get(row.fate)
        if text is not None:
            found.append(f"{row.topic}: {_several(row[2])} {text}")
    found += [
        f"{row.topic}: {_several(row.unknown)} not judged for {row.group}: stored before it began,"
        " with a tag that it never received, or filtered by SQL92"
        for row in groups
        if row.unknown
    ]
    found += [
        f"{row.topic}: {_several(row.dead)} in %DLQ%{row.group}" for row in groups if row.dead
    ]
    found += [
        f"{one.name}: its log from {one.cut_at} on is of an older epoch: its master will cut it off"
        for one in tables.nodes
        if one.cut_at < LONG_MAX and _has_behind(tables, one)
    ]
    masters = {one.name for one in tables.nodes if one.is_master}
    return found + [
        f"{_several(row.missing)} of {row.broker} only on slaves, after the end of the log of"
        f" {row.node}: lost unless a slave takes over"
        for row in nodes
        if row.missing and row.node in masters
    ]


def _has_behind(tables: RunTables, node: RunNode) -> bool:
    """Return whether a node has records behind the place where its master will cut its log."""
    behind = (sf.col("broker") == node.broker) & (sf.col("phy_offset") >= node.cut_at)
    has = sf.array_contains("nodes", node.name)
    return not tables.records.where(behind & has).isEmpty()


def _several(number: int) -> str:
    return f"{number} message{'s' * (number != 1)}"


_FATES = {
    fates.EXPIRED: "acknowledged and expired: their log begins after them",
    fates.ROLLED_BACK: "rolled back by producers",
    fates.ABANDONED: "without a decision (half messages) went to TRANS_CHECK_MAX_TIME_TOPIC",
    fates.UNPROMISED: "in no store, whose producers did not receive SEND_OK",
}


def log_ends(tables: RunTables) -> DataFrame:
    """Return where the log of each broker's nodes ends, as text, by ``broker``."""
    last = (
        tables.records.select("broker", "phy_offset", sf.explode("nodes").alias("node"))
        .groupBy("broker", "node")
        .agg(sf.max("phy_offset").alias("last"))
        .select(
            "broker",
            sf.concat(
                *(sf.lit("the last record of "), "node", sf.lit(" is at ")),
                sf.col("last").cast("string"),
            ).alias("text"),
        )
    )
    return last.groupBy("broker").agg(
        sf.array_join(sf.array_sort(sf.collect_list("text")), ", ").alias("log_ends")
    )


def fault_list(faults: DataFrame) -> list[FaultSummary]:
    """Return the first faults; those that explain most come first."""
    rows = faults.orderBy(sf.desc("messages"), "at_ms").limit(FAULTS_AT_MOST).collect()
    found = [FaultSummary(row.at_ms, row.node, row.text, row.messages) for row in rows]
    return sorted(found, key=lambda one: one.at_ms)
