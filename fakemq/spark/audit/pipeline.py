"""The tables of an audit: from the inputs to the verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import fakemq.spark
from fakemq.config.log_folders import SEPARATOR
from fakemq.dump.check import FINDINGS_A_FILE
from fakemq.dump.check_timers import check_timers
from fakemq.errors import ConfigError
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.topics import TRANS_OP_HALF_TOPIC
from fakemq.spark.audit import consumption, deliveries, files, messages, positions, records
from fakemq.spark.audit.inputs import find_stores
from fakemq.spark.audit.journal import JournalTables
from fakemq.spark.audit.messages import verdicts
from fakemq.store.findings import few

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrameReader, SparkSession

    from fakemq.spark.audit.files import Rows
    from fakemq.spark.audit.inputs import RunNode
    from fakemq.spark.audit.positions import Positions


Step = Callable[[], None]
"""Called when a step of an audit is done."""


def no_step() -> None:
    """Count nothing."""


class AuditRequest(msgspec.Struct, frozen=True):
    """The options of an audit; see `fakemq.spark.audit.audit`."""

    stores: Sequence[str]
    acks: Sequence[str] = ()
    deliveries: Sequence[str] = ()
    journal: str | None = None
    groups: Sequence[str] = ()
    topics: Sequence[str] = ()
    any_order: bool = False


class Read(NamedTuple):
    """The inputs, as they were read."""

    nodes: list[RunNode]
    journal: JournalTables | None
    ack_files: list[Rows]
    delivery_files: list[Rows]
    notes: list[str]
    positions: Positions
    stored: DataFrame
    """Undamaged rows of ``rocketmq-store`` with ``node`` and ``broker``, in columns `STORED`."""
    damage: DataFrame


class RunTables(NamedTuple):
    """All results of an audit; Spark computes a table when it is read."""

    nodes: list[RunNode]
    journal: JournalTables | None
    notes: list[str]
    damage: DataFrame
    records: DataFrame
    acks: DataFrame
    taken: DataFrame
    messages: DataFrame
    verdicts: DataFrame
    logs: DataFrame


def read(spark: SparkSession, asked: AuditRequest) -> Read:
    """Read all inputs. Raise ConfigError for input that cannot be read."""
    nodes = find_stores(asked.stores)
    if not nodes:
        raise ConfigError("no store to audit: name the directory of at least one")
    fakemq.spark.register(spark)
    journal = None if asked.journal is None else JournalTables(spark, asked.journal)
    ack_files = [files.acks(spark, path) for path in asked.acks]
    delivery_files = [files.deliveries(spark, path) for path in asked.deliveries]
    # First, because a wrong file should be reported before any long work.
    every = (
        [*ack_files, *delivery_files]
        if journal is None
        else [journal.rows, *ack_files, *delivery_files]
    )
    notes = [line for rows in every for line in rows.notes()]
    stored, damage = _read_stores(spark, nodes)
    damage = damage.unionByName(_timer_damage(spark, nodes))
    return Read(
        nodes,
        journal,
        ack_files,
        delivery_files,
        notes,
        positions.read_positions(nodes),
        stored,
        damage,
    )


def tables(
    spark: SparkSession, asked: AuditRequest, there: Read, step: Step = no_step
) -> RunTables:
    """Return everything up to the verdicts; ``step`` is called after each of nine tables."""

    def kept(frame: DataFrame) -> DataFrame:
        # Spark plans it now, and does most of the work for that.
        frame = keep(frame)
        step()
        return frame

    journal = there.journal
    committed, delays, logs = positions.frames(spark, there.positions)
    raw = records.once_each(records.classified(there.stored))
    cuts = {node.name: node.cut_at for node in there.nodes if node.cut_at < LONG_MAX}
    stored = kept(messages.with_ends(messages.readable(raw, logs, cuts), delays))
    acks = kept(_acks(spark, there.ack_files, journal, stored))
    taken = kept(_taken(spark, there.delivery_files, journal, stored))
    committed = committed if journal is None else keep(_newest(committed, journal))
    step()
    groups = kept(_groups(spark, asked, there.positions, committed, taken))
    wanted = ~records.is_system(sf.col("topic"))
    if asked.topics:
        wanted = sf.col("topic").isin(*asked.topics)
    own = stored.where(wanted)
    theirs = taken.join(groups.select("topic", "group"), ["topic", "group"], "left_semi")
    tried = kept(consumption.placed(consumption.attempts(own, groups, theirs), committed))
    if asked.any_order:
        tried = tried.withColumn("overtaken", sf.lit(False))
    sent = kept(messages.messages(own, acks.where(wanted), logs))
    consumed = kept(consumption.by_message(consumption.judged(tried)))
    verdict = kept(verdicts(sent, groups, consumed))
    return RunTables(
        there.nodes, journal, there.notes, there.damage, stored, acks, theirs, sent, verdict, logs
    )


def keep(frame: DataFrame) -> DataFrame:
    """Cache a table that is read several times in Spark's workers.

    It is also planned only once: planning everything up to the verdicts takes Spark longer than the
    work itself.
    """
    return frame.localCheckpoint(eager=False)


def inputs(asked: AuditRequest, nodes: Sequence[RunNode]) -> list[str]:
    """Return one line for each input."""
    named = [(SEPARATOR.join((one.root, *one.log_folders)), one.name) for one in nodes]
    lines = [f"{folders}: store of {name}" for folders, name in named]
    lines += [f"{path}: acknowledgements" for path in asked.acks]
    lines += [f"{path}: deliveries" for path in asked.deliveries]
    return lines if asked.journal is None else [*lines, f"{asked.journal}: journal"]


def _read_stores(spark: SparkSession, nodes: Sequence[RunNode]) -> tuple[DataFrame, DataFrame]:
    """Return the records and the damaged ranges of all nodes."""
    reads: list[dict[str, RunNode]] = []
    alone: list[dict[str, RunNode]] = []
    for node in nodes:
        # In the rows of one read, nodes are distinguished by the names of their folders. Folders
        # of a commit log belong to one node.
        folder = os.path.basename(node.root)
        if node.log_folders:
            alone.append({folder: node})
            continue
        read = next((one for one in reads if folder not in one), None)
        if read is None:
            reads.append({folder: node})
        else:
            read[folder] = node
    together = reduce(DataFrame.unionByName, [_read(spark, one) for one in (*reads, *alone)])
    damaged = sf.col("damage").isNotNull()
    return (
        together.where(~damaged),
        together.where(damaged).select("node", "file", "filePosition", "damage"),
    )


def _timer_damage(spark: SparkSession, nodes: Sequence[RunNode]) -> DataFrame:
    """Return what is wrong in the files of timers; the driver reads them, as the config files."""
    found = [
        (node.name, file, offset, text)
        for node in nodes
        for file, offset, text in few(check_timers(node.stored()), FINDINGS_A_FILE)
    ]
    return spark.createDataFrame(
        found, "node string, file string, filePosition long, damage string"
    )


STORED = (
    "node string, topic string, queueId int, offset long, commitLogOffset long,"
    " timestamp timestamp, offsetMsgId string, key string, tags string, reconsumeTimes int,"
    " properties map<string,string>, file string, filePosition long, damage string"
)


def _read(spark: SparkSession, by_folder: dict[str, RunNode]) -> DataFrame:
    log_folders = SEPARATOR.join(one for node in by_folder.values() for one in node.log_folders)

    def read(columns: str) -> DataFrameReader:
        reader = spark.read.format("rocketmq-store").schema(columns)
        reader = reader.option("storePathCommitLog", log_folders)
        return reader.option("includeProperties", "true")

    def named(column: str) -> Column:
        pairs = ((name, getattr(node, column)) for name, node in by_folder.items())
        texts = (sf.lit(text) for pair in pairs for text in pair)
        return sf.create_map(*texts)[sf.col("node")].alias(column)

    roots = [node.root for node in by_folder.values()]
    found = read(STORED).load(roots).withColumn("value", sf.lit(None).cast("binary"))
    with_ops = [root for root in roots if _may_have_ops(root)]
    if with_ops:
        # Bodies are the bulk of a store; only those of the op topic are needed.
        ops = read(f"{STORED}, value binary").option("topic", TRANS_OP_HALF_TOPIC).load(with_ops)
        is_op = sf.coalesce(sf.col("topic") == TRANS_OP_HALF_TOPIC, sf.lit(False))
        found = found.where(~is_op).unionByName(ops.where("damage is null"))
    return found.select(
        *(name for name in found.columns if name != "node"),
        named("broker"),
        named("name").alias("node"),
    )


def _may_have_ops(root: str) -> bool:
    queues = os.path.join(root, "consumequeue")
    return not os.path.isdir(queues) or os.path.isdir(os.path.join(queues, TRANS_OP_HALF_TOPIC))


def _acks(
    spark: SparkSession,
    ack_files: Sequence[Rows],
    journal: JournalTables | None,
    stored: DataFrame,
) -> DataFrame:
    """Return the acknowledgements in the journal and in the producers' own files."""
    empty = spark.createDataFrame([], messages.ACK_COLUMNS)
    found = [empty]
    if journal is not None:
        found.append(journal.acks())
    found += [_named(files.one_row_each(rows.usable), stored) for rows in ack_files]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), found)


def _named(acks: DataFrame, stored: DataFrame) -> DataFrame:
    """Add the unique id to acknowledgements, and the log offset that is part of the offset id."""
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
    delivery_files: Sequence[Rows],
    journal: JournalTables | None,
    stored: DataFrame,
) -> DataFrame:
    """Return deliveries by place. Files of consumers take precedence over the journal."""
    found = spark.createDataFrame([], deliveries.COLUMNS)
    for rows in delivery_files:
        found = found.unionByName(deliveries.of_file(rows.usable))
    if journal is not None:
        pulled = deliveries.of_journal(journal.deliveries())
        if delivery_files:
            written = sf.broadcast(found.select("group").distinct())
            pulled = pulled.join(written, "group", "left_anti")
        found = found.unionByName(pulled)
    return deliveries.by_place(deliveries.located(found, stored))


def _newest(committed: DataFrame, journal: JournalTables) -> DataFrame:
    """Return the offsets of the journal if it has any, else those of the stores."""
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
    asked: AuditRequest,
    found: Positions,
    committed: DataFrame,
    taken: DataFrame,
) -> DataFrame:
    """Return the consumers of topics; ``watched`` if deliveries are known, ``chosen`` by SQL92."""
    watched = taken.select("topic", "group").distinct().withColumn("watched", sf.lit(True))
    own = committed.select(sf.col("raw_topic").alias("topic"), "group").distinct()
    name = sf.col("group")
    system = name.isin(*positions.SYSTEM_GROUPS)
    for prefix in positions.SYSTEM_GROUP_PREFIXES:
        system |= name.startswith(prefix)
    wanted = name.isin(*asked.groups) if asked.groups else ~system
    filters = spark.createDataFrame(sorted(found.filtered), "topic string, `group` string")
    return (
        own.join(watched, ["topic", "group"], "full")
        .where(wanted & ~sf.col("topic").startswith("%"))
        .join(filters.withColumn("sql", sf.lit(True)), ["topic", "group"], "left")
        .select(
            *("topic", "group", sf.coalesce("watched", sf.lit(False)).alias("watched")),
            sf.coalesce("sql", sf.lit(False)).alias("chosen"),
        )
    )
