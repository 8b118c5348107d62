"""A disk that takes no more, and does again: nothing is lost, and no restart is needed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.errors import StoreError
from fakemq.events import HandlerFailed, Warned
from fakemq.store.puts import PutMessageResult
from fakemq.store.results import PutMessageStatus
from tests.support.disk_lab import DiskLab
from tests.support.full_disk import FullDisk

OK, REFUSED = PutMessageStatus.PUT_OK, PutMessageStatus.SERVICE_NOT_AVAILABLE


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


@pytest.fixture
def lab(tmp_path: Path, disk: FullDisk) -> DiskLab:
    lab = DiskLab(tmp_path)
    lab.start()
    return lab


def lines(lab: DiskLab) -> list[str]:
    assert lab.journal.find(HandlerFailed) == []
    return [warned.text for warned in lab.journal.find(Warned)]


def test_put_is_refused_while_the_log_has_no_block(lab: DiskLab, disk: FullDisk) -> None:
    lab.put(b"one")
    disk.full = ("commitlog",)
    for _ in range(2):
        assert lab.put(b"two").status is PutMessageStatus.CREATE_MAPEDFILE_FAILED
    disk.full = ()
    assert lab.put(b"three").status is OK
    assert lab.bodies() == [b"one", b"three"]
    refused, taken = lines(lab)
    assert "No space left on device: messages are refused with CREATE_MAPEDFILE_FAILED" in refused
    assert taken == "messages are taken again"


def test_record_reaches_its_queue_when_the_disk_has_room_again(
    lab: DiskLab, disk: FullDisk
) -> None:
    late: list[PutMessageResult] = []
    lab.store.on_late = late.append
    lab.put(b"one")
    disk.full = ("consumequeue",)
    assert lab.put(b"two").status is OK  # its record is in the log
    assert lab.put(b"refused").status is REFUSED
    assert lab.bodies() == [b"one"]
    disk.full = ()
    assert lab.put(b"three").status is OK
    assert lab.bodies() == [b"one", b"two", b"three"]
    assert [record.queue_offset for result in late for record in result.records] == [1]
    refused, taken = lines(lab)
    assert refused.endswith(
        "No space left on device: messages are refused until the disk takes them"
    )
    assert taken.endswith("messages are taken again")


def test_first_entry_behind_blanks_keeps_its_offset_when_it_is_late(
    lab: DiskLab, disk: FullDisk
) -> None:
    for _ in range(3):
        lab.put()
    queue = lab.store.consume_queue("orders", 0)
    assert queue is not None
    queue.destroy()
    disk.full = ("consumequeue",)
    lab.put(b"late")
    disk.full = ()
    assert lab.put(b"next").status is OK
    assert (queue.min_offset, queue.max_offset) == (3, 5)
    assert lab.bodies() == [b"late", b"next"]


def test_late_record_needs_no_other_put(lab: DiskLab, disk: FullDisk) -> None:
    disk.full = ("consumequeue",)
    lab.put(b"late")
    lab.advance(5_000)
    assert lab.bodies() == []
    disk.full = ()
    lab.advance(1_000)
    assert lab.bodies() == [b"late"]
    assert len(lines(lab)) == 2


def test_late_record_is_found_by_the_next_start(lab: DiskLab, disk: FullDisk) -> None:
    disk.full = ("consumequeue",)
    lab.put(b"late")
    lab.stop()
    disk.full = ()
    lab.start()
    assert lab.bodies() == [b"late"]
    assert lab.put(b"next").status is OK


def test_index_has_every_record_when_the_disk_has_room_again(lab: DiskLab, disk: FullDisk) -> None:
    for _ in range(3):
        lab.put()
    disk.full = ("/index/",)
    lab.advance(2_000)
    assert lab.put().status is REFUSED
    disk.full = ()
    assert lab.put().status is OK
    found = finished(lab.store.query_message("orders", "k", 10, 0, 1 << 60))
    assert len(found.buffers) == 4
    assert len(lines(lab)) == 2


def test_index_is_tried_again_on_a_broken_disk(lab: DiskLab, disk: FullDisk) -> None:
    lab.put()
    disk.full, disk.number = ("/index/",), errno.EIO
    lab.advance(2_000)
    assert lab.put().status is REFUSED
    disk.full = ()
    lab.advance(1_000)
    assert lab.put().status is OK
    found = finished(lab.store.query_message("orders", "k", 10, 0, 1 << 60))
    assert len(found.buffers) == 2
    refused, taken = lines(lab)
    assert "/index/" in refused
    assert refused.endswith(
        "Input/output error: messages are refused until the disk takes them. A file of the index"
        " may be deleted while the broker is stopped: a start makes it anew from the log"
    )
    assert taken.endswith("messages are taken again")


HEADER_BYTES, ENTRY_BYTES = 40, 20


@pytest.mark.parametrize("refused", [HEADER_BYTES, ENTRY_BYTES])
@pytest.mark.parametrize("passed", [0, 1, 2])
def test_index_has_each_key_once_when_it_is_refused(
    lab: DiskLab, monkeypatch: pytest.MonkeyPatch, refused: int, passed: int
) -> None:
    for _ in range(2):
        lab.put(properties="KEYS\x01a b\x02")
    left, pwrite = [passed], os.pwrite

    def refuse(number: int, data: bytes, offset: int) -> int:
        if len(data) == refused:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pwrite(number, data, offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        for _ in range(2):
            lab.store.index.catch_up(1)
    assert lab.put().status is OK
    for key in ("a", "b"):
        found = finished(lab.store.query_message("orders", key, 10, 0, 1 << 60))
        assert len(found.buffers) == 2


def test_checkpoint_that_cannot_be_written_is_a_refusal(lab: DiskLab, disk: FullDisk) -> None:
    lab.put()
    disk.full = ("/checkpoint",)
    lab.advance(120_000)
    assert lab.put().status is REFUSED
    disk.full = ()
    lab.advance(1_000)
    assert lab.put().status is OK
    assert len(lines(lab)) == 2


def test_failed_flush_writes_the_bytes_again(lab: DiskLab, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    lab.put(b"one")
    with monkeypatch.context() as patch:
        patch.setattr("os.fdatasync", refuse)
        lab.advance(20_000)
        assert lab.put(b"two").status is REFUSED
    written: list[bytes] = []
    pwrite = os.pwrite

    def note(number: int, data: bytes, offset: int) -> int:
        written.append(bytes(data))
        return pwrite(number, data, offset)

    monkeypatch.setattr(os, "pwrite", note)
    assert lab.put(b"three").status is OK
    assert any(b"one" in data for data in written)  # the system may have dropped its page
    assert lab.bodies() == [b"one", b"three"]


def test_failed_flush_that_writes_a_part_again_keeps_the_bytes(
    lab: DiskLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    lab.put(b"one")
    pwrite, calls = os.pwrite, iter(range(10))

    def write_a_part(number: int, data: bytes, offset: int) -> int:
        call = next(calls)
        return refuse() if call == 1 else pwrite(number, data if call else data[:150], offset)

    file = lab.store.log.files[0][1]
    with monkeypatch.context() as patch:
        patch.setattr("os.fdatasync", refuse)
        with pytest.raises(StoreError):
            file.flush()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", write_a_part)
        with pytest.raises(StoreError):
            file.flush()
    assert lab.bodies() == [b"one"]


def test_broken_disk_is_not_tried_again(lab: DiskLab, disk: FullDisk) -> None:
    disk.full, disk.number = ("consumequeue",), errno.EIO
    lab.put(b"late")
    disk.full = ()
    lab.advance(10_000)
    assert lab.put().status is REFUSED
    (line,) = lines(lab)
    assert line.endswith("Input/output error: messages are refused until the next start")
    lab.stop()
    lab.start()
    assert lab.bodies() == [b"late"]
