"""``python -m fakemq dump`` on stores written by the store's own code, whole and damaged."""

from __future__ import annotations

import json
import mmap
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.cli import main
from fakemq.store.stored_node import PARTS, find_nodes
from tests.support.disk_lab import DiskLab
from tests.support.store_directory import write_store
from tests.support.time import START_MS


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("whole") / "broker-a-0"
    root.mkdir()
    write_store(root)
    return root


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "broker-a-0"))


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["dump", *map(str, arguments)])


def rows(*arguments: str | Path) -> Iterator[dict[str, object]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    yield from map(json.loads, result.stdout.splitlines())


def test_unknown_topic_is_refused_with_a_similar_one(whole: Path) -> None:
    result = run(whole, "--topic", "ordrs", "--index")
    assert result.exit_code == 2
    assert f"--topic=ordrs: {whole} has no such topic; did you mean orders?" in result.output
    assert run(whole, "--topic", "orders", "--index", "--queue", "77").exit_code == 0


def findings(root: Path) -> list[str]:
    result = run(root, "--check")
    *lines, last = result.stdout.splitlines()
    assert result.exit_code == bool(lines), result.output
    assert last == f"{len(lines)} finding{'s' * (len(lines) != 1)} in broker-a-0"
    return lines


def in_queues(root: Path) -> list[str]:
    return [line for line in findings(root) if line.startswith("consumequeue")]


def in_two_folders(store: Path) -> str:
    """Move every second file of the log elsewhere, and the others too; return the folders."""
    folders = [store.parent / "one", store.parent / "two"]
    for folder in folders:
        folder.mkdir()
    for number, path in enumerate(sorted((store / "commitlog").iterdir())):
        path.rename(folders[number % 2] / path.name)
    return ",".join(map(str, folders))


def test_log_of_several_folders_is_shown(whole: Path, store: Path) -> None:
    folders = in_two_folders(store)
    assert list(rows(store, "--store-path-commit-log", folders)) == list(rows(whole))
    checked = run(store, "--check", "--store-path-commit-log", folders)
    assert (checked.exit_code, checked.stdout) == (0, "0 findings in broker-a-0\n")
    missing = run(store)
    assert "link it, or the files of its folders, to" in missing.output
    nowhere = run(store, "--store-path-commit-log", "/nowhere")
    assert "/nowhere: there is no such directory" in nowhere.output
    several = run(store.parent, "--store-path-commit-log", folders)
    assert several.exit_code == 0, "there is one store in it"


def test_folders_of_a_log_are_for_one_store(whole: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(whole, tmp_path / name)
    refused = run(tmp_path, "--store-path-commit-log", str(whole / "commitlog"))
    assert "it has 2 stores" in refused.output


def test_every_part_of_a_complete_store_is_shown(whole: Path) -> None:
    found = list(rows(whole))
    kinds = [row["kind"] for row in found]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == {
        "commitlog": 30,
        "consumequeue": 30,
        "index": 90,
        "offsets": 7,
        "config": 2,
    }
    first = found[0]
    assert (first["topic"], first["queueOffset"], first["storeTimestamp"]) == (
        "orders",
        0,
        START_MS,
    )
    assert first["properties"] == {"TAGS": "t0", "KEYS": "k0 shared", "UNIQ_KEY": "U0"}
    assert {row["node"] for row in found} == {"broker-a-0"}


def test_parts_topics_queues_and_limits_select(whole: Path) -> None:
    only = list(rows(whole, "--commitlog", "--topic", "orders", "--queue", "1", "--limit", "5"))
    assert [(row["topic"], row["queueId"], row["queueOffset"]) for row in only] == [
        ("orders", 1, offset) for offset in range(5)
    ]
    both = list(rows(whole, "--consumequeue", "--offsets", "--topic", "billing"))
    assert {row["topic"] for row in both} == {"billing"}
    assert len(list(rows(whole, "--index", "--topic", "billing", "--queue", "0"))) == 24


def test_tables_have_a_heading_and_one_line_per_row(whole: Path) -> None:
    result = run(whole, "--consumequeue", "--topic", "orders", "--limit", "2")
    head, names, first, second = result.stdout.splitlines()
    assert head == "-- consumequeue of broker-a-0"
    assert names.split() == ["topic", "queueId", "queueOffset", "phyOffset", "size", "tagsCode"]
    assert first.split()[:3] == ["orders", "0", "0"]
    assert second.split()[:3] == ["orders", "0", "1"]
    assert "2023-11-14 22:13:20.000" in run(whole, "--commitlog", "--limit", "1").stdout


def test_several_nodes_are_shown_one_after_the_other(whole: Path, tmp_path: Path) -> None:
    for name in ("broker-a-0", "broker-b-0"):
        shutil.copytree(whole, tmp_path / name)
    (tmp_path / "other").mkdir()
    assert [node.name for node in find_nodes(str(tmp_path))] == ["broker-a-0", "broker-b-0"]
    assert len(list(rows(tmp_path, "--commitlog"))) == 60
    (tmp_path / "broker-b-0" / "checkpoint").write_bytes(b"short")
    result = run(tmp_path, "--check")
    assert result.stdout == (
        "broker-b-0/checkpoint:0: has 5 bytes where the config says 4096;"
        " start with the sizes it was written with, or move it away\n"
        "1 finding in broker-a-0, broker-b-0\n"
    )
    assert result.exit_code == 1


@pytest.mark.parametrize("name", ["nowhere", "file", "empty", "project"])
@pytest.mark.parametrize("option", ["--check", "--json"])
def test_directory_without_a_store_is_one_line(tmp_path: Path, name: str, option: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    for part in PARTS:
        (tmp_path / "project" / part).mkdir(parents=True)
    (tmp_path / "project" / "config" / "settings.json").write_text("{}")
    result = run(tmp_path / name, option)
    assert result.exit_code == 2
    assert not result.stdout
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {tmp_path / name}: ")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["nothing", "pipe"])
def test_special_file_is_one_line_without_waiting(store: Path, kind: str) -> None:
    path = store / "index" / "20270101000000000"
    if kind == "nothing":
        path.symlink_to("nowhere")
    else:
        os.mkfifo(path)
    result = run(store)
    what = "a link to nothing" if kind == "nothing" else "a named pipe"
    assert result.exit_code == 2
    assert result.stderr == f"Error: {path}: cannot be read: Is {what}, not a regular file\n"


def test_topic_in_other_letters_is_shown_on_any_terminal(store: Path) -> None:
    config = store / "config" / "consumerOffset.json"
    config.write_text('{"offsetTable":{"ü@g\\u0007":{0:3}}}', encoding="utf-8")
    ascii_only = CliRunner(charset="ascii")
    result = ascii_only.invoke(main, ["dump", str(store), "--offsets", "--limit", "1"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].split() == ["consumer", "g\\x07", "\\xfc", "0", "3"]


def test_dump_writes_nothing(store: Path) -> None:
    def state() -> list[tuple[str, int, int]]:
        return [
            (str(path), path.stat().st_size, path.stat().st_mtime_ns)
            for path in sorted(store.rglob("*"))
        ]

    before = state()
    run(store)
    run(store, "--check")
    assert state() == before


# -- checking -----------------------------------------------------------------------------------


def patch(path: Path, offset: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def test_sound_store_has_no_findings(whole: Path) -> None:
    assert findings(whole) == []


def log_files(root: Path) -> list[Path]:
    return sorted((root / "commitlog").iterdir())


def test_folder_of_config_files_alone_has_no_log(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "topics.json").write_text('{"topicConfigTable":{}}')
    checked = run(tmp_path, "--check")
    assert checked.exit_code == 0
    name = tmp_path.name
    there = f"0 findings in {name}; there is no file of a commit log in {name}\n"
    assert checked.stdout == there


def test_flipped_byte_of_a_body_is_found_by_its_crc(store: Path) -> None:
    path = log_files(store)[1]
    at = path.read_bytes().index(b"body ")
    patch(path, at, b"B")
    lines = findings(store)
    assert lines[0].startswith(f"commitlog/{path.name}:0: no record: CRC ")


def test_missing_log_file_is_found(store: Path) -> None:
    gone, after = log_files(store)[1:3]
    gone.unlink()
    lines = findings(store)
    assert lines[0] == (
        f"commitlog/{after.name}:0: the file before ends at 2000, this one begins at 4000"
    )
    assert any(", where no record begins" in line for line in lines[1:])


def test_missing_and_short_queues_are_found(store: Path) -> None:
    shutil.rmtree(store / "consumequeue" / "orders" / "0")
    last = sorted((store / "consumequeue" / "billing" / "1").iterdir())[-1]
    patch(last, 0, bytes(last.stat().st_size))
    lines = findings(store)
    assert sum(line.endswith("there is no such queue") for line in lines) == 8
    assert sum(line.endswith("no entry of the queue points at this record") for line in lines) == 1
    assert len(lines) == 9


def test_records_of_a_deleted_topic_have_no_queue(store: Path) -> None:
    shutil.rmtree(store / "consumequeue" / "orders")
    (store / "config" / "topics.json").write_text('{"topicConfigTable":{"billing":{"perm":6}}}')
    assert findings(store) == []


def test_queue_entry_that_points_elsewhere_is_found(store: Path) -> None:
    path = sorted((store / "consumequeue" / "orders" / "0").iterdir())[0]
    other = sorted((store / "consumequeue" / "orders" / "1").iterdir())[0]
    patch(path, 20, other.read_bytes()[20:40])
    (line,) = findings(store)
    assert line.startswith(f"consumequeue/orders/0/{path.name}:20: offset 1 points at ")
    assert line.endswith(", where there is orders:1 offset 1")


def test_index_entry_that_points_elsewhere_is_found(store: Path) -> None:
    path = sorted((store / "index").iterdir())[0]
    entry_at = 40 + 5 * 4 + 4 * 20
    patch(path, entry_at + 4, (1).to_bytes(8))
    (line,) = findings(store)
    assert line == f"index/{path.name}:{entry_at}: entry 4: points at 1, where no record begins"


def test_invalid_config_file_is_found(store: Path) -> None:
    (store / "config" / "topics.json.bak").write_text('{"topicConfigTable":')
    (line,) = findings(store)
    assert line.startswith("config/topics.json.bak:0: ")


def test_many_findings_of_one_file_are_counted(store: Path) -> None:
    for path in log_files(store):
        path.unlink()
    lines = findings(store)
    assert any(line.startswith("index/") for line in lines)
    assert len(lines) <= 200


@st.composite
def damages(draw: st.DrawFn) -> tuple[float, str, int]:
    how = draw(st.sampled_from(["flip", "cut", "remove", "zero"]))
    return draw(st.floats(0, 1, exclude_max=True)), how, draw(st.integers(0, 1 << 30))


@given(damages())
@settings(deadline=None, max_examples=60)
def test_any_damage_can_be_dumped(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, damage: tuple[float, str, int]
) -> None:
    which, how, number = damage
    root = tmp_path_factory.mktemp("damaged") / "broker-a-0"
    shutil.copytree(whole, root)
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    path = paths[int(which * len(paths))]
    size_bytes = path.stat().st_size
    at = number % size_bytes
    if how == "flip":
        patch(path, at, bytes([path.read_bytes()[at] ^ 1 << number % 8]))
    elif how == "zero":
        patch(path, at, bytes(min(100, size_bytes - at)))
    elif how == "cut":
        os.truncate(path, at)
    else:
        path.unlink()
    for arguments in (("--check",), ("--json",), ()):
        result = run(root, *arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.exit_code in (0, 1)
    shutil.rmtree(root.parent)


def test_no_file_is_mapped(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("a mapped access may end the process by SIGBUS")

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert findings(store) == []
    assert run(store).exit_code == 0


def test_file_that_is_shortened_while_it_is_read_is_one_line(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (node,) = find_nodes(str(store))
    (log, *_) = node.log.files
    os.truncate(log.path, 100)
    monkeypatch.setattr("fakemq.dump.command.find_nodes", lambda *_: [node])
    result = run(store, "--check")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].endswith(f"{log.path}: was shortened while it was read")


def test_offset_of_an_unknown_queue_is_shown(store: Path) -> None:
    text = '{"offsetTable":{"orders@g":{"0x":3,"1":4}}}'
    (store / "config" / "consumerOffset.json").write_text(text)
    found = [row for row in rows(store, "--offsets") if row["of"] == "consumer"]
    assert [(row["queueId"], row["offset"]) for row in found] == [("0x", 3), (1, 4)]


def test_tags_codes_are_read_from_extensions(tmp_path: Path) -> None:
    root = tmp_path / "broker-a-0"
    with DiskLab(root, enable_consume_queue_ext=True) as lab:
        lab.put(properties="TAGS\x01TagA\x02")
        lab.put(properties="TAGS\x01TagB\x02")
    assert [row["tagsCode"] for row in rows(root, "--consumequeue")] == [2598919, 2598920]
    assert in_queues(root) == []
    (units,) = (root / "consumequeue_ext" / "orders" / "0").iterdir()
    with units.open("r+b") as file:
        file.seek(20)
        file.write(bytes(2))  # the size of the second unit
    assert [row.get("tagsCode") for row in rows(root, "--consumequeue")] == [2598919, None]
    assert "TagB" not in run(root, "--consumequeue").output
    (line,) = in_queues(root)
    assert line.endswith("offset 1 has its tags code at 20 of consumequeue_ext, where none is")
