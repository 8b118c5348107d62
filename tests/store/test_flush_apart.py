"""Flushes for which another thread waits, while the store takes puts."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from fakemq.clock.clock import Clock
from fakemq.errors import StoreError
from fakemq.store.directory_file import DirectoryFile
from fakemq.store.results import PutMessageStatus
from tests.support.disk_lab import DiskLab
from tests.support.time import ManualTime

LOG_TICK_MS, QUEUE_TICK_MS = 500, 1_000


class RunningLab(DiskLab):
    """A store whose clock runs, with another thread as a test has it: it waits until `go`."""

    def __init__(self, root: Path) -> None:
        self.time = ManualTime()
        super().__init__(root, log_bytes=1 << 20)
        self.waiting: deque[tuple[Callable[[], None], Callable[[], None]]] = deque()
        self.clock.apart = lambda wait, done: self.waiting.append((wait, done))
        self.start()

    def clock_at(self, at_ms: int) -> Clock:
        return Clock(start_at_ms=at_ms, source=self.time)

    def pass_time(self, ms: int) -> None:
        self.time.passed_ms += ms
        self.clock.fire_due()
        self.settle()

    def go(self) -> None:
        """Let the oldest flush that is under way end."""
        wait, done = self.waiting.popleft()
        wait()
        done()

    def unflushed_bytes(self, folder: str = "commitlog") -> int:
        return sum(file.position - file.flushed for file in self.files.dirty(folder))


@pytest.fixture
def lab(tmp_path: Path) -> RunningLab:
    return RunningLab(tmp_path)


def test_put_during_a_flush_is_left_for_the_next_one(lab: RunningLab) -> None:
    lab.put(b"one")
    lab.pass_time(LOG_TICK_MS)
    second = lab.put(b"two").append_result
    assert second is not None
    lab.go()
    assert lab.unflushed_bytes() == second.wrote_bytes
    assert [file.path for file in lab.files.dirty("commitlog")] == ["commitlog/" + "0" * 20]


def test_tick_during_a_flush_begins_no_other(lab: RunningLab) -> None:
    lab.put()
    lab.pass_time(LOG_TICK_MS)
    lab.put(bytes(20_000))
    lab.pass_time(LOG_TICK_MS)
    assert len(lab.waiting) == 2, "one of the log, one of the queue"
    lab.go()
    lab.go()
    lab.pass_time(LOG_TICK_MS)
    lab.go()
    assert lab.unflushed_bytes() == 0


def test_thorough_tick_during_a_flush_is_made_up_for(lab: RunningLab) -> None:
    lab.put()
    lab.pass_time(LOG_TICK_MS)
    lab.put()
    lab.pass_time(20 * LOG_TICK_MS)
    lab.go()
    assert lab.unflushed_bytes() > 0
    lab.pass_time(LOG_TICK_MS)
    while lab.waiting:
        lab.go()
    assert lab.unflushed_bytes() == 0


def test_queues_are_flushed_apart_and_the_checkpoint_follows(lab: RunningLab) -> None:
    stored = lab.put().append_result
    assert stored is not None
    lab.pass_time(LOG_TICK_MS)
    lab.go()
    lab.pass_time(QUEUE_TICK_MS - LOG_TICK_MS)
    assert lab.path("checkpoint").read_bytes()[:24] == bytes(24)
    lab.go()
    assert lab.unflushed_bytes("consumequeue") == 0
    times = lab.path("checkpoint").read_bytes()[:16]
    assert times == 2 * stored.store_timestamp_ms.to_bytes(8)


def test_advance_flushes_at_once(lab: RunningLab) -> None:
    lab.put()
    lab.pass_time(LOG_TICK_MS)
    lab.put()
    lab.advance(30_000)
    assert lab.unflushed_bytes() == 0
    lab.go()
    assert lab.unflushed_bytes() == 0


def test_tick_of_advance_takes_the_place_of_a_thorough_flush(lab: RunningLab) -> None:
    lab.put()
    lab.pass_time(LOG_TICK_MS)
    second = lab.put().append_result
    assert second is not None
    lab.advance(QUEUE_TICK_MS - LOG_TICK_MS)
    assert lab.unflushed_bytes() == 0
    lab.go()
    lab.advance(60_000)
    assert lab.path("checkpoint").read_bytes()[:8] == second.store_timestamp_ms.to_bytes(8)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_flush_that_ends_after_its_store_does_nothing(lab: RunningLab, how: str) -> None:
    lab.put(b"one")
    lab.pass_time(LOG_TICK_MS)
    getattr(lab, how)()
    lab.start()
    lab.put(b"two")
    unflushed_bytes = lab.unflushed_bytes()
    lab.go()
    assert lab.unflushed_bytes() == unflushed_bytes > 0
    assert lab.bodies() == [b"one", b"two"]


def test_disk_that_refuses_a_flush_is_tried_again(
    lab: RunningLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    lab.put(b"one")
    lab.pass_time(LOG_TICK_MS)
    with monkeypatch.context() as patch:
        patch.setattr("fakemq.store.directory_file._flush", refuse)
        lab.go()
        assert lab.put().status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert lab.put(b"two").status is PutMessageStatus.PUT_OK
    assert lab.bodies() == [b"one", b"two"]


def file_of(lab: RunningLab) -> DirectoryFile:
    (file,) = lab.files.dirty("commitlog")
    return file


def test_file_that_was_cut_is_flushed_again(
    lab: RunningLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.put()
    file = file_of(lab)
    begun = file.begin_flush()
    assert begun is not None
    end = file.position
    begun.wait()
    file.truncate(10)
    file.append(bytes(end), 0)
    flushes: list[int] = []
    monkeypatch.setattr("fakemq.store.directory_file._flush", flushes.append)
    begun.end()
    assert len(flushes) == 1
    assert file.flushed == file.position == 10 + end


def test_file_that_was_deleted_is_not_flushed_again(
    lab: RunningLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.put()
    begun = file_of(lab).begin_flush()
    assert begun is not None
    begun.wait()
    lab.files.delete(file_of(lab).path)
    flushes: list[int] = []
    monkeypatch.setattr("fakemq.store.directory_file._flush", flushes.append)
    begun.end()
    assert not flushes


def test_flush_does_not_count_after_another_one_failed(
    lab: RunningLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux reports pages that it could not write once, and to one of the two only."""

    def refuse(number: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    lab.put()
    file = file_of(lab)
    begun = file.begin_flush()
    assert begun is not None
    with monkeypatch.context() as patch:
        patch.setattr("fakemq.store.directory_file._flush", refuse)
        with pytest.raises(StoreError):
            file.flush()
    begun.wait()
    written: list[int] = []
    monkeypatch.setattr(DirectoryFile, "_write", lambda _, data, start: written.append(start))
    begun.end()
    assert written == [0], "its page is written again"
    assert file.flushed == file.position


def test_changed_page_is_flushed_at_once_only(lab: RunningLab) -> None:
    lab.put()
    file = file_of(lab)
    file.flush()
    file.write_at(0, b"x", 0)
    assert file.begin_flush() is None


def test_failed_flush_is_repeated_at_once_only(
    lab: RunningLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    lab.put()
    file = file_of(lab)
    begun = file.begin_flush()
    assert begun is not None
    with monkeypatch.context() as patch:
        patch.setattr("fakemq.store.directory_file._flush", refuse)
        begun.wait()
    with pytest.raises(StoreError, match="cannot be flushed: Input/output error"):
        begun.end()
    assert file.begin_flush() is None
