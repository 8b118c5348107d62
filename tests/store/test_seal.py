"""A start after a clean stop reads the log only if a file is not as the stop left it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fakemq.protocol.properties import TAGS
from fakemq.store import recovery, seal, start_check
from fakemq.store.record_scan import RecordRange, read_range
from tests.support.disk_lab import DiskLab

QUEUE = "consumequeue/orders/0/00000000000000000000"
LOG = "commitlog/00000000000000004096"


@pytest.fixture(autouse=True)
def _short_logs_are_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "LEAST_BYTES", 0)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes of the log starts have read, range by range, without empty ranges."""
    found: list[int] = []

    def read(view: memoryview, at: int, *rest: object, **named: object) -> RecordRange:
        records = read_range(view, at, *rest, **named)  # type: ignore[arg-type]  # as it was called
        if records.at > at:
            found.append(records.at - at)
        return records

    monkeypatch.setattr(recovery, "read_range", read)
    monkeypatch.setattr(start_check, "read_range", read)
    return found


def put_some(lab: DiskLab) -> None:
    for number in range(60):
        lab.put(b"%03d" % number * 20, properties=f"KEYS\x01k\x02{TAGS}\x01a\x02")
        lab.put(b"%03d" % number * 20, queue_id=1)
        lab.advance(10)


def stopped(root: Path) -> DiskLab:
    lab = DiskLab(root)
    lab.start()
    put_some(lab)
    lab.stop()
    assert (root / seal.PATH).exists()
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


def test_start_on_a_sealed_store_is_as_one_that_reads_it(tmp_path: Path, reads: list[int]) -> None:
    lab = stopped(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (tmp_path / "two" / seal.PATH).unlink()
    assert lab.start().clean
    assert not reads
    assert not (tmp_path / "one" / seal.PATH).exists()
    with DiskLab(tmp_path / "two", at_ms=lab.node_clock.now_ms()) as other:
        assert reads
        assert state(other) == state(lab)
    lab.put(b"next")
    lab.stop()
    reads.clear()
    lab.start()
    assert lab.bodies()[-1] == b"next"
    assert not reads
    lab.stop()


def test_copy_that_keeps_times_is_sealed(tmp_path: Path, reads: list[int]) -> None:
    stopped(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with DiskLab(tmp_path / "two"):
        assert not reads


def test_short_log_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "LEAST_BYTES", 1000)
    with DiskLab(tmp_path) as lab:
        lab.put()
    assert not (tmp_path / seal.PATH).exists()
    with lab:
        lab.put(b"x" * 1000)
    assert (tmp_path / seal.PATH).exists()


def flip(path: Path) -> None:
    with open(path, "r+b") as file:
        data = file.read(200)
        file.seek(100)
        file.write(bytes([data[100] ^ 1]))


def flip_last_record(root: Path) -> None:
    """Change the last byte of the log, and set the time of its file back."""
    path = max(root.glob("commitlog/*"))
    status, data = path.stat(), bytearray(path.read_bytes())
    data[len(data.rstrip(b"\0")) - 1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def preallocate(root: Path) -> None:
    """Add an empty file behind the log, as Java does."""
    last = max(root.glob("commitlog/*"))
    (last.parent / f"{int(last.name) + 4096:020}").write_bytes(bytes(4096))


@pytest.mark.parametrize(
    "touch",
    [
        lambda root: flip(root / LOG),
        lambda root: flip(root / QUEUE),
        flip_last_record,
        lambda root: (root / QUEUE).unlink(),
        lambda root: shutil.rmtree(root / "index"),
        preallocate,
        lambda root: (root / "checkpoint").unlink(),
        lambda root: flip(root / "checkpoint"),
        lambda root: (root / "abort").touch(),
        lambda root: flip(root / seal.PATH),
        lambda root: (root / seal.PATH).write_text(""),
        lambda root: (root / seal.PATH).write_text("9" * 200),
        lambda root: (root / seal.PATH).write_text("-1 x"),
        lambda root: (root / seal.PATH).write_bytes(b"\xff" * 4096),
    ],
)
def test_change_of_any_file_breaks_the_seal(
    tmp_path: Path, reads: list[int], touch: Callable[[Path], object]
) -> None:
    lab = stopped(tmp_path)
    touch(tmp_path)
    lab.start()
    assert reads
    assert not (tmp_path / seal.PATH).exists()
    lab.stop()


@pytest.mark.parametrize(
    "lab",
    [
        lambda root: DiskLab(root, message_delay_level="1s"),
        lambda root: DiskLab(root, check_crc_on_recover=False),
    ],
)
def test_other_checks_break_the_seal(
    tmp_path: Path, reads: list[int], lab: Callable[[Path], DiskLab]
) -> None:
    stopped(tmp_path)
    with lab(tmp_path):
        assert reads


def test_seal_of_a_log_without_files_is_not_believed(tmp_path: Path) -> None:
    lab = stopped(tmp_path)
    shutil.rmtree(tmp_path / "commitlog")
    lab.start()
    assert not lab.bodies()
    lab.stop()


def test_killed_store_is_not_sealed(tmp_path: Path, reads: list[int]) -> None:
    lab = stopped(tmp_path)
    lab.start()
    lab.put(b"next")
    lab.kill()
    assert not (tmp_path / seal.PATH).exists()
    lab.start()
    assert reads
    lab.kill()


def test_records_behind_the_sealed_end_are_found(tmp_path: Path, reads: list[int]) -> None:
    """A power failure may take back the removal of the seal, and keep what was stored later."""
    lab = stopped(tmp_path)
    lab.start()
    lab.put(b"the first of a file")
    lab.stop()
    sealed = (tmp_path / seal.PATH).read_text()
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    lab.start()
    lab.put(b"next")
    lab.stop()
    (tmp_path / seal.PATH).write_text(sealed)
    for path, time_ns in times.items():
        if path.exists():
            os.utime(path, ns=(time_ns, time_ns))
    lab.start()
    assert lab.bodies()[-1] == b"next"
    assert len(reads) == 1
    lab.stop()


@pytest.mark.parametrize("moved_bytes", [-1_000_000, -5_000, -100, -1, 1, 3, 1 << 62])
def test_seal_within_a_record_is_not_believed(tmp_path: Path, moved_bytes: int) -> None:
    """Its digest is right: a seal has no secret, so any program can write one."""
    lab = stopped(tmp_path)
    end = int((tmp_path / seal.PATH).read_text().partition(" ")[0])
    seal.leave(lab.files, lab.config, end + moved_bytes)
    lab.start()
    assert len(lab.bodies()) == len(lab.bodies(queue_id=1)) == 60
    assert not lab.repairs()
    lab.put(b"next")
    lab.kill()
    lab.start()
    assert lab.bodies()[60:] == [b"next"]
    lab.stop()


def test_damaged_store_is_reported_at_each_start(tmp_path: Path, reads: list[int]) -> None:
    lab = stopped(tmp_path)
    flip(tmp_path / QUEUE)
    for _ in range(2):
        reads.clear()
        lab.start()
        assert reads
        lab.stop()


def test_seal_that_cannot_be_written_lets_the_next_start_read(
    tmp_path: Path, reads: list[int]
) -> None:
    lab = DiskLab(tmp_path)
    lab.start()
    put_some(lab)
    (tmp_path / seal.PATH).mkdir()
    lab.stop()
    (tmp_path / seal.PATH).rmdir()
    lab.start()
    assert reads
    lab.stop()
