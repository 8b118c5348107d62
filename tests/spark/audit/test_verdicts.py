"""Which verdict follows from what is stored, answered and delivered, case by case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.spark.audit import Audit
from fakemq.spark.audit.summary import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# An audit is some fifty small jobs of Spark's: ten seconds.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.usefixtures("small_plans"),
]

GROUP, OTHER = "billing", "unwatched"
RETRY = f"%RETRY%{GROUP}"
NOW = datetime(2024, 2, 29, tzinfo=UTC)


class Case(NamedTuple):
    """What became of the messages of one topic, by their names."""

    expected: dict[str, Verdict]
    """Of messages that are not judged there is nothing."""
    cause: str = ""
    """What the cause of every finding begins with."""


class AuditLab:
    """Stores, answers and deliveries as rows, made by hand."""

    def __init__(self) -> None:
        self.stored: list[tuple[object, ...]] = []
        self.acks: list[tuple[object, ...]] = []
        self.deliveries: list[tuple[object, ...]] = []
        self.journal: list[dict[str, object]] = []
        self.positions: list[tuple[str, str, int, str, int]] = []
        self.cases: dict[str, Case] = {}

    def store(
        self,
        topic: str,
        name: str,
        offset: int,
        *,
        node: str = "a-0",
        phy_offset: int | None = None,
        queue_id: int = 0,
        tags: str = "",
        attempt: int = 0,
        has_unique_id: bool = True,
        **properties: str,
    ) -> None:
        """A record; without a unique id its name is its offset id."""
        phy_offset = 1000 * (len(self.stored) + 1) if phy_offset is None else phy_offset
        if has_unique_id:
            properties["UNIQ_KEY"] = name
        broker, offset_id = node.rpartition("-")[0], f"at-{node}-{phy_offset}"
        place = ("file", phy_offset, None, None, broker)
        row = (node, topic, queue_id, offset, phy_offset, NOW)
        ids = (offset_id if has_unique_id else name, None, tags or None, attempt, properties)
        self.stored.append((*row, *ids, *place))

    def ack(self, topic: str, msg_id: str | None, **more: object) -> None:
        names = ("broker", "queue_id", "queue_offset", "offset_msg_id", "status", "at_ms", "keys")
        self.acks.append((msg_id, topic, *(more.get(name) for name in names)))

    def deliver(
        self, topic: str, name: str, offset: int, at_ms: int, *, again: int = 0,
        result: str | None = None, broker: str | None = None,
    ) -> None:  # fmt: skip
        row = (GROUP, "me", name, topic, broker, 0, offset, again, at_ms, result)
        self.deliveries.append(row)

    def note(self, kind: str, seq: int, node: str, at_ms: int = 0, **fields: object) -> None:
        entry = {"seq": seq, "at_ms": at_ms, "node": node, "kind": kind, "cause": None}
        self.journal.append({**entry, "fields": fields})

    def messages(self, topic: str, names: Sequence[str], **more: Any) -> None:
        for offset, name in enumerate(names):
            self.store(topic, name, offset, **more)

    def audit(self, spark: SparkSession, folder: Path) -> Audit:
        from fakemq.spark.audit import files, pipeline
        from fakemq.spark.audit.inputs import RunNode
        from fakemq.spark.audit.journal import JournalTables
        from fakemq.spark.audit.positions import DelayProgress, GroupPosition, LogBegin, Positions

        journal = folder / "journal.jsonl"
        journal.write_text("".join(json.dumps(one) + "\n" for one in self.journal))
        names = ("a-0", "b-0", "c-0", "c-1", "d-0", "d-1")
        nodes = [RunNode(one, one[0], int(one[2]), str(folder / one)) for one in names]
        positions = Positions(
            [GroupPosition(*one) for one in self.positions],
            [DelayProgress("a", 2, 5)],
            [LogBegin(one, f"{one}-0", 500 if one == "b" else 0) for one in "abcd"],
            set(),
        )
        ddl = f"{pipeline.STORED}, value binary, broker string"
        stored = spark.createDataFrame(self.stored, ddl)
        acks = spark.createDataFrame(self.acks, files.ACKS)
        deliveries = spark.createDataFrame(self.deliveries, files.DELIVERIES)
        there = pipeline.Read(
            nodes,
            JournalTables(spark, str(journal)),
            [files.Rows("acks", "acknowledgements", ("topic",), acks)],
            [files.Rows("deliveries", "deliveries", ("group", "topic", "msg_id"), deliveries)],
            [],
            positions,
            stored,
            stored.where("damage is not null"),
        )
        asked = pipeline.AuditRequest([str(folder)])
        return Audit(pipeline.tables(spark, asked, there), asked)


def stuck_and_out_of_order(world: AuditLab) -> None:
    """One behind the delivered that never came, one that came late, one of another tag."""
    world.messages("stuck", ("s0", "s1", "s2", "s3"))
    for name, offset, at_ms in (("s0", 0, 1), ("s2", 2, 2)):
        world.deliver("stuck", name, offset, at_ms)
    world.cases["stuck"] = Case(
        {
            "s0": Verdict.DELIVERED,
            "s1": Verdict.STUCK,
            "s2": Verdict.DELIVERED,
            "s3": Verdict.PENDING,
        },
        "not delivered; the group has committed nothing and was delivered 2",
    )
    world.messages("unordered", ("u0", "u1", "u2"))
    for name, offset, at_ms in (("u0", 0, 1), ("u2", 2, 2), ("u1", 1, 3)):
        world.deliver("unordered", name, offset, at_ms)
    world.cases["unordered"] = Case(
        {"u0": Verdict.DELIVERED, "u1": Verdict.OUT_OF_ORDER, "u2": Verdict.DELIVERED}
    )
    world.store("tagged", "t0", 0, tags="mine")
    world.store("tagged", "t1", 1, tags="theirs")
    world.store("tagged", "t2", 2, tags="mine")
    world.deliver("tagged", "t0", 0, 1)
    world.deliver("tagged", "t2", 2, 1)
    world.cases["tagged"] = Case({"t0": Verdict.DELIVERED, "t2": Verdict.DELIVERED})


def delivered_again(world: AuditLab) -> None:
    """With an offset that went back, after a failure, and as a retry that is there, or is gone."""
    world.messages("set-back", ("b0", "b1", "b2"))
    for at_ms, (name, offset) in enumerate((("b0", 0), ("b1", 1), ("b2", 2), ("b2", 2))):
        world.deliver("set-back", name, offset, 10 * at_ms)
    for seq, (at_ms, offset) in enumerate(((22, 3), (25, 2)), 1):
        queue = {"group": GROUP, "topic": "set-back", "queue_id": 0}
        world.note("OffsetCommitted", seq, "a-0", at_ms, **queue, offset=offset)
    world.cases["set-back"] = Case(
        {"b0": Verdict.DELIVERED, "b1": Verdict.DELIVERED, "b2": Verdict.DUPLICATED},
        f"the offset of {GROUP} in set-back a/0 went back from 3 to 2",
    )
    world.store("failed", "f0", 0)
    world.deliver("failed", "f0", 0, 1, result="SUSPEND_CURRENT_QUEUE_A_MOMENT")
    world.deliver("failed", "f0", 0, 2, result="SUCCESS")
    world.cases["failed"] = Case({"f0": Verdict.DELIVERED})
    for place, (name, has_retry) in enumerate((("r0", True), ("r1", False))):
        of: dict[str, Any] = {"RETRY_TOPIC": "retried"}
        world.store("retried", name, place)
        world.deliver("retried", name, place, place, result="RECONSUME_LATER")
        waits: dict[str, Any] = {"queue_id": 2, "attempt": 1, "REAL_TOPIC": RETRY, **of}
        world.store(SCHEDULE_TOPIC, name, place, **waits)
        if has_retry:
            world.store(RETRY, name, 0, attempt=1, **of)
            world.deliver("retried", name, 0, 9, again=1)
    world.cases["retried"] = Case(
        {"r0": Verdict.DELIVERED, "r1": Verdict.STUCK}, "its retry is in no store"
    )


def sent_and_stored(world: AuditLab) -> None:
    """A send that was tried twice, one that is lost, one promised nothing, one that expired."""
    world.messages("sent-twice", ("t", "t"))
    world.ack("sent-twice", "t")
    world.cases["sent-twice"] = Case(
        {"t": Verdict.DUPLICATED}, "stored several times: a/0@0, a/0@1"
    )
    world.ack("gone", "g0", broker="a", queue_id=3, queue_offset=7)
    world.ack("gone", "g1", status="FLUSH_DISK_TIMEOUT")
    world.ack("gone", "g2", broker="b", offset_msg_id="7F00000100002A9F0000000000000064")
    world.cases["gone"] = Case({"g0": Verdict.LOST}, "is in no store of a")
    # Ids that only the broker gave, as of clients of old.
    world.messages("no-ids", ("AC00", "AC01")[:1], has_unique_id=False)
    world.ack("no-ids", None, offset_msg_id="AC00")
    lost_id = "7F00000100002A9F00000000000003E8"
    world.ack("no-ids", None, offset_msg_id=lost_id)
    world.deliver("no-ids", "AC00", 0, 1)
    world.cases["no-ids"] = Case(
        {"AC00": Verdict.DELIVERED, lost_id: Verdict.LOST}, "is in no store"
    )


def brokers_and_nodes(world: AuditLab) -> None:
    """One queue id at two brokers; a slave whose master went on without it; unwatched groups."""
    world.messages("two", ("x0", "x1"))
    world.messages("two", ("y0", "y1"), node="b-0")
    for name, offset in (("x0", 0), ("y0", 0), ("x1", 1), ("y1", 1)):
        world.deliver("two", name, offset, 1)
    world.cases["two"] = Case(dict.fromkeys(("x0", "x1", "y0", "y1"), Verdict.DELIVERED))
    world.store("torn", "old", 0, node="c-1", phy_offset=100)
    world.store("torn", "new", 0, node="c-0", phy_offset=200)
    world.store("torn", "ahead", 1, node="c-1", phy_offset=300)
    for name in ("old", "new", "ahead"):
        world.ack("torn", name, broker="c")
    world.cases["torn"] = Case(
        {"old": Verdict.LOST, "new": Verdict.PENDING, "ahead": Verdict.PENDING}, "is on c-1 only"
    )
    journaled: dict[str, Any] = {"topic": "two-masters", "queue_id": 0}
    for number, node in enumerate(("d-0", "d-1")):
        name, phy_offset = f"m{number}", 400 + 100 * number
        world.store("two-masters", name, 0, node=node, phy_offset=phy_offset)
        place: dict[str, Any] = {"queue_offset": 0, "phy_offset": phy_offset, "msg_id": name}
        world.note("LogAppended", 10 + number, node, **journaled, **place)
        delivered: dict[str, Any] = {"offsets": [0], "group": "pair", "peer": "p"}
        world.note("Delivered", 12 + number, node, **journaled, **delivered)
    world.cases["two-masters"] = Case({"m0": Verdict.DELIVERED, "m1": Verdict.DELIVERED})
    world.messages("offsets", ("o0", "o1", "o2"))
    world.positions.append(("a", "offsets", 0, OTHER, 2))
    world.cases["offsets"] = Case(
        {"o0": Verdict.DELIVERED, "o1": Verdict.DELIVERED, "o2": Verdict.PENDING}
    )


def test_every_case_has_its_verdict_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    world = AuditLab()
    for cases in (stuck_and_out_of_order, delivered_again, sent_and_stored, brokers_and_nodes):
        cases(world)
    rows = world.audit(spark, tmp_path).verdicts.collect()
    found = {(row.topic, row.msg_id): Verdict(row.verdict) for row in rows}
    assert len(rows) == len(found)
    assert found == {
        (topic, name): verdict
        for topic, case in world.cases.items()
        for name, verdict in case.expected.items()
    }
    well = {Verdict.DELIVERED.value, Verdict.PENDING.value}
    causes = {row.topic: row.cause for row in rows if row.verdict not in well}
    expected = {topic: world.cases[topic].cause for topic in causes}
    assert {topic: cause[: len(expected[topic]) or None] for topic, cause in causes.items()} == (
        expected
    )
