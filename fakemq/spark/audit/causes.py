"""The nearest fault or event that explains a finding, from the journal, or from the stores."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as sf

from fakemq.spark.audit.inputs import split_name
from fakemq.spark.audit.summary import Verdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from fakemq.spark.audit.journal import JournalTables

EVENTS_AT_MOST = 10_000
"""This number of journal events are used, the newest; faults of sends are found by requests."""

USUAL_MOST_BYTES = 4 << 20
"""The default of maxMessageSize: assumed for a record of unknown size."""
_EVERYWHERE = 1 << 62

_RANGE = re.compile(r"from offset (\d+)(?: to (\d+))?|of (\d+) bytes at offset (\d+)")

LOSS, TURN = "loss", "turn"
"""LOSS removes bytes of a log. TURN makes deliveries of a group, or of a broker, begin again."""


class PossibleCause(NamedTuple):
    """One event that may be a cause."""

    seq: int
    at_ms: int
    node: str
    broker: str
    kind: str
    group: str
    """The only group that it concerns; "" for all."""
    raw_topic: str
    queue_id: int
    """The only queue that it concerns; -1 for all."""
    from_phy: int
    to_phy: int
    """The bytes of the log that it removed."""
    lasting: bool
    """True if it also concerns what came after it, such as holding a slave."""
    rank: int
    """If several events fit, the one with the lowest rank is shown."""
    fault: int
    text: str


_DDL = (
    "seq long, at_ms long, node string, broker string, kind string, `group` string,"
    " raw_topic string, queue_id int, from_phy long, to_phy long, lasting boolean, rank int,"
    " fault int, text string"
)


def happenings(journal: JournalTables) -> list[PossibleCause]:
    """Return the events of a journal that may be causes, the newest if there are too many."""
    rows = journal.happenings().orderBy(sf.desc("seq")).limit(EVENTS_AT_MOST).collect()
    by_seq = {row.seq: row for row in rows}
    found = [_happening(row, by_seq) for row in reversed(rows)]
    backs = (
        journal.commits()
        .where(sf.col("offset") < sf.col("from_offset"))
        .orderBy(sf.desc("seq"))
        .limit(EVENTS_AT_MOST)
        .collect()
    )
    found += [
        _of(
            row,
            TURN,
            f"the offset of {row.group} in {row.topic} {row.broker}/{row.queue_id} went back from"
            f" {row.from_offset} to {row.offset}",
            group=row.group,
            raw_topic=row.topic,
            queue_id=row.queue_id,
            rank=1,
        )
        for row in backs
    ]
    return sorted(one for one in found if one is not None)


def _of(row: Any, kind: str, text: str, **more: Any) -> PossibleCause:
    values: dict[str, Any] = {
        "group": "",
        "raw_topic": "",
        "queue_id": -1,
        "from_phy": 0,
        "to_phy": _EVERYWHERE,
        "lasting": False,
        "rank": 9,
        "fault": 0,
    } | more
    return PossibleCause(
        seq=row.seq,
        at_ms=row.at_ms,
        node=row.node,
        broker=split_name(row.node)[0],
        kind=kind,
        text=text,
        **values,
    )


def _happening(row: Any, by_seq: dict[int, Any]) -> PossibleCause | None:
    fields = row.fields
    if row.kind == "UnsyncedLost":
        why = _because(by_seq.get(row.cause), by_seq)
        text = (
            f"{row.node} was killed{why}: {fields.log_bytes} bytes of its log from"
            f" {fields.log_offset} on had not been flushed"
        )
        return _of(
            row,
            LOSS,
            text,
            from_phy=fields.log_offset,
            to_phy=fields.log_offset + fields.log_bytes,
            rank=1,
        )
    if row.kind == "LogTruncated":
        return _of(
            row,
            LOSS,
            f"{row.node} cut {fields.end_offset - fields.phy_offset} bytes of its log from"
            f" {fields.phy_offset} on{_as_slave(row, by_seq)}",
            from_phy=fields.phy_offset,
            to_phy=fields.end_offset,
            rank=1,
        )
    if row.kind == "FaultHit":
        return _hit(row)
    if row.kind == "NodeStopped" and fields.how in ("kill", "stop"):
        done = "killed" if fields.how == "kill" else "stopped"
        return _of(row, TURN, f"{row.node} was {done}{_because(row, by_seq)}", rank=2)
    if row.kind == "MemberChanged" and fields.kind == "consumer":
        text = f"{fields.client_id} {fields.how} {fields.group}"
        return _of(row, TURN, text, group=fields.group, rank=3)
    if row.kind == "SnapshotRestored":
        return _of(row, TURN, f"{row.node} was given back what a snapshot had", rank=0)
    return None


def _hit(row: Any) -> PossibleCause:
    fields = row.fields
    text = f"fault {fields.fault} {fields.what}: {fields.on}"
    where = _RANGE.search(fields.on)
    if where is None:
        return _of(row, TURN, text, rank=0, fault=fields.fault)
    start, end, size, at = where.groups()
    if at is not None:
        return _of(
            row, LOSS, text, from_phy=int(at), to_phy=int(at) + int(size), rank=0,
            fault=fields.fault,
        )  # fmt: skip
    return _of(
        row,
        LOSS,
        text,
        from_phy=int(start),
        to_phy=_EVERYWHERE if end is None else int(end),
        lasting=end is None,
        rank=0,
        fault=fields.fault,
    )


def _because(row: Any, by_seq: dict[int, Any]) -> str:
    """Return the fault that caused a kill, if one did."""
    while row is not None:
        if row.kind == "FaultHit":
            return f" by fault {row.fields.fault} {row.fields.what}"
        row = by_seq.get(row.cause)
    return ""


def _as_slave(row: Any, by_seq: dict[int, Any]) -> str:
    """Return the change of role that led a broker to cut its log."""
    while row is not None and row.kind != "RoleChanged":
        row = by_seq.get(row.cause)
    if row is None:
        return ""
    became = "a slave" if row.fields.role == "SLAVE" else "the master"
    return f", when it became {became} of epoch {row.fields.epoch}"


def frame(spark: SparkSession, found: Iterable[PossibleCause]) -> DataFrame:
    return spark.createDataFrame(list(found), _DDL)


def hits_of_sends(spark: SparkSession, journal: JournalTables | None) -> DataFrame:
    """Return the faults that hit sends or their responses, by the place of the stored message."""
    if journal is None:
        return spark.createDataFrame(
            [],
            "broker string, phy_offset long, seq long, rank int, kind string, node string,"
            " text string",
        )
    hits = journal.hits().drop("broker").withColumnRenamed("seq", "hit_seq")
    return (
        journal.appended()
        .select("request", "broker", "phy_offset")
        .join(hits, "request")
        .select(
            *("broker", "phy_offset", sf.col("hit_seq").alias("seq"), sf.lit(0).alias("rank")),
            *(sf.lit("send").alias("kind"), "node", _hit_text().alias("text")),
        )
    )


def _hit_text() -> Column:
    return sf.concat(sf.lit("fault "), sf.col("fault").cast("string"), sf.lit(" "), sf.col("what"))


def faults(
    spark: SparkSession, journal: JournalTables | None, events: DataFrame, findings: DataFrame
) -> DataFrame:
    """Return each fault, kill and loss with the number of ``messages`` that it explains."""
    explained = findings.select(sf.explode("causes").alias("seq")).groupBy("seq").count()
    others = (
        events.where(sf.col("fault") == 0)
        .join(explained, "seq", "left")
        .select("at_ms", "node", "text", sf.coalesce("count", sf.lit(0)).alias("messages"), "kind")
        .where((sf.col("messages") > 0) | (sf.col("kind") == LOSS))
        .drop("kind")
    )
    if journal is None:
        return others
    hit = (
        journal.hits()
        .join(explained, "seq", "left")
        .groupBy("node", _hit_text().alias("text"))
        .agg(
            sf.min("at_ms").alias("at_ms"),
            sf.sum(sf.coalesce("count", sf.lit(0))).alias("messages"),
        )
    )
    return others.unionByName(hit.select("at_ms", "node", "text", "messages"))


def explained(
    findings: DataFrame, events: DataFrame, sends: DataFrame, ends: DataFrame
) -> DataFrame:
    """Return findings with their ``cause``, and ``causes``, the numbers of the events it names.

    ``events`` is a `frame`. ``sends`` has the faults that hit sends, by (broker, phy_offset).
    ``ends`` has the end of each node's log.
    """
    found = findings.withColumn("finding", sf.monotonically_increasing_id())
    named = (
        _losses(found, events)
        .unionByName(_turns(found, events))
        .unionByName(_sent_again(found, sends))
    )
    best = (
        named.withColumn("least", sf.min("rank").over(_by("finding")))
        .where((sf.col("rank") == sf.col("least")) | (sf.col("kind") == LOSS))
        .withColumn("last", sf.max("seq").over(_by("finding", "node", "kind")))
        .where(sf.col("seq") == sf.col("last"))
        .groupBy("finding")
        .agg(
            sf.array_sort(sf.collect_set(sf.struct("node", "text"))).alias("texts"),
            sf.collect_set("seq").alias("causes"),
        )
    )
    shown = found.join(best, "finding", "left").join(sf.broadcast(ends), "broker", "left")
    from_events = sf.array_join(sf.transform("texts", lambda one: one["text"]), "; ")
    return shown.withColumn("cause", sf.coalesce(from_events, _by_stores(), sf.lit(""))).drop(
        "finding", "texts", "log_ends"
    )


def _by(*names: str) -> Any:
    from pyspark.sql import Window

    return Window.partitionBy(*names)


_NAMED = ("finding", "seq", "rank", "kind", "node", "text")


def _losses(found: DataFrame, events: DataFrame) -> DataFrame:
    """Find the events that removed the bytes of a lost message, at each node of its broker."""
    lost = found.where(sf.col("verdict") == Verdict.LOST.value).select(
        "finding", "broker", "phy_offset", "ack", "at_ms"
    )
    event = sf.broadcast(events.where(sf.col("kind") == LOSS).withColumnRenamed("at_ms", "its_ms"))
    size = sf.coalesce("ack.size_bytes", sf.lit(USUAL_MOST_BYTES))
    after = sf.coalesce(sf.col("seq") > sf.col("ack.seq"), sf.col("its_ms") >= sf.col("at_ms"))
    return (
        lost.join(event, "broker")
        .where(
            (sf.col("phy_offset") < sf.col("to_phy"))
            & (sf.col("phy_offset") + size > sf.col("from_phy"))
            & (after | sf.col("lasting"))
        )
        .select(*_NAMED)
    )


def _turns(found: DataFrame, events: DataFrame) -> DataFrame:
    """Find events between a delivery and the next one, or one that should have come later."""
    again = found.select("finding", "group", sf.coalesce("again", "late").alias("at")).where(
        sf.col("at").isNotNull()
    )
    flat = again.select("finding", sf.col("group").alias("its_group"), "at.*").select(
        *("finding", "its_group", "first_position", "second_position", "journaled"),
        sf.col("broker").alias("its_broker"),
        sf.col("raw_topic").alias("its_topic"),
        sf.col("queue_id").alias("its_queue"),
    )
    event = sf.broadcast(events.where(sf.col("kind") == TURN))
    moment = sf.when(sf.col("journaled"), sf.col("seq")).otherwise(sf.col("at_ms"))
    general = sf.col("queue_id") < 0
    return flat.join(
        event,
        moment.between(sf.col("first_position"), sf.col("second_position"))
        & ((sf.col("group") == "") | (sf.col("group") == sf.col("its_group")))
        & ((sf.col("group") != "") | (sf.col("broker") == sf.col("its_broker")))
        & (
            general
            | (
                (sf.col("raw_topic") == sf.col("its_topic"))
                & (sf.col("queue_id") == sf.col("its_queue"))
                & (sf.col("broker") == sf.col("its_broker"))
            )
        ),
    ).select(*_NAMED)


def _sent_again(found: DataFrame, sends: DataFrame) -> DataFrame:
    """Find faults that hit the sends of a message that is stored several times."""
    copies = (
        found.where((sf.col("verdict") == Verdict.DUPLICATED.value) & (sf.col("copies") > 1))
        .select("finding", sf.explode("places").alias("place"))
        .select("finding", "place.broker", "place.phy_offset")
    )
    return copies.join(sends, ["broker", "phy_offset"]).select(*_NAMED)


def _by_stores() -> Column:
    """Return causes that can be seen without a journal."""
    verdict, broker = sf.col("verdict"), sf.col("broker")
    phy = sf.col("phy_offset")
    missing = (
        sf.when(
            sf.col("delay_over"),
            sf.lit("its delay is over, and what was delivered then is in no store"),
        )
        .when(
            sf.size(sf.coalesce("nodes", sf.array())) > 0,
            sf.concat(sf.lit("is on "), sf.array_join("nodes", ", "), sf.lit(" only")),
        )
        .when(
            phy.isNotNull() & sf.col("log_ends").isNotNull(),
            sf.concat(
                *(sf.lit("its place in the log was "), phy.cast("string"), sf.lit(": ")),
                sf.col("log_ends"),
            ),
        )
        .when(broker != "", sf.concat(sf.lit("is in no store of "), broker))
        .otherwise(sf.lit("is in no store"))
    )
    places = sf.transform(
        "places",
        lambda one: sf.concat(
            one["broker"], sf.lit("/"), one["queue_id"].cast("string"), sf.lit("@"),
            one["queue_offset"].cast("string"),
        ),
    )  # fmt: skip
    return (
        sf.when(verdict == Verdict.LOST.value, missing)
        .when(
            (verdict == Verdict.DUPLICATED.value) & (sf.col("copies") > 1),
            sf.concat(sf.lit("stored several times: "), sf.array_join(places, ", ")),
        )
        .when(
            verdict == Verdict.STUCK.value,
            sf.when(sf.col("retry_gone"), sf.lit("its retry is in no store")).otherwise(
                sf.concat(
                    sf.lit("not delivered; the group has committed "),
                    sf.coalesce(sf.col("stuck_at.committed").cast("string"), sf.lit("nothing")),
                    sf.lit(" and was delivered "),
                    sf.coalesce(
                        sf.col("stuck_at.reached_offset").cast("string"), sf.lit("nothing")
                    ),
                )
            ),
        )
    )
