"""Store directories as a stop, a crash or a mishap left them, and what a start makes of them."""

# Over 400 lines: one test for each kind of damage, all on the same small store.

from __future__ import annotations

import errno
import os
import shutil
import struct
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.errors import StoreError
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.results import PutMessageStatus
from tests.support.disk_lab import DiskLab
from tests.support.time import START_MS

RECORD = "commitlog/00000000000000000000"
SECOND = "commitlog/00000000000000004096"
QUEUE = "consumequeue/orders/0/00000000000000000000"


def bodies(count: int) -> list[bytes]:
    return [b"%03d" % number * 20 for number in range(count)]


def fill(lab: DiskLab, count: int = 60) -> list[bytes]:
    """Messages in two queues, so that there are three log files and two of the first queue."""
    for body in bodies(count):
        lab.put(body)
        lab.put(body, queue_id=1)
        lab.advance(10)
    return bodies(count)


def written(root: Path, *, crash: bool, count: int = 60) -> list[bytes]:
    """A store directory that was stopped, or whose process is gone."""
    lab = DiskLab(root)
    lab.start()
    sent = fill(lab, count)
    lab.kill() if crash else lab.stop()
    return sent


def edit(path: Path, offset: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


# -- what is whole ----------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [False, True])
def test_everything_is_restored_after_a_stop(tmp_path: Path, crash: bool) -> None:
    with DiskLab(tmp_path) as lab:
        empty = lab.messages()
        sent = fill(lab)
        before = [(m.queue_offset, m.commit_log_offset, m.body) for m in lab.messages()]
        found = finished(lab.store.query_message("orders", "k", 64, 0, 2 * START_MS)).buffers
        end = lab.store.max_phy_offset
        if crash:
            lab.kill()
    assert empty == []
    with DiskLab(tmp_path, at_ms=START_MS + 60_000) as lab:
        assert [(m.queue_offset, m.commit_log_offset, m.body) for m in lab.messages()] == before
        assert lab.bodies(queue_id=1) == sent
        assert lab.store.max_phy_offset == end
        assert (
            finished(lab.store.query_message("orders", "k", 64, 0, 2 * START_MS)).buffers == found
        )
        assert [
            lab.store.offset_in_queue_by_time("orders", 0, m.store_timestamp_ms)
            for m in lab.messages()
        ] == list(range(len(sent)))
        assert [r for r in lab.repairs() if "/index/" not in r.file] == []
        appended = lab.put(b"next").append_result
        assert appended is not None
        assert (appended.logics_offset, lab.bodies()[-1]) == (len(sent), b"next")


def test_abort_file_shows_how_the_store_ended(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path)
    assert lab.start().clean
    assert lab.path("abort").exists()
    lab.stop()
    assert not lab.path("abort").exists()
    assert lab.start().clean
    lab.kill()
    assert lab.path("abort").exists()
    assert not lab.start().clean
    lab.stop()


def test_last_file_that_ends_in_a_blank_is_continued_in_the_next(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        while lab.store.max_phy_offset < 3900:
            lab.put(b"x" * 50)
        count = len(lab.bodies())
    # As Java leaves it if it ends between the blank and the next file.
    end = lab_end(tmp_path)
    edit(tmp_path / RECORD, end, struct.pack(">ii", 4096 - end, -875286124))
    with DiskLab(tmp_path) as lab:
        assert lab.repairs() == []
        lab.put(b"y" * 300)
        assert lab.bodies() == [b"x" * 50] * count + [b"y" * 300]
        assert lab.messages()[-1].commit_log_offset == 4096
    with DiskLab(tmp_path) as lab:
        assert len(lab.bodies()) == count + 1


def lab_end(root: Path) -> int:
    data = (root / RECORD).read_bytes()
    at = 0
    while size := int.from_bytes(data[at : at + 4]):
        at += size
    return at


def test_preallocated_files_are_removed_silently(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=False)
    last = sorted((tmp_path / "commitlog").iterdir())[-1]
    for number in (1, 2):
        (last.parent / f"{int(last.name) + number * 4096:020}").write_bytes(bytes(4096))
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == sent
        assert lab.repairs() == []
        assert sorted((tmp_path / "commitlog").iterdir())[-1] == last


# -- what is not ------------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [False, True])
def test_flipped_byte_truncates_the_log_from_its_record(tmp_path: Path, crash: bool) -> None:
    sent = written(tmp_path, crash=crash)
    last = sorted((tmp_path / "commitlog").iterdir())[-2]
    data = last.read_bytes()
    at = int.from_bytes(data[:4]) + 100  # in the body of the second record
    edit(last, at, bytes([data[at] ^ 1]))
    with DiskLab(tmp_path) as lab:
        first, second = (r for r in lab.repairs() if "/commitlog/" in r.file)
        assert (second.file, second.offset) == (str(last), at - 100)
        assert second.cut_bytes > 0
        assert "CRC" in second.why
        assert first.file.endswith(f"{int(last.name) + 4096:020}")  # the last file goes as a whole
        assert lab.store.max_phy_offset == int(last.name) + at - 100
        kept = lab.bodies()
        assert kept == sent[: len(kept)]
        assert lab.bodies(queue_id=1) == sent[: len(lab.bodies(queue_id=1))]
        # What stood behind never comes back, whatever is written and how often it crashes.
        lab.put(b"new" * 20)
        lab.kill()
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == [*kept, b"new" * 20]


def test_damage_before_the_last_three_files_is_ignored_after_a_clean_stop(
    tmp_path: Path,
) -> None:
    sent = written(tmp_path, crash=False, count=100)
    assert len(list((tmp_path / "commitlog").iterdir())) > 4
    edit(tmp_path / RECORD, 100, b"\xff")
    with DiskLab(tmp_path) as lab:
        assert lab.repairs() == []
        assert lab.bodies()[1:] == sent[1:]


def test_recovery_after_a_crash_begins_at_the_checkpoint(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path)
    lab.start()
    fill(lab)
    lab.advance(5_000)
    fill(lab)
    lab.advance(70_000)  # thorough flushes: all this is safe
    checkpoint = struct.unpack_from(">qqq", lab.path("checkpoint").read_bytes())
    assert checkpoint[0] == checkpoint[1] == START_MS + 600 + 5_000 + 590
    fill(lab)
    lab.kill()
    edit(tmp_path / RECORD, 100, b"\xff")  # long before
    # From the last file on that begins 3 s before the checkpoint: that is in the first third.
    assert 2 * 120 < lab.start().dispatched < 2 * 180
    assert [r for r in lab.repairs() if "/index/" not in r.file] == []
    assert len(lab.bodies(queue_id=1)) == 180
    lab.stop()


def test_copy_of_an_older_file_costs_only_what_it_replaced(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=True)
    files = sorted((tmp_path / "commitlog").iterdir())
    shutil.copyfile(files[0], files[-1])
    with DiskLab(tmp_path) as lab:
        left = lab.bodies()
        assert left == sent[: len(left)]
        assert lab.store.log.max_offset == int(files[-1].name)
        repaired = lab.repairs()[0]
        assert repaired.file == str(files[-1])
        assert repaired.why == f"the record at {int(files[-1].name)} says that it is at 0"


def test_missing_queues_are_rebuilt(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=False)
    shutil.rmtree(tmp_path / "consumequeue")
    lab = DiskLab(tmp_path)
    assert lab.start().dispatched == 2 * len(sent)
    assert lab.bodies() == lab.bodies(queue_id=1) == sent
    lab.stop()


def test_missing_log_removes_the_queues(tmp_path: Path) -> None:
    written(tmp_path, crash=False)
    shutil.rmtree(tmp_path / "commitlog")
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == []
        assert lab.store.max_offset_in_queue("orders", 0) == 0
        assert "the commit log is gone" in [repair.why for repair in lab.repairs()]
        lab.put(b"first")
        assert lab.bodies() == [b"first"]


def test_missing_or_invalid_index_is_rebuilt(tmp_path: Path) -> None:
    written(tmp_path, crash=False)
    files = sorted((tmp_path / "index").iterdir())
    files[-1].write_bytes(b"short")
    (tmp_path / "index" / "README").write_text("not an index")
    with DiskLab(tmp_path) as lab:
        assert (
            len(finished(lab.store.query_message("orders", "k", 64, 0, 2 * START_MS)).buffers) == 64
        )
        assert [repair.file for repair in lab.repairs()] == [str(files[-1])]
        assert (tmp_path / "index" / "README").exists()


def test_record_with_keys_in_two_index_files_is_found_by_all_after_a_crash(
    tmp_path: Path,
) -> None:
    keys = [f"k{number}" for number in range(10)]
    with DiskLab(tmp_path, max_index_num=8) as lab:
        lab.put(properties=f"KEYS\x01{' '.join(keys)}\x02")
        lab.disk.flush.everything()
        assert len(list((tmp_path / "index").iterdir())) == 2
        lab.kill()
    with DiskLab(tmp_path, max_index_num=8) as lab:
        for key in keys:
            assert finished(lab.store.query_message("orders", key, 64, 0, 2 * START_MS)).buffers, (
                key
            )


def test_missing_checkpoint_is_harmless(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=True)
    (tmp_path / "checkpoint").unlink()
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == sent


def test_invalid_entries_at_the_end_of_a_queue_are_cut(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=False)
    last = sorted((tmp_path / "consumequeue/orders/0").iterdir())[-1]
    entries = len(last.read_bytes().rstrip(b"\0")) // 20 + 1
    edit(last, entries * 20, struct.pack(">qiq", 5, -1, 0))
    with DiskLab(tmp_path) as lab:
        (repair,) = lab.repairs()
        assert (repair.file, repair.offset) == (str(last), entries * 20)
        assert repair.cut_bytes in range(1, 21)
        assert lab.bodies() == sent


def test_log_file_of_another_size_is_refused(tmp_path: Path) -> None:
    written(tmp_path, crash=False)
    with pytest.raises(StoreError, match=r"0{20}: has 4096 bytes where the config says 8192"):
        DiskLab(tmp_path, log_bytes=8192).start()
    (tmp_path / SECOND).write_bytes(b"cut short")
    with pytest.raises(StoreError, match=r"4096: has 9 bytes where the config says 4096"):
        DiskLab(tmp_path).start()


@pytest.mark.parametrize("name", ["README", "00000000000000000001", "1"])
def test_invalid_log_file_is_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path, crash=False)
    (tmp_path / "commitlog" / name).write_bytes(bytes(4096))
    with pytest.raises(StoreError, match=f"commitlog/{name}: no file of 4096 bytes is called so"):
        DiskLab(tmp_path).start()


def test_missing_log_file_in_the_middle_is_refused(tmp_path: Path) -> None:
    written(tmp_path, crash=False)
    (tmp_path / SECOND).unlink()
    with pytest.raises(StoreError, match="4096: is missing before 00000000000000008192"):
        DiskLab(tmp_path).start()
    # And the directory is free again.
    (tmp_path / SECOND).write_bytes(bytes(4096))
    with DiskLab(tmp_path) as lab:
        assert len(lab.bodies()) < 60


def test_missing_first_files_are_no_damage(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=False)
    (tmp_path / RECORD).unlink()
    with DiskLab(tmp_path) as lab:
        assert lab.store.min_phy_offset == 4096
        assert 0 < lab.store.min_offset_in_queue("orders", 0) < len(sent)
        assert lab.bodies() == sent[-len(lab.bodies()) :]


def test_queue_that_begins_in_the_middle_is_rebuilt_after_a_crash(tmp_path: Path) -> None:
    sent = written(tmp_path, crash=True)
    (tmp_path / RECORD).unlink()
    shutil.rmtree(tmp_path / "consumequeue")
    for _ in range(2):
        lab = DiskLab(tmp_path)
        lab.start()  # the second time its blanks and nothing else are from before
        kept = lab.bodies()
        assert 0 < len(kept) < len(sent)
        assert kept == sent[-len(kept) :]
        assert lab.messages()[0].queue_offset == len(sent) - len(kept)
        lab.kill()


@pytest.mark.parametrize("kept", range(512, 1100, 100))
def test_record_without_its_end_is_cut(tmp_path: Path, kept: int) -> None:
    # Body and lengths are right, so that Java takes it, and delivers zeros.
    with DiskLab(tmp_path) as lab:
        lab.put(b"whole")
        lab.put(b"x", properties=encode_properties_as_java({"KEYS": "k" * 1500}))
        size = lab.store.max_phy_offset
        lab.kill()
    kept = kept // 512 * 512
    edit(tmp_path / RECORD, kept, bytes(size - kept))
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == [b"whole"]
        assert "topic or properties were never written" in [r.why for r in lab.repairs()]


def test_half_messages_stay_out_of_queues_and_delays_keep_their_time(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        lab.put(b"half", sys_flag=MessageSysFlag.TRANSACTION_PREPARED_TYPE)
        lab.put(b"late", properties=encode_properties_as_java({"DELAY": "3"}))
        before = lab.store.queue_unit("SCHEDULE_TOPIC_XXXX", 2, 0)
        lab.kill()
    shutil.rmtree(tmp_path / "consumequeue")
    with DiskLab(tmp_path) as lab:
        assert before is not None
        assert before[2] == START_MS + 10_000
        assert lab.store.queue_unit("SCHEDULE_TOPIC_XXXX", 2, 0) == before
        assert lab.bodies() == []


def test_directory_is_opened_by_one_store_only(tmp_path: Path) -> None:
    with DiskLab(tmp_path), pytest.raises(StoreError) as caught:
        DiskLab(tmp_path).start()
    assert str(caught.value) == (
        f"{tmp_path}: Lock failed,MQ already started: another broker has this store open"
    )
    with DiskLab(tmp_path):
        pass


def test_closed_store_takes_no_message(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path / "store")
    for _ in range(2):
        result = lab.put()
        assert (result.status, result.reason) == (
            PutMessageStatus.SERVICE_NOT_AVAILABLE,
            "the broker is not running",
        )
        assert not (tmp_path / "store" / "abort").exists()
        lab.start()
        assert lab.put().ok
        lab.stop()


def test_directory_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, crash=False)
    opened = os.open

    def refuse(path: str, flags: int, *more: int) -> int:
        if path.endswith(SECOND):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreError, match=f"{SECOND}: cannot be opened: Permission denied"):
        DiskLab(tmp_path).start()


def test_reset_empties_the_directory(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        fill(lab)
        lab.advance(70_000)
        lab.store.reset()
        assert list(lab.path("commitlog").iterdir()) == []
        assert not any(lab.path("checkpoint").read_bytes())
        lab.put(b"again")
        assert lab.bodies() == [b"again"]
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == [b"again"]
