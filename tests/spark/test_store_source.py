"""The format ``rocketmq-store`` in a session, on a store that the store's own code wrote."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from fakemq.dump.rows import Selection, index_rows, log_rows, queue_rows
from fakemq.store.stored_node import find_nodes
from tests.support.pages import run_block
from tests.support.store_directory import write_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, Row, SparkSession

# Each test is of several queries, and the first one starts the session.
pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A master and its slave."""
    root = tmp_path_factory.mktemp("stores")
    (root / "broker-a-0").mkdir()
    write_store(root / "broker-a-0")
    shutil.copytree(root / "broker-a-0", root / "broker-a-1")
    return root


def reader(spark: SparkSession, **options: str) -> DataFrameReader:
    return spark.read.format("rocketmq-store").options(**options)


def ignore(size_bytes: int) -> None:
    """Take a progress report."""


def same(found: list[Row], shown: Iterable[dict[str, Any]], names: dict[str, str]) -> None:
    """The columns of one are the fields of the other; there is something to compare."""
    rows = sorted(tuple(row[column] for column in names) for row in found)
    assert rows
    assert rows == sorted(tuple(row[field] for field in names.values()) for row in shown)


def test_every_view_equals_a_dump(spark: SparkSession, stores: Path) -> None:
    master = find_nodes(str(stores))[0]
    everything = Selection()
    log = reader(spark).load(str(stores)).where("node = 'broker-a-0'").collect()
    assert {(row.broker, row.damage) for row in log} == {("broker-a", None)}
    columns = {"commitLogOffset": "phyOffset", "recordBytes": "size", "offset": "queueOffset"}
    columns |= {name: name for name in ("topic", "queueId", "msgId", "offsetMsgId", "flag")}
    same(log, log_rows(master, everything, ignore), columns)

    queues = reader(spark, view="consumequeue").load(f"file://{stores}/broker-a-0").collect()
    assert {(row.recordFound, row.damage) for row in queues} == {(True, None)}
    columns = {"commitLogOffset": "phyOffset", "offset": "queueOffset"}
    columns |= {name: name for name in ("topic", "queueId", "size", "tagsCode")}
    same(queues, queue_rows(master, everything, ignore), columns)

    index = reader(spark, view="index").load([str(stores / "broker-a-0")]).collect()
    columns = {"commitLogOffset": "phyOffset"}
    columns |= {name: name for name in ("file", "entry", "slot", "keyHash", "previousEntry")}
    same(index, index_rows(master, everything, ignore), columns)


def test_only_selected_columns_are_built(spark: SparkSession, stores: Path) -> None:
    both = [str(stores / "broker-a-0"), str(stores / "broker-a-1"), str(stores)]
    rows = reader(spark).schema("damage string, node string").load(both)
    counts = {row.node: row["count"] for row in rows.groupBy("node").count().collect()}
    assert counts == {"broker-a-0": 30, "broker-a-1": 30}
    with pytest.raises(Exception, match=r"has no column bdy; did you mean"):
        reader(spark).schema("bdy binary").load(str(stores)).collect()
    with pytest.raises(Exception, match=r"column offset is long, not string"):
        reader(spark).schema("offset string").load(str(stores)).collect()


def test_examples_of_the_page_run(
    spark: SparkSession, stores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = {'"DIR"': repr(str(stores))}
    run_block("spark_store.md", 0, {"spark": spark}, folder)
    assert re.search(r"broker-a-1\| *orders\| *15\|", capsys.readouterr().out)
    run_block("spark_store.md", 1, {"spark": spark}, folder)


def test_damage_is_a_row_or_an_error(spark: SparkSession, stores: Path, tmp_path: Path) -> None:
    shutil.copytree(stores / "broker-a-1", tmp_path / "broker-a-1")
    file = min((tmp_path / "broker-a-1/commitlog").iterdir())
    data = bytearray(file.read_bytes())
    data[data.index(b"body 2")] ^= 1
    file.write_bytes(data)
    rows = reader(spark, columnNameOfCorruptRecord="_bad").load(str(tmp_path)).collect()
    assert len(rows) == 30
    (bad,) = [row for row in rows if row["_bad"] is not None]
    assert "CRC" in bad["_bad"]
    assert (bad.node, bad.file, bad.value) == ("broker-a-1", f"commitlog/{file.name}", None)
    queues = reader(spark, view="consumequeue").load(str(tmp_path))
    assert queues.where("not recordFound").count() == 0, "the record is there, its body is not"
    with pytest.raises(Exception, match=rf"{file}: position {bad.filePosition}: CRC"):
        reader(spark, mode="FAILFAST").load(str(tmp_path)).collect()


@pytest.mark.parametrize(
    ("path", "options", "text"),
    [
        ("nowhere", {}, "nowhere: there is no such directory"),
        ("hdfs://host/store", {}, "only local directories can be read"),
        ("broker-a-0/config", {}, "no store: neither it nor a directory in it has any of"),
        ("", {"veiw": "log"}, "there is no option veiw; did you mean view"),
        ("", {"view": "queues"}, "option view is 'queues', expected log, consumequeue or index"),
        ("", {"mode": "STRICT"}, "option mode is 'STRICT', expected PERMISSIVE, DROPMALFORMED or"),
    ],
)
def test_invalid_options_are_refused(
    spark: SparkSession, stores: Path, path: str, options: dict[str, str], text: str
) -> None:
    where = path if ":" in path else str(stores / path)
    with pytest.raises(Exception, match=text):
        reader(spark, **options).load(where)
