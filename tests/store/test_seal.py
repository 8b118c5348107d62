"""A start after a clean stop reads the log only if a file was touched meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fakemq.protocol.properties import TAGS
from fakemq.store import recovery, start_check
from fakemq.store.record_scan import RecordRange, read_range
from tests.support.disk_lab import DiskLab

QUEUE = "consumequeue/orders/0/00000000000000000000"
LOG = "commitlog/00000000000000004096"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where the ranges begin that starts read."""
    begins: list[int] = []

    def read(view: memoryview, at: int, *rest: object, **named: object) -> RecordRange:
        begins.append(at)
        return read_range(view, at, *rest, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(recovery, "read_range", read)
    monkeypatch.setattr(start_check, "read_range", read)
    return begins


def stopped(root: Path) -> DiskLab:
    lab = DiskLab(root)
    lab.start()
    for number in range(60):
        lab.put(b"%03d" % number * 20, properties=f"KEYS\x01k\x02{TAGS}\x01a\x02")
        lab.put(b"%03d" % number * 20, queue_id=1)
        lab.advance(10)
    lab.stop()
    return lab


def state(lab: DiskLab) -> object:
    queues = [
        (queue.folder, queue.min_offset, queue.max_offset, queue.max_physic_offset)
        for queue in lab.store.queues
    ]
    files = [(file.path, file.position, file.mtime_ms) for file in lab.files.opened()]
    log = lab.store.log
    return (
        *(queues, sorted(files), log.min_offset, log.max_offset, log.topic_queue_table),
        *(lab.bodies(), [index.index_count for index in lab.store.index.files]),
    )


def test_sealed_store_is_as_one_that_was_read(tmp_path: Path, reads: list[int]) -> None:
    lab = stopped(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")  # with other times
    for file in (tmp_path / "one").rglob("0*"):
        os.utime(
            tmp_path / "two" / file.relative_to(tmp_path / "one"), ns=(0, file.stat().st_mtime_ns)
        )
    assert lab.start().clean
    assert not reads
    with DiskLab(tmp_path / "two", at_ms=lab.node_clock.now_ms()) as copy:
        assert reads
        assert state(copy) == state(lab)
    lab.put(b"next")
    assert lab.bodies()[-1] == b"next"
    lab.stop()
    reads.clear()
    lab.start()
    assert lab.bodies()[-1] == b"next"
    assert not reads
    lab.stop()


def flip(path: Path) -> None:
    with open(path, "r+b") as file:
        data = file.read(200)
        file.seek(100)
        file.write(bytes([data[100] ^ 1]))


def flip_and_set_time(path: Path) -> None:
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def preallocate(root: Path) -> None:
    """Add an empty file behind the log, as Java does."""
    last = max(root.glob("commitlog/*"))
    (last.parent / f"{int(last.name) + 4096:020}").write_bytes(bytes(4096))


@pytest.mark.parametrize(
    "touch",
    [
        lambda root: flip(root / LOG),
        lambda root: flip(root / QUEUE),
        lambda root: flip_and_set_time(root / LOG),
        lambda root: (root / QUEUE).unlink(),
        lambda root: shutil.rmtree(root / "index"),
        preallocate,
        lambda root: (root / "checkpoint").unlink(),
        lambda root: (root / "checkpoint").write_bytes(b"x" * 4096),
        lambda root: (root / "abort").touch(),
    ],
)
def test_any_change_breaks_the_seal(
    tmp_path: Path, reads: list[int], touch: Callable[[Path], object]
) -> None:
    lab = stopped(tmp_path)
    while (tmp_path / LOG).stat().st_ctime_ns == _touched_now(tmp_path):
        pass  # the system's clock for files has ticks of some milliseconds
    touch(tmp_path)
    lab.start()
    assert reads
    lab.stop()


def _touched_now(root: Path) -> int:
    path = root / "now"
    path.write_bytes(b"")
    return path.stat().st_ctime_ns


def test_write_right_after_a_stop_breaks_the_seal(tmp_path: Path, reads: list[int]) -> None:
    lab = stopped(tmp_path)
    for _ in range(50):
        flip(tmp_path / LOG)
        lab.start()
        assert reads
        reads.clear()
        flip(tmp_path / LOG)  # as it was
        lab.kill()
        lab.start()
        lab.stop()
        reads.clear()


def test_damaged_store_is_reported_at_each_start(tmp_path: Path, reads: list[int]) -> None:
    lab = stopped(tmp_path)
    flip(tmp_path / QUEUE)
    for _ in range(2):
        reads.clear()
        lab.start()
        assert reads
        lab.stop()


def test_other_delay_levels_break_the_seal(tmp_path: Path, reads: list[int]) -> None:
    stopped(tmp_path)
    with DiskLab(tmp_path, message_delay_level="1s 5s"):
        assert reads
