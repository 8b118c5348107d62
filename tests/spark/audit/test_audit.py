"""Whole audits: of a run in which all is well, and of one with faults whose harm is known."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakemq.cluster import Cluster
from fakemq.spark.audit import Summary, Verdict, audit, audited
from fakemq.spark.audit.command import STEPS
from fakemq.spark.audit.pipeline import AuditRequest
from tests.support.audit_runs import clean_run, faulty_run
from tests.support.pages import run_block
from tests.support.timed_store import TimedStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark plans and runs some thirty jobs for each audit: ten seconds.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.usefixtures("small_plans"),
]


def of(summary: Summary, verdict: Verdict) -> set[str]:
    return {one.msg_id for one in summary.messages if one.verdict is verdict}


def test_sound_run_has_no_findings(spark: SparkSession, tmp_path: Path) -> None:
    run = clean_run(tmp_path)
    steps: list[int] = []
    asked = AuditRequest([str(run.store)], journal=str(run.journal))
    summary = audited(spark, asked, lambda: steps.append(1)).summary()
    assert len(steps) + 1 == STEPS, "the command counts the start of Spark, too"
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
    paths = {'"stores/"': repr(str(run.store)), '"journal.jsonl"': repr(str(run.journal))}
    found = run_block("audit.md", 0, {"spark": spark}, paths)["found"]
    summary = found.summary()
    assert of(summary, Verdict.LOST) == run.lost
    assert of(summary, Verdict.DUPLICATED) == run.duplicated
    assert {one.msg_id for one in summary.messages} == run.lost | run.duplicated
    causes = {one.cause for one in summary.messages if one.verdict is Verdict.LOST}
    assert all("broker-a-0 was killed" in cause for cause in causes), causes
    lost_keys = {one.keys.partition("-")[0] for one in summary.messages if one.msg_id in run.lost}
    assert lost_keys == {"risk"}
    by_keys = {one.keys: one for one in summary.messages}
    assert "drop SEND_MESSAGE_V2" in by_keys["sent-twice"].cause
    assert "drop UPDATE_CONSUMER_OFFSET" in by_keys["commit-lost"].cause
    # What only the master has is not lost, and can be named.
    alone = found.verdicts.where("nodes = array('broker-a-0')").select("msg_id").distinct()
    assert {row.msg_id for row in alone.collect()} == run.torn - run.lost
    assert [one.missing for one in summary.stores] == [0, len(run.torn - run.lost) + 1]


def test_torn_slave_lacks_only_its_lost_messages(spark: SparkSession, tmp_path: Path) -> None:
    run = faulty_run(tmp_path)
    summary = audit(spark, str(run.store / "broker-a-1"), journal=str(run.journal)).summary()
    assert of(summary, Verdict.LOST) == run.torn
    assert {one.msg_id for one in summary.messages} == run.torn
    assert all("hold broker-a-1" in one.cause for one in summary.messages)


def test_truncated_messages_are_named_before_and_after_the_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    store, journal, copy = tmp_path / "stores", tmp_path / "journal.jsonl", tmp_path / "before"
    with Cluster(
        slaves=2,
        controllers=1,
        clock="frozen",
        topics={"orders": 1},
        store=str(store),
        journal=str(journal),
    ) as mq:
        producer = mq.producer()
        producer.send("orders", b"tea", keys="copied")
        mq.clock.advance("5s")
        for slave in ("broker-a@2", "broker-a@3"):
            mq.partition("broker-a@1", slave)
        for number in range(3):
            producer.send("orders", b"tea", keys=f"cut-{number}")
        assert mq.failover("broker-a").name == "broker-a@2"
        mq.clock.advance("30s")
        producer.send("orders", b"tea", keys="after")
        shutil.copytree(store, copy)
        mq.heal()
        mq.broker("broker-a@1").restart()
        mq.clock.advance("30s")
    acks = tmp_path / "acks.jsonl"
    found = audit(spark, str(store), journal=str(journal))
    summary = found.summary()
    lost = {one.msg_id for one in summary.messages}
    assert {one.keys for one in summary.messages} == {"cut-0", "cut-1", "cut-2"}
    assert {one.verdict for one in summary.messages} == {Verdict.LOST}
    (cause,) = {one.cause for one in summary.messages}
    assert re.fullmatch(
        r"broker-a@1 cut \d+ bytes of its log from \d+ on, when it became a slave of epoch 2", cause
    )
    # The stores alone say it while the old master is still away.
    rows = ({"topic": "orders", "msg_id": msg_id, "broker": "broker-a"} for msg_id in lost)
    acks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = audit(spark, str(copy), acks=[str(acks)]).summary()
    assert {one.msg_id for one in before.messages} == lost
    assert {one.cause for one in before.messages} == {"is on broker-a@1 only"}
    assert any(note.endswith("its master will cut it off") for note in before.notes)


def test_damage_of_timer_files_is_named(spark: SparkSession, tmp_path: Path) -> None:
    timed = TimedStore(tmp_path)
    for _ in range(3):
        timed.send(100)
    timed.advance(2_000)
    timed.close()
    shutil.rmtree(timed.root / "timerlog")
    check = timed.root / "config" / "timercheck"
    check.write_bytes(b"\xff" + check.read_bytes()[1:])
    (store,) = audit(spark, str(tmp_path)).summary().stores
    assert store.damaged == ["config/timercheck:0: its checksum is wrong"]
