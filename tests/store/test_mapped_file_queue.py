"""A row of files of one size: names, search by offset and time, deletion."""

from __future__ import annotations

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.store.mapped_file_queue import MappedFileQueue
from fakemq.store.memory_files import MemoryFiles


def make() -> tuple[MemoryFiles, MappedFileQueue]:
    files = MemoryFiles(NodeClock(Clock(frozen=True, start_at_ms=0), "n"))
    return files, MappedFileQueue(files, "log", 100)


def test_files_are_named_by_their_first_offset_and_found_by_any() -> None:
    files, queue = make()
    assert (queue.min_offset, queue.max_offset, queue.find(0)) == (-1, 0, None)
    first = queue.add_file(250, 1)
    second = queue.add_file(0, 2)
    assert files.list("log") == ["log/00000000000000000200", "log/00000000000000000300"]
    assert (queue.min_offset, queue.max_offset) == (200, 300)
    second.append(b"abc", 3)
    assert queue.max_offset == 303
    assert queue.find(199) is None
    assert queue.find(200) is queue.find(299) is first
    assert queue.find(300) is queue.find(399) is second
    assert queue.find(400) is None


def test_time_finds_the_first_file_changed_since() -> None:
    _, queue = make()
    assert queue.find_by_time(5) is None
    first, second = queue.add_file(0, 10), queue.add_file(0, 20)
    assert queue.find_by_time(5) == (first, 0)
    assert queue.find_by_time(10) == (first, 0)
    assert queue.find_by_time(11) == (second, 100)
    assert queue.find_by_time(99) == (second, 100)


def test_old_files_are_deleted_except_the_last() -> None:
    files, queue = make()
    for _ in range(3):
        queue.add_file(0, 1)
    assert queue.delete_before(199) == 1
    assert queue.min_offset == 100
    assert queue.find(99) is None
    assert queue.find(100) is not None
    assert queue.delete_before(10_000) == 1
    assert files.list("log") == ["log/00000000000000000200"]
    queue.destroy()
    assert files.list("log") == []
    assert (queue.min_offset, queue.max_offset) == (-1, 0)
