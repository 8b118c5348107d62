"""Which stores and files are taken for what."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.errors import ConfigError
from fakemq.ha.autoswitch.epoch_file import encode
from fakemq.protocol.java import LONG_MAX
from fakemq.spark.audit.inputs import RunNode, find_stores, is_parquet, split_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("broker-a-0", ("broker-a", 0)),
        ("broker-a-12", ("broker-a", 12)),
        ("broker-a@2", ("broker-a", 2)),
        ("broker-a", ("broker-a", 0)),
        ("store", ("store", 0)),
        ("-1", ("-1", 0)),
    ],
)
def test_name_has_broker_and_id(name: str, expected: tuple[str, int]) -> None:
    assert split_name(name) == expected


def node_at(path: Path) -> Path:
    (path / "commitlog").mkdir(parents=True)
    (path / "checkpoint").touch()
    return path


def test_stores_are_found_below_a_directory_and_by_name(tmp_path: Path) -> None:
    one, other = node_at(tmp_path / "all" / "broker-a-1"), node_at(tmp_path / "java")
    found = find_stores([str(tmp_path / "all"), f"broker-a-0={other}"])
    assert found == [
        RunNode("broker-a-0", "broker-a", 0, str(other), is_master=True),
        RunNode("broker-a-1", "broker-a", 1, str(one)),
    ]


def test_master_is_the_store_with_the_newest_epoch(tmp_path: Path) -> None:
    epochs = {"broker-a@1": [1], "broker-a@2": [1, 3], "broker-a@3": [1, 3], "broker-b-0": []}
    for name, of_node in epochs.items():
        text = encode((epoch, 100 * epoch, 0) for epoch in of_node)
        (node_at(tmp_path / name) / "epochFileCheckpoint").write_text(text)
    found = find_stores([str(tmp_path)])
    assert [one.name for one in found if one.is_master] == ["broker-a@2", "broker-b-0"]
    assert [one.cut_at for one in found] == [300, LONG_MAX, LONG_MAX, LONG_MAX]
    (tmp_path / "broker-a@3" / "epochFileCheckpoint").write_text("1\n0\nno-number\n")
    with pytest.raises(ConfigError, match="where a number is expected"):
        find_stores([str(tmp_path)])


@pytest.mark.parametrize("name", ["", "broker-a-0="])
def test_folders_of_a_log_follow_the_directory(tmp_path: Path, name: str) -> None:
    root, folders = node_at(tmp_path / "broker-a-0"), (tmp_path / "one", tmp_path / "two")
    for folder in folders:
        folder.mkdir()
    (folders[1] / f"{1024:020}").write_bytes(bytes(1024))
    (found,) = find_stores([",".join((f"{name}{root}", *map(str, folders)))])
    log_folders = tuple(map(str, folders))
    assert found == RunNode("broker-a-0", "broker-a", 0, str(root), log_folders, is_master=True)
    assert found.stored().log.files[0].offset == 1024
    with pytest.raises(ConfigError, match="three: there is no such directory"):
        find_stores([f"{name}{root},{tmp_path / 'three'}"])


def test_directory_with_a_comma_is_one(tmp_path: Path) -> None:
    root = node_at(tmp_path / "a,b")
    assert find_stores([str(root), f"other={root}"]) == [
        RunNode("a,b", "a,b", 0, str(root), is_master=True),
        RunNode("other", "other", 0, str(root), is_master=True),
    ]


def test_two_nodes_of_one_name_are_refused(tmp_path: Path) -> None:
    one, other = node_at(tmp_path / "x" / "store"), node_at(tmp_path / "y" / "store")
    with pytest.raises(ConfigError, match="would both be store; say which is which"):
        find_stores([str(one), str(other)])


@pytest.mark.parametrize("spec", ["nowhere", "broker-a-0=nowhere", "a/b=nowhere"])
def test_directory_without_a_store_is_named(tmp_path: Path, spec: str) -> None:
    with pytest.raises(ConfigError, match=r"no store|no such dir|neither an existing"):
        find_stores([spec])


def test_journal_files_are_parquet_or_lines(tmp_path: Path) -> None:
    lines, parquet, folder = tmp_path / "a.txt", tmp_path / "b", tmp_path / "c"
    lines.write_text("{}\n")
    parquet.write_bytes(b"PAR1....")
    folder.mkdir()
    assert [is_parquet(str(one)) for one in (lines, parquet, folder)] == [False, True, False]
    (folder / "part-0.parquet").write_bytes(b"PAR1")
    assert is_parquet(str(folder))
    assert is_parquet("s3a://bucket/acks.parquet")
    with pytest.raises(ConfigError, match="there is no such file"):
        is_parquet(str(tmp_path / "missing"))
