"""From what is read to the verdicts: which table is made of which."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import fakemq.spark
from fakemq.errors import ConfigError
from fakemq.spark.audit import consumption, deliveries, files, messages, positions, records
from fakemq.spark.audit.inputs import find_stores
from fakemq.spark.audit.journal import Journal
from fakemq.spark.audit.verdicts import verdicts

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from fakemq.spark.audit.files import Rejected
    from fakemq.spark.audit.inputs import Node


class Asked(NamedTuple):
    """What to audit; see `fakemq.spark.audit.audit`."""

    stores: Sequence[str]
    acks: Sequence[str] = ()
    deliveries: Sequence[str] = ()
    journal: str | None = None
    groups: Sequence[str] = ()
    topics: Sequence[str] = ()
    any_order: bool = False


class Tables(NamedTuple):
    """All that an audit makes; Spark computes each when it is looked at."""

    nodes: list[Node]
    journal: Journal | None
    rejected: list[Rejected]
    damage: DataFrame
    records: DataFrame
    acks: DataFrame
    taken: DataFrame
    messages: DataFrame
    verdicts: DataFrame
    logs: DataFrame


def tables(spark: SparkSession, asked: Asked) -> Tables:
    """Everything up to the verdicts; ConfigError for what cannot be read."""
    nodes = find_stores(asked.stores)
    if not nodes:
        raise ConfigError("no store to audit: name the directory of at least one")
    fakemq.spark.register(spark)
    rejected: list[Rejected] = []
    journal = None if asked.journal is None else Journal(spark, asked.journal)
    if journal is not None:
        rejected.append(journal.rejected)
    found = positions.read_positions(nodes)
    committed, delays, logs = positions.frames(spark, found)
    raw, damage = _read_stores(spark, nodes)
    there = messages.readable(records.once_each(raw), logs)
    stored = keep(messages.with_ends(there, delays))
    acks = keep(_acks(spark, asked, journal, stored, rejected))
    taken = keep(_taken(spark, asked, journal, stored, rejected))
    if journal is not None:
        committed = keep(_newest(committed, journal))
    groups = keep(_groups(spark, asked, found, committed, taken))
    wanted = ~records.is_system(sf.col("topic"))
    if asked.topics:
        wanted = sf.col("topic").isin(*asked.topics)
    own = stored.where(wanted)
    theirs = taken.join(groups.select("topic", "group"), ["topic", "group"], "left_semi")
    tried = keep(consumption.placed(consumption.attempts(own, groups, theirs), committed))
    if asked.any_order:
        tried = tried.withColumn("overtaken", sf.lit(False))
    sent = keep(messages.messages(own, acks.where(wanted), logs))
    consumed = keep(consumption.by_message(consumption.judged(tried)))
    verdict = keep(verdicts(sent, groups, consumed))
    return Tables(nodes, journal, rejected, damage, stored, acks, theirs, sent, verdict, logs)


def keep(frame: DataFrame) -> DataFrame:
    """A table that is looked at several times, computed once and kept by Spark's workers.

    And planned once: a plan of everything up to the verdicts takes Spark longer than the work.
    """
    return frame.localCheckpoint(eager=False)


def inputs(asked: Asked, nodes: Sequence[Node]) -> list[str]:
    """One line for each thing that was read."""
    lines = [f"{one.root}: store of {one.name}" for one in nodes]
    lines += [f"{path}: acknowledgements" for path in asked.acks]
    lines += [f"{path}: deliveries" for path in asked.deliveries]
    return lines if asked.journal is None else [*lines, f"{asked.journal}: journal"]


def _read_stores(spark: SparkSession, nodes: Sequence[Node]) -> tuple[DataFrame, DataFrame]:
    """The records of all nodes, classified, and what is damaged there."""
    reads: list[dict[str, Node]] = []
    for node in nodes:
        # The rows of one read know their nodes by the names of their folders.
        folder = os.path.basename(node.root)
        read = next((one for one in reads if folder not in one), None)
        if read is None:
            reads.append({folder: node})
        else:
            read[folder] = node
    together = reduce(DataFrame.unionByName, [_read(spark, one) for one in reads])
    damaged = sf.col("damage").isNotNull()
    return (
        records.classified(together.where(~damaged)),
        together.where(damaged).select("node", "file", "filePosition", "damage"),
    )


def _read(spark: SparkSession, by_folder: dict[str, Node]) -> DataFrame:
    def named(values: dict[str, str]) -> Column:
        pairs = (sf.lit(text) for pair in values.items() for text in pair)
        return sf.create_map(*pairs)[sf.col("node")]

    return (
        spark.read.format("rocketmq-store")
        .option("includeProperties", "true")
        .load([node.root for node in by_folder.values()])
        .withColumn("broker", named({name: node.broker for name, node in by_folder.items()}))
        .withColumn("node", named({name: node.name for name, node in by_folder.items()}))
    )


def _acks(
    spark: SparkSession,
    asked: Asked,
    journal: Journal | None,
    stored: DataFrame,
    rejected: list[Rejected],
) -> DataFrame:
    """What producers were told, of the journal and of their own files."""
    empty = spark.createDataFrame([], messages.ACK_COLUMNS)
    found = [empty]
    if journal is not None:
        found.append(journal.acks())
    for path in asked.acks:
        rows, unread = files.read_rows(
            spark, path, files.ACKS, what="acknowledgements", needed=("topic",)
        )
        rejected.append(unread)
        found.append(_named(files.one_row_each(rows), stored))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), found)


def _named(acks: DataFrame, stored: DataFrame) -> DataFrame:
    """Acknowledgements with the unique id, and the place in the log that the offset id says."""
    known = stored.select("offset_msg_id", sf.col("msg_id").alias("its_id")).dropDuplicates(
        ["offset_msg_id"]
    )
    phy_offset = sf.conv(sf.right("offset_msg_id", sf.lit(16)), 16, 10).cast("long")
    without = acks.where(sf.col("msg_id").isNull()).join(known, "offset_msg_id", "left")
    named = without.withColumn("msg_id", sf.coalesce("its_id", "offset_msg_id")).drop("its_id")
    return (
        acks.where(sf.col("msg_id").isNotNull())
        .unionByName(named)
        .withColumn("phy_offset", phy_offset)
        .drop("offset_msg_id")
    )


def _taken(
    spark: SparkSession,
    asked: Asked,
    journal: Journal | None,
    stored: DataFrame,
    rejected: list[Rejected],
) -> DataFrame:
    """Deliveries by place. What consumers wrote down themselves is believed before the journal."""
    found = spark.createDataFrame([], deliveries.COLUMNS)
    for path in asked.deliveries:
        rows, unread = files.read_rows(
            spark, path, files.DELIVERIES, what="deliveries", needed=("group", "msg_id", "topic")
        )
        rejected.append(unread)
        found = found.unionByName(deliveries.of_file(rows))
    if journal is not None:
        pulled = deliveries.of_journal(journal.deliveries())
        if asked.deliveries:
            written = sf.broadcast(found.select("group").distinct())
            pulled = pulled.join(written, "group", "left_anti")
        found = found.unionByName(pulled)
    return deliveries.by_place(deliveries.located(found, stored))


def _newest(committed: DataFrame, journal: Journal) -> DataFrame:
    """Offsets of the journal where it has some, else those of the stores."""
    queue = ["broker", "raw_topic", "queue_id", "group"]
    last = (
        journal.commits()
        .withColumnRenamed("topic", "raw_topic")
        .groupBy(*queue)
        .agg(sf.max_by("offset", "seq").alias("last"))
    )
    return committed.join(last, queue, "full").select(
        *queue, sf.coalesce("last", "committed").alias("committed")
    )


def _groups(
    spark: SparkSession,
    asked: Asked,
    found: positions.Positions,
    committed: DataFrame,
    taken: DataFrame,
) -> DataFrame:
    """Who consumes which topic; ``watched`` where deliveries are known, ``chosen`` by SQL92."""
    told = taken.select("topic", "group").distinct().withColumn("watched", sf.lit(True))
    own = committed.select(sf.col("raw_topic").alias("topic"), "group").distinct()
    name = sf.col("group")
    system = name.isin(*positions.SYSTEM_GROUPS)
    for prefix in positions.SYSTEM_GROUP_PREFIXES:
        system |= name.startswith(prefix)
    wanted = name.isin(*asked.groups) if asked.groups else ~system
    filters = spark.createDataFrame(sorted(found.filtered), "topic string, `group` string")
    return (
        own.join(told, ["topic", "group"], "full")
        .where(wanted & ~sf.col("topic").startswith("%"))
        .join(filters.withColumn("sql", sf.lit(True)), ["topic", "group"], "left")
        .select(
            *("topic", "group", sf.coalesce("watched", sf.lit(False)).alias("watched")),
            sf.coalesce("sql", sf.lit(False)).alias("chosen"),
        )
    )
