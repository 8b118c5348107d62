"""The audit: one verdict for every message, from what was acknowledged, stored and delivered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import functions as sf

from fakemq.spark.audit import causes, pipeline, summarise
from fakemq.spark.audit.biographies import biographies as biographies_of
from fakemq.spark.audit.pipeline import keep
from fakemq.spark.audit.summary import Summary as Summary
from fakemq.spark.audit.summary import Verdict as Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

__all__ = ["Audit", "Summary", "Verdict", "audit"]


def audit(
    spark: SparkSession,
    *stores: str,
    acks: Sequence[str] = (),
    deliveries: Sequence[str] = (),
    journal: str | None = None,
    groups: Sequence[str] = (),
    topics: Sequence[str] = (),
    any_order: bool = False,
) -> Audit:
    """Find out what happened to every message, from store directories and files.

    A store is ``DIR``, with one node or several nodes below it, or ``NAME=DIR``. Files are JSON
    lines or Parquet; docs/audit.md describes their columns. ``groups`` and ``topics`` limit the
    audit; ``any_order`` ignores the order of deliveries. Raise ConfigError for unreadable input.
    """
    return audited(
        spark,
        pipeline.AuditRequest(stores, acks, deliveries, journal, groups, topics, any_order),
    )


def audited(
    spark: SparkSession, asked: pipeline.AuditRequest, step: pipeline.Step = pipeline.no_step
) -> Audit:
    """Do the same for options in one value; ``step`` is called after each part of the work."""
    there = pipeline.read(spark, asked)
    step()
    return Audit(pipeline.tables(spark, asked, there, step), asked, step)


class Audit:
    """The results as tables; Spark computes a table when it is read."""

    def __init__(
        self,
        tables: pipeline.RunTables,
        asked: pipeline.AuditRequest,
        step: pipeline.Step = pipeline.no_step,
    ) -> None:
        self._step = step
        self._tables = tables
        self._asked = asked
        self._spark = tables.records.sparkSession

    @cached_property
    def verdicts(self) -> DataFrame:
        """Return one row for each message and group, except those that cannot be judged."""
        found = self._tables.verdicts.where(sf.col("verdict").isNotNull())
        cause = self.findings.select("topic", "group", "msg_id", "cause")
        return found.join(cause, ["topic", "group", "msg_id"], "left").select(
            *("topic", "group", "msg_id", "verdict", "keys", "tags", "broker", "queue_id"),
            *("offset", "phy_offset", "at_ms", "deliveries", "first_ms", "nodes"),
            sf.coalesce("cause", sf.lit("")).alias("cause"),
        )

    @cached_property
    def findings(self) -> DataFrame:
        """Return the `verdicts` that are lost, stuck, duplicated or out of order, with causes."""
        tables = self._tables
        found = summarise.findings(tables.verdicts)
        sends = causes.hits_of_sends(self._spark, tables.journal)
        explained = causes.explained(found, self._events, sends, summarise.log_ends(tables))
        return keep(explained)

    @cached_property
    def _events(self) -> DataFrame:
        journal = self._tables.journal
        return causes.frame(self._spark, [] if journal is None else causes.happenings(journal))

    @cached_property
    def lag(self) -> DataFrame:
        """Return how many messages each group was behind, over time."""
        return summarise.lag(self._tables.verdicts, *self.span)

    @cached_property
    def faults(self) -> DataFrame:
        """Return the faults in the journal, and how many findings each explains."""
        return causes.faults(self._spark, self._tables.journal, self._events, self.findings)

    @cached_property
    def span(self) -> tuple[int, int]:
        """Return the first and last time of any data, in milliseconds since the epoch."""
        return summarise.span(self._tables)

    def summary(self, title: str = "", *, biographies: bool = False) -> Summary:
        """Return all results, limited to what a screen can show.

        With ``biographies`` it has those of the first findings: the journal is read once more.
        """
        tables, did = self._tables, self._did
        begin_ms, end_ms = did(self.span)
        groups, nodes = did(summarise.by_group(tables.verdicts)), did(summarise.by_node(tables))
        counts = summarise.counts(groups)
        messages = did(summarise.found_messages(did(self.findings)))
        found = sum(one.messages for one in counts if one.verdict in summarise.FINDINGS)
        lives, why_none = did(
            biographies_of(self._asked.journal, messages) if biographies else ([], "")
        )
        return Summary(
            title=title or f"Audit of {', '.join(one.name for one in tables.nodes)}",
            begin_ms=begin_ms,
            end_ms=end_ms,
            counts=counts,
            messages=messages,
            messages_left_out=found - len(messages),
            stores=did(summarise.stores(tables, nodes)),
            lag=did(summarise.lag_points(self.lag)),
            faults=did(summarise.fault_list(self.faults)),
            delivered_per_second=did(summarise.per_second(tables.taken)),
            latency_ms=summarise.latencies(groups),
            inputs=pipeline.inputs(self._asked, tables.nodes),
            notes=[
                *summarise.unknown(self._asked, counts),
                *did(summarise.notes(tables, groups, nodes)),
            ],
            biographies=lives,
            biographies_left_out=why_none,
        )

    def _did(self, result: T) -> T:
        """Count a step as done, and return its result."""
        self._step()
        return result
