"""Files of a store in a directory: sizes, times, slices, deletion, full disks."""

from __future__ import annotations

import errno
import gc
import mmap
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.log_folders import LogPaths
from fakemq.errors import StoreError
from fakemq.store.directory_file import PAGE_BYTES
from fakemq.store.directory_files import DirectoryFiles, DiskCapacity
from fakemq.store.mapped_file_queue import MappedFileQueue
from fakemq.store.memory_files import MemoryFiles

NOW_MS = 1_700_000_000_123
SIZE = 3 * PAGE_BYTES + 100


def make(root: Path | str) -> DirectoryFiles:
    return DirectoryFiles(str(root), NodeClock(Clock(frozen=True, start_at_ms=NOW_MS), "n"))


@pytest.fixture
def files(tmp_path: Path) -> DirectoryFiles:
    return make(tmp_path / "store")


def on_disk(files: DirectoryFiles, path: str) -> bytes:
    return Path(files.path_of(path)).read_bytes()


def test_file_is_sparse_and_has_the_clusters_time(files: DirectoryFiles) -> None:
    file = files.open("commitlog/0", 1 << 30)
    file.append(b"abc", NOW_MS + 7)
    file.flush()
    status = os.stat(files.path_of("commitlog/0"))
    assert status.st_size == 1 << 30
    assert status.st_blocks * 512 <= 2 * PAGE_BYTES
    assert status.st_mtime_ns == (NOW_MS + 7) * 1_000_000
    assert files.used_bytes == 3


def test_existing_file_counts_as_full_until_truncated(files: DirectoryFiles) -> None:
    files.open("commitlog/0", SIZE).append(b"abcdef", NOW_MS + 7)
    files.close()
    file = files.open("commitlog/0", SIZE)
    assert (file.position, file.flushed, file.mtime_ms) == (SIZE, SIZE, NOW_MS + 7)
    assert file.data_end(0) == 6
    file.truncate(2)
    assert on_disk(files, "commitlog/0") == b"ab" + bytes(SIZE - 2)
    file.append(b"XY", NOW_MS)
    assert bytes(file.view[:6]) == b"abXY\0\0"


def test_other_file_size_is_an_error_with_both_sizes(files: DirectoryFiles) -> None:
    files.open("index/1", 100)
    files.close()
    with pytest.raises(StoreError, match=r"store/index/1: has 100 bytes where the config says 200"):
        files.open("index/1", 200)


def test_slices_stay_valid_when_the_file_is_deleted_or_closed(files: DirectoryFiles) -> None:
    file = files.open("consumequeue/T/0/0", 1000)
    file.append(b"abc", NOW_MS)
    part = file.view[:3]
    files.delete("consumequeue/T/0/0")
    files.close()
    del file
    assert bytes(part) == b"abc"
    assert not os.path.exists(files.path_of("consumequeue/T/0"))
    assert files.list("consumequeue") == []


def test_closed_files_leave_no_descriptor(files: DirectoryFiles) -> None:
    gc.collect()  # what earlier tests left open is closed before the count
    before = os.listdir("/proc/self/fd")
    for number in range(20):
        files.open(f"consumequeue/T/{number}/0", 1000).append(b"x", NOW_MS)
    held = 20 if sys.version_info >= (3, 13) else 40  # mappings have their own before
    assert len(os.listdir("/proc/self/fd")) == len(before) + held
    files.close()
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_clearing_leaves_foreign_files(files: DirectoryFiles) -> None:
    files.open("commitlog/0", 100)
    files.create("abort")
    mine = Path(files.root, "photos")
    mine.mkdir()
    (mine / "cat.jpg").write_bytes(b"meow")
    files.clear()
    assert not files.exists("commitlog/0")
    assert files.exists("abort")
    assert (mine / "cat.jpg").read_bytes() == b"meow"


def test_log_may_have_its_own_folder(tmp_path: Path) -> None:
    clock = NodeClock(Clock(frozen=True, start_at_ms=NOW_MS), "n")
    paths = LogPaths((str(tmp_path / "log"),))
    files = DirectoryFiles(str(tmp_path / "root"), clock, paths)
    files.open("commitlog/00", 100)
    files.open("index/00", 100)
    assert (tmp_path / "log" / "00").exists()
    assert (tmp_path / "root" / "index" / "00").exists()
    assert files.list("commitlog") == ["commitlog/00"]


def test_full_disk_is_an_error_before_anything_is_written(
    files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files.open("commitlog/0", 1 << 20)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StoreError, match="commitlog/0: cannot be written from 0 on: No space left"):
        file.append(b"abc", NOW_MS)
    assert (file.position, files.used_bytes) == (0, 0)
    with pytest.raises(StoreError, match="No space left"):
        file.write_at(5000, b"abc", NOW_MS)
    assert on_disk(files, "commitlog/0") == bytes(1 << 20)
    assert files.dirty("commitlog") == []


def test_file_is_read_through_the_mapping_only_where_it_was_written(files: DirectoryFiles) -> None:
    # A mapped write on a full disk ends the process, and on tmpfs a mapped read of a hole, too.
    file = files.open("commitlog/0", 1 << 20)
    assert not file.view
    assert file.read(5000, 3) == bytes(3)
    file.append(b"abc", NOW_MS)
    assert file.view.readonly
    assert len(file.view) == mmap.PAGESIZE
    files.close()
    assert len(files.open("commitlog/0", 1 << 20).view) == mmap.PAGESIZE


def test_write_that_the_disk_takes_in_part_leaves_zeros(
    files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files.open("commitlog/0", 1 << 20)
    left = [1000]
    write = os.pwrite

    def fill(number: int, data: bytes, offset: int) -> int:
        if offset >= left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(number, data[: left[0] - offset], offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fill)
        with pytest.raises(StoreError, match="cannot be written from 0 on: No space left"):
            file.append(b"x" * 3000, NOW_MS)
    assert on_disk(files, "commitlog/0") == bytes(1 << 20)
    file.append(b"x" * 3000, NOW_MS)
    assert on_disk(files, "commitlog/0")[:3001] == b"x" * 3000 + b"\0"


def test_holes_before_the_last_byte_become_zeros_on_the_disk(files: DirectoryFiles) -> None:
    path = Path(files.path_of("commitlog/0"))
    path.parent.mkdir(parents=True)
    with path.open("wb") as copied:
        copied.truncate(SIZE)
        copied.seek(2 * PAGE_BYTES - 1)
        copied.write(b"x")  # the next page may have the zeros with which a record ends
    file = files.open("commitlog/0", SIZE)
    assert bytes(file.view) == bytes(2 * PAGE_BYTES - 1) + b"x" + bytes(PAGE_BYTES)
    assert file.data_end(0) == 2 * PAGE_BYTES


def test_descriptors_of_old_files_are_closed_when_there_are_many(files: DirectoryFiles) -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    made = [files.open(f"consumequeue/T/{number}/0", 1000) for number in range(100)]
    for file in made * 2:
        file.append(b"x", NOW_MS)
    of_mappings = 0 if sys.version_info >= (3, 13) else 100
    assert len(os.listdir("/proc/self/fd")) == before + of_mappings + 64
    assert all(bytes(file.view[:3]) == b"xx\0" for file in made)
    files.close()
    del made, file
    assert len(os.listdir("/proc/self/fd")) == before


def test_descriptors_are_lent_when_the_process_has_no_more(
    files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (files.open(f"consumequeue/T/{number}/0", 1000) for number in range(2))
    first.append(b"x", NOW_MS)
    opened = os.open
    refused: list[str] = []

    def limited(path: str, *args: int) -> int:
        if not refused:
            refused.append(path)
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return opened(path, *args)

    monkeypatch.setattr(os, "open", limited)
    second.append(b"y", NOW_MS)
    first.append(b"x", NOW_MS)
    assert (on_disk(files, first.path)[:3], on_disk(files, second.path)[:2]) == (b"xx\0", b"y\0")
    assert len(refused) == 1


def test_free_room_is_that_of_the_disk(files: DirectoryFiles) -> None:
    files.disk = lambda _: DiskCapacity(1 << 30, 64 << 20)
    assert files.has_room(1000)
    assert not files.has_room(60 << 20)
    assert files.used_ratio() == 1 - 64 / 1024
    where = f"free on the disk of {files.root}"
    assert files.full_reason() == f"less than 16 MiB would stay {where}"
    files.disk = lambda _: DiskCapacity(1 << 30, (16 << 20) - 1)
    assert files.full_reason() == f"less than 16 MiB is {where}"
    files.disk = lambda _: DiskCapacity(1 << 30, 1 << 30)
    assert files.has_room(60 << 20)
    files.broken = "it broke"
    assert not files.has_room(1)
    assert files.full_reason() == "it broke"


def test_file_in_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "commitlog").write_bytes(b"")
    with pytest.raises(StoreError, match="/commitlog: cannot be opened: File exists"):
        make(tmp_path).open("commitlog/0", 100)


def test_undeletable_file_stays_the_first_of_its_row(
    files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = MappedFileQueue(files, "commitlog", 100)
    made = [row.add_file(0, NOW_MS) for _ in range(3)]
    for file in made:
        file.append(bytes(100), NOW_MS)

    def refuse(path: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        with pytest.raises(StoreError, match="cannot be deleted: Permission denied"):
            row.delete_before(200)
        with pytest.raises(StoreError, match="cannot be deleted: Permission denied"):
            row.drop_last()
    assert (row.min_offset, row.find(0), row.last) == (0, made[0], made[2])
    assert list(files.opened()) == made
    assert len(files.dirty("commitlog")) == 3
    assert row.delete_before(200) == 2
    assert (row.min_offset, row.find(200)) == (200, made[2])


def test_truncated_data_do_not_return_after_a_crash(files: DirectoryFiles) -> None:
    file = files.open("commitlog/0", SIZE)
    file.append(b"x" * 100, NOW_MS)
    file.flush()
    file.write_at(10, b"y", NOW_MS)  # the page as it was is kept
    file.truncate(50)
    for seed in range(20):
        files.lose_unflushed(random.Random(seed))
        assert on_disk(files, "commitlog/0")[50:] == bytes(SIZE - 50)


def test_error_names_the_limit_of_open_files(
    files: DirectoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(StoreError, match=r"Too many open files; .*ulimit -n"):
        files.open("commitlog/0", 100)


class SameAsInMemory(RuleBasedStateMachine):
    """Directory and memory hold the same; a crash takes what was not flushed and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory(prefix="fakemq-files-")
        self.files = make(self.folder.name)
        self.memory = MemoryFiles(NodeClock(Clock(frozen=True, start_at_ms=NOW_MS), "n"))
        self.path = "commitlog/0"
        self._open(SIZE)
        self.flushed = bytes(SIZE)

    def _open(self, position: int) -> None:
        self.file = self.files.open(self.path, SIZE)
        self.other = self.memory.open(self.path, SIZE)

    def teardown(self) -> None:
        self.files.close()
        self.folder.cleanup()

    @rule(size=st.integers(1, 2 * PAGE_BYTES), fill=st.integers(1, 255))
    def append(self, size: int, fill: int) -> None:
        if self.file.position + size <= SIZE:
            for file in (self.file, self.other):
                file.append(bytes([fill]) * size, NOW_MS)

    @rule(offset=st.integers(0, SIZE - 1), size=st.integers(1, 600), fill=st.integers(0, 255))
    def write_at(self, offset: int, size: int, fill: int) -> None:
        # Only headers and slots are written so, and they lie before what is appended.
        size = min(size, self.file.flushed - offset)
        if size > 0:
            for file in (self.file, self.other):
                file.write_at(offset, bytes([fill]) * size, NOW_MS)

    @rule(back=st.integers(0, PAGE_BYTES))
    def cut(self, back: int) -> None:
        position = max(0, self.file.position - back)
        self.file.truncate(position)
        self.other.truncate(position)
        self.other.view[position:] = bytes(SIZE - position)
        self.flushed = self.flushed[:position].ljust(SIZE, b"\0")

    @rule()
    def flush(self) -> None:
        self.file.flush()
        self.flushed = bytes(self.file.read(0, SIZE))
        assert self.files.dirty("commitlog") == []

    @rule()
    def look(self) -> None:
        assert self.file.position == self.other.position
        assert self.file.read(0, SIZE) == self.other.view
        assert self.file.read(0, SIZE) == on_disk(self.files, self.path)
        assert not any(self.other.view[len(self.file.view) :])
        assert self.file.data_end(0) == self.other.data_end(0)

    @precondition(lambda self: self.file.position)
    @rule(seed=st.integers(0, 1000))
    def crash(self, seed: int) -> None:
        before = bytes(self.file.read(0, SIZE))
        position = self.file.position
        pages, lost = self.files.lose_unflushed(random.Random(seed))
        assert 0 <= lost <= pages
        after = on_disk(self.files, self.path)
        torn = 0
        for start in range(0, SIZE, PAGE_BYTES):
            end = min(start + PAGE_BYTES, SIZE)
            old, new, now = self.flushed[start:end], before[start:end], after[start:end]
            if now not in (old, new):
                torn += 1
                edge = next(n for n in range(0, len(now) + 1, 512) if now[n:] == old[n:])
                assert now[:edge] == new[:edge]
        assert torn <= 1
        self.files.close()
        self.file = self.files.open(self.path, SIZE)
        self.file.truncate(position)
        self.other.truncate(position)
        self.other.view[:] = after
        self.flushed = after


TestSameAsInMemory = SameAsInMemory.TestCase
TestSameAsInMemory.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
