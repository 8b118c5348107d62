"""``python -m fakemq audit``: what it reads and writes, and its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from click.testing import CliRunner, Result

import fakemq
from fakemq.cli import main
from fakemq.client import Client, Message
from fakemq.spark.audit.summary import Summary, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# An audit is some fifty small jobs of Spark's: ten seconds.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.usefixtures("small_plans"),
]

LOST_ID = "7F00000100000000000000000000FFFF"


class Made(NamedTuple):
    """A store, and what programs wrote down of it."""

    store: str
    acks: str
    deliveries: str
    ids: list[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Made:
    """Two messages in ``orders``, one delivered twice; one in ``quiet``; one that is gone."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    folder = tmp_path_factory.mktemp("command")
    store, acks, deliveries = folder / "store", folder / "acks.jsonl", folder / "taken.parquet"
    with (
        fakemq.Cluster(store=store, topics={"orders": 1, "quiet": 1}) as mq,
        Client(mq.namesrv_addr, producer_group="shop") as client,
    ):
        topics = ("orders", "orders", "quiet")
        sent = [client.send(Message(topic, b"x")) for topic in topics]
    ids = [one.msg_id for one in sent]
    rows = [{"topic": one.queue.topic, "msg_id": one.msg_id, "at_ms": 1} for one in sent]
    lost = {"topic": "orders", "msg_id": LOST_ID, "broker": "broker-a", "keys": "gone"}
    lines = [json.dumps(row) for row in (*rows, lost)]
    acks.write_text("\n".join([*lines, "no JSON at all", "{}"]) + "\n")
    given = [(ids[0], "orders", 0), (ids[1], "orders", 1), (ids[1], "orders", 1)]
    columns = {
        "group": ["billing"] * 4,
        "msg_id": [one[0] for one in given] + [ids[2]],
        "topic": [one[1] for one in given] + ["quiet"],
        "queue_id": ["0", "0", "0", "no number"],  # of another type, and not to be read
        "OFFSET": pa.array([0, 1, 1, 0], pa.int32()),
    }
    pa.parquet.write_table(pa.table(columns), deliveries)
    return Made(str(store), str(acks), str(deliveries), ids)


def run(*args: str) -> Result:
    """In this process, in whose session it runs."""
    return CliRunner().invoke(main, ["audit", *args])


def test_log_in_other_folders_is_read(spark: SparkSession, made: Made, tmp_path: Path) -> None:
    files = ("--acks", made.acks, "--deliveries", made.deliveries, "--json")
    expected = json.loads(run(made.store, *files).output)
    root = Path(shutil.copytree(Path(made.store) / "broker-a-0", tmp_path / "broker-a-0"))
    (root / "commitlog").rename(tmp_path / "one")
    (tmp_path / "two").mkdir()
    found = json.loads(run(f"{root},{tmp_path / 'one'},{tmp_path / 'two'}", *files).output)
    for part in ("counts", "messages", "stores"):
        assert found[part] == expected[part]


def test_findings_are_shown_and_written(spark: SparkSession, made: Made, tmp_path: Path) -> None:
    output, report = tmp_path / "verdicts", tmp_path / "report.html"
    files = ("--acks", made.acks, "--deliveries", made.deliveries)
    result = run(
        made.store, *files, "--json", "--output", str(output), "--report", str(report)
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    summary = msgspec.json.decode(result.stdout, type=Summary)
    assert {one.msg_id: one.verdict for one in summary.messages} == {
        LOST_ID: Verdict.LOST,
        made.ids[1]: Verdict.DUPLICATED,
    }
    assert f"{made.acks}: 2 rows are not acknowledgements and were left out" in summary.notes
    written = {(row.msg_id, row.verdict) for row in spark.read.parquet(str(output)).collect()}
    assert written == {
        (LOST_ID, "lost"),
        (made.ids[0], "delivered"),
        (made.ids[1], "duplicated"),
        (made.ids[2], "delivered"),
    }
    assert LOST_ID in report.read_text()
    again = run(made.store, "--output", str(output))
    assert again.exit_code == 2
    assert "is there already; name a directory that is not" in again.stderr


def test_exit_code_is_0_without_findings(spark: SparkSession, made: Made) -> None:
    files = ("--acks", made.acks, "--deliveries", made.deliveries)
    result = run(made.store, *files, "--topic", "quiet", "--topic", "quite", "--group", "biling")
    assert result.exit_code == 0, result.output
    assert "Clean: of 1 message none is lost" in result.stdout
    assert "topic quite: no input has a message of it" in result.stdout
    assert "group biling: no input has an offset" in result.stdout


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("--journal", None, "there is no such file"),
        ("--acks", None, "there is no such file"),
        ("--journal", b"one\ntwo\n", "has no entries of a journal: each line or row needs seq"),
        ("--journal", b'{"topic": "orders"}\n', "has no entries of a journal"),
        ("--acks", b'{"msg_id": "1"}\n', "has no acknowledgements: each line or row needs topic"),
        ("--deliveries", b"\x00\xff\n", "needs group, topic, msg_id"),
        ("--deliveries", b"PAR1 and nothing more", "cannot be read"),
    ],
)
def test_invalid_input_is_one_line(
    spark: SparkSession, made: Made, tmp_path: Path, option: str, text: bytes | None, expected: str
) -> None:
    file = tmp_path / "given"
    if text is not None:
        file.write_bytes(text)
    result = run(made.store, option, str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {file}: ")
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
