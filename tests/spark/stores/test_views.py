"""Consume queues and indexes as rows, whole and damaged, without a session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa  # type: ignore[import-untyped]

from fakemq.dump.rows import Selection, index_rows, queue_rows
from fakemq.spark.options import Options
from fakemq.spark.store_source import StoreReader, store_fields
from fakemq.spark.stores.options import NAME, store_options
from fakemq.store.stored_node import find_nodes
from tests.support.disk_lab import DiskLab
from tests.support.store_directory import write_store


def read(root: Path, **given: str) -> list[dict[str, Any]]:
    options = store_options(Options(NAME, {"path": str(root), **given}))
    schema = pa.schema([(name, arrow) for name, _, arrow in store_fields(options)])
    reader = StoreReader(options, schema)
    return [
        row
        for part in reader.partitions()
        for batch in reader.read(part)
        for row in batch.to_pylist()
    ]


def ignore(size_bytes: int) -> None:
    """Take a progress report."""


def same(rows: list[dict[str, Any]], shown: list[dict[str, Any]], names: dict[str, str]) -> None:
    found = sorted(tuple(row[column] for column in names) for row in rows)
    assert found
    assert found == sorted(tuple(row[field] for field in names.values()) for row in shown)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_store(tmp_path)
    return tmp_path


def test_views_equal_a_dump(root: Path) -> None:
    (node,) = find_nodes(str(root))
    queues = read(root, view="consumequeue")
    assert {(row["recordFound"], row["damage"]) for row in queues} == {(True, None)}
    columns = {"commitLogOffset": "phyOffset", "offset": "queueOffset"}
    columns |= {name: name for name in ("topic", "queueId", "size", "tagsCode")}
    same(queues, list(queue_rows(node, Selection(), ignore)), columns)
    columns = {"commitLogOffset": "phyOffset"}
    columns |= {name: name for name in ("file", "entry", "slot", "keyHash", "previousEntry")}
    index = read(root, view="index")
    same(index, list(index_rows(node, Selection(), ignore)), columns)
    assert {row["topic"] for row in read(root, view="consumequeue", topic="orders")} == {"orders"}


def test_log_of_several_folders_is_read(root: Path, tmp_path: Path) -> None:
    before = {view: read(root, view=view) for view in ("log", "consumequeue", "index")}
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    for number, path in enumerate(sorted((root / "commitlog").iterdir())):
        path.rename(folders[number % 2] / path.name)
    named = ", ".join(map(str, folders))
    for view, rows in before.items():
        assert read(root, view=view, storePathCommitLog=named) == rows


def test_tags_codes_are_read_from_extensions(tmp_path: Path) -> None:
    with DiskLab(tmp_path, enable_consume_queue_ext=True) as lab:
        lab.put(properties="TAGS\x01TagA\x02")
        lab.put(properties="TAGS\x01TagB\x02")
    rows = read(tmp_path, view="consumequeue")
    assert [row["tagsCode"] for row in rows] == [2598919, 2598920]
    shutil.rmtree(tmp_path / "consumequeue_ext")
    rows = read(tmp_path, view="consumequeue")
    assert [row["tagsCode"] for row in rows] == [None, None]


def test_light_queues_have_records(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path, enable_lmq=True, enable_multi_dispatch=True)
    with lab:
        for _ in range(3):
            lab.put(properties="INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02", queue_id=2)
    rows = read(tmp_path, view="consumequeue")
    assert len(rows) == 9
    assert {row["recordFound"] for row in rows} == {True}


def test_entries_without_records_are_reported(root: Path) -> None:
    first = min((root / "commitlog").iterdir())
    size_bytes = first.stat().st_size
    first.unlink()
    second = min((root / "commitlog").iterdir())
    data = bytearray(second.read_bytes())
    data[4] ^= 1  # the magic code of its first record
    second.write_bytes(data)
    found_by_offset = {
        row["commitLogOffset"]: row["recordFound"] for row in read(root, view="consumequeue")
    }
    wrong = {offset: found for offset, found in found_by_offset.items() if found is not True}
    assert wrong == {
        **{offset: None for offset in found_by_offset if offset < size_bytes},
        int(second.name): False,
    }


def test_damaged_views_are_reported(root: Path) -> None:
    index = min((root / "index").iterdir())
    index.write_bytes(index.read_bytes()[:20])
    queue = min((root / "consumequeue/orders/0").iterdir())
    queue.write_bytes(queue.read_bytes()[:20] + bytes(40) + queue.read_bytes()[60:])
    (bad,) = [row for row in read(root, view="index") if row["damage"]]
    assert bad["damage"] == "20 bytes are too few for a header"
    (gap,) = [row for row in read(root, view="consumequeue") if row["damage"]]
    assert (gap["filePosition"], gap["damage"]) == (20, "zeros where 2 entries should be")


@pytest.mark.parametrize("view", ["consumequeue", "index"])
def test_file_deleted_meanwhile_is_damage(root: Path, view: str) -> None:
    options = store_options(Options(NAME, {"path": str(root), "view": view}))
    schema = pa.schema([(name, arrow) for name, _, arrow in store_fields(options)])
    reader = StoreReader(options, schema)
    parts = reader.partitions()
    file = min(path for path in (root / view).rglob("*") if path.is_file())
    file.unlink()
    batches = [batch for part in parts for batch in reader.read(part)]
    bad = [row for batch in batches for row in batch.to_pylist() if row["damage"]]
    assert [(row["file"], row["filePosition"]) for row in bad] == [(str(file.relative_to(root)), 0)]
    assert "deleted" in bad[0]["damage"]
