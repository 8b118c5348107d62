"""Files of a store in memory: contents, cost, slices, the limit."""

from __future__ import annotations

import pytest

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.errors import StoreError
from fakemq.store import memory_files
from fakemq.store.memory_files import GIB, MemoryFiles, size_text
from tests.support.calls import calls_of
from tests.support.form import pure_only

NOW_MS = 1_700_000_000_000


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(NodeClock(Clock(frozen=True, start_at_ms=NOW_MS), "n"), 1000)


def test_file_is_zero_until_written_and_costs_its_contents(files: MemoryFiles) -> None:
    file = files.open("commitlog/0", GIB)
    assert len(file.view) == file.size_bytes == GIB
    assert bytes(file.view[-8:]) == bytes(8)
    file.append(b"abc", NOW_MS + 1)
    file.append(b"de", NOW_MS + 2)
    assert bytes(file.view[:6]) == b"abcde\0"
    assert file.position == 5
    assert files.used_bytes == 5


def test_times_are_those_of_the_clock(files: MemoryFiles) -> None:
    file = files.open("a/0", 100)
    assert file.mtime_ms == NOW_MS
    file.append(b"a", NOW_MS + 1)
    assert file.mtime_ms == NOW_MS + 1
    file.write_at(50, b"a", NOW_MS + 2)
    assert file.mtime_ms == NOW_MS + 2


def test_write_at_a_position_moves_no_end(files: MemoryFiles) -> None:
    file = files.open("a/0", 100)
    file.write_at(98, b"zz", NOW_MS)
    assert (file.position, files.used_bytes, bytes(file.view[97:])) == (0, 0, b"\0zz")


def test_same_path_is_the_same_file(files: MemoryFiles) -> None:
    assert files.open("a/0", 100) is files.open("a/0", 100)


def test_deletion_frees_room_and_leaves_slices(files: MemoryFiles) -> None:
    file = files.open("a/0", 100)
    file.append(b"abc", NOW_MS)
    files.open("b/0", 100).append(b"12", NOW_MS)
    piece = file.view[:3]
    del file
    files.delete("a/0")
    files.delete("a/0")
    assert bytes(piece) == b"abc"
    assert files.used_bytes == 2
    assert bytes(files.open("a/0", 100).view[:3]) == bytes(3)


def test_growing_file_costs_little_until_it_is_large(files: MemoryFiles) -> None:
    file = files.open("queue/0", 1 << 20, grows=True)
    entries = [bytes([number % 256]) * 20 for number in range(10_000)]
    sizes_bytes = set()
    for entry in entries:
        file.append(entry, NOW_MS)
        sizes_bytes.add(len(file.view))
    assert min(sizes_bytes) < 200
    assert max(sizes_bytes) == file.size_bytes == 1 << 20
    assert len(sizes_bytes) < 12
    assert bytes(file.view[: file.position]) == b"".join(entries)


def test_slices_outlive_the_growth_of_their_file(files: MemoryFiles) -> None:
    file = files.open("queue/0", 1 << 20, grows=True)
    file.append(b"abc", NOW_MS)
    piece = file.view[:3]
    file.write_at(5_000, b"z", NOW_MS)
    file.truncate(500_000)
    assert bytes(piece) == bytes(file.view[:3]) == b"abc"
    assert bytes(file.view[4_999:5_002]) == b"\0z\0"
    assert len(file.view) == 1 << 20


def test_files_are_listed_by_folder(files: MemoryFiles) -> None:
    for path in ("q/T/1/0", "q/T/0/0", "q/T1/0/0"):
        files.open(path, 100)
    assert files.list("q/T") == ["q/T/0/0", "q/T/1/0"]
    files.clear()
    assert files.list("q") == []


def test_memory_limit_is_enforced(files: MemoryFiles) -> None:
    assert files.has_room(1000)
    assert not files.has_room(1001)
    files.open("a/0", 2000).append(bytes(250), NOW_MS)
    assert files.has_room(750)
    assert not files.has_room(751)
    assert files.used_ratio() == 0.25
    assert files.full_reason() == "the memory limit of fakemq, --memory-limit 1000, is reached"


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(GIB, "1GiB"), (3 << 20, "3MiB"), (1536 << 10, "1536KiB"), (1000, "1000"), (0, "0")],
)
def test_sizes_are_printed_as_the_command_line_takes_them(size_bytes: int, text: str) -> None:
    assert size_text(size_bytes) == text


def test_refused_allocation_names_a_remedy(files: MemoryFiles) -> None:
    with pytest.raises(StoreError, match=r"memory/a/0: .*ulimit -v.*CommitLog") as refused:
        files.open("a/0", 1 << 62)
    assert refused.value.passing
    assert not files.list("a")


def test_clear_frees_a_file_that_is_still_referred_to(files: MemoryFiles) -> None:
    file = files.open("commitlog/0", GIB)
    files.clear()
    assert len(file.view) == 0


@pure_only
def test_small_file_without_memory_is_a_passing_store_error(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(size_bytes: int) -> bytearray:
        raise MemoryError

    monkeypatch.setattr(memory_files, "bytearray", refuse, raising=False)
    with pytest.raises(StoreError, match="the system refuses 1000 of addresses") as caught:
        files.open("a/0", 1000)
    assert caught.value.passing


def test_list_of_one_folder_looks_at_no_other(files: MemoryFiles) -> None:
    folders = [f"consumequeue/topic-{number}/0" for number in range(300)]
    for folder in folders:
        files.open(f"{folder}/00", 20, grows=True)
    assert calls_of(lambda: [files.list(folder) for folder in folders]) < 2 * len(folders)
    assert files.list("consumequeue/topic-29") == ["consumequeue/topic-29/0/00"]
    files.delete("consumequeue/topic-29/0/00")
    assert files.list("consumequeue/topic-29") == []
    assert len(files.list("consumequeue")) == 299
