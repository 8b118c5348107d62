"""Whole audits: of a run in which all is well, and of one with faults whose harm is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakemq.spark.audit import Summary, Verdict, audit
from tests.support.audit_runs import clean_run, faulty_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark plans and runs some thirty jobs for each audit: ten seconds.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def of(summary: Summary, verdict: Verdict) -> set[str]:
    return {one.msg_id for one in summary.messages if one.verdict is verdict}


def test_all_is_well_where_all_was_done_right(spark: SparkSession, tmp_path: Path) -> None:
    run = clean_run(tmp_path)
    summary = audit(spark, str(run.store), journal=str(run.journal)).summary()
    assert summary.messages == []
    # One was rolled back; of the others, what was delivered before it expired is judged, too.
    assert {one.verdict: one.messages for one in summary.counts} == {
        Verdict.PENDING: 3,
        Verdict.DELIVERED: len(run.sent) - 4,
    }
    assert any("expired" in note for note in summary.notes)
    assert any("1 message rolled back" in note for note in summary.notes)
    master, slave = summary.stores
    assert master.missing == slave.missing == 0
    assert {"message", "half", "op", "delayed", "retry", "dlq"} <= master.records.keys()


def test_every_lost_and_duplicated_message_is_named(spark: SparkSession, tmp_path: Path) -> None:
    run = faulty_run(tmp_path)
    assert len(run.lost) > 10
    summary = audit(spark, str(run.store), journal=str(run.journal)).summary()
    assert of(summary, Verdict.LOST) == run.lost
    assert of(summary, Verdict.DUPLICATED) == run.duplicated
    assert {one.msg_id for one in summary.messages} == run.lost | run.duplicated
    causes = {one.cause for one in summary.messages if one.verdict is Verdict.LOST}
    assert all("broker-a-0 was killed" in cause for cause in causes), causes
    (sent_twice,) = [one for one in summary.messages if one.keys == "sent-twice"]
    assert "drop SEND_MESSAGE_V2" in sent_twice.cause
