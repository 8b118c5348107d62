"""A file of another size than the config's: one that a kill explains is mended, others refused."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.errors import StoreError
from fakemq.store.directory_file import PAGE_BYTES
from fakemq.store.directory_files import DirectoryFiles
from tests.support.disk_lab import DiskLab
from tests.support.recorded_disk import Call, RecordedDisk

QUEUE = "consumequeue/orders/0/00000000000000000000"
LOG = "commitlog/00000000000000000000"
NOW_MS = 1_700_000_000_123


def test_cut_changes_no_size_and_begins_at_its_position(tmp_path: Path) -> None:
    files = DirectoryFiles(str(tmp_path / "store"), NodeClock(Clock(frozen=True), "n"))
    size_bytes = 5 * PAGE_BYTES
    with RecordedDisk(tmp_path / "store", lambda: NOW_MS) as disk:
        file = files.open("commitlog/0", size_bytes)
        file.append(b"x" * (4 * PAGE_BYTES + 10), NOW_MS)
        disk.entries.clear()
        file.truncate(100)
    calls = [entry for entry in disk.entries if isinstance(entry, Call)]
    assert {call.name for call in calls} == {"pwrite"}
    places = [call.arguments[2] for call in calls]
    assert places == sorted(places)
    assert places[0] == 100
    on_disk = (tmp_path / "store/commitlog/0").read_bytes()
    assert on_disk == b"x" * 100 + bytes(size_bytes - 100)
    assert file.data_end(0) == 100


def test_cut_that_was_killed_anywhere_ends_at_its_position(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        for number in range(8):
            lab.put(b"%d" % number)
        kept, end = lab.bodies()[:5], lab.messages()[5].commit_log_offset
        lab.kill()
    path = tmp_path / LOG
    whole = path.read_bytes()
    random = Random(1)
    for _ in range(10):
        cut_bytes = random.randrange(8, 600)
        path.write_bytes(whole[:end] + bytes(cut_bytes) + whole[end + cut_bytes :])
        (tmp_path / "abort").touch()
        lab = DiskLab(tmp_path)
        lab.start()
        assert lab.bodies() == kept
        assert not any(path.read_bytes()[end:])
        lab.kill()


def _killed(root: Path) -> list[bytes]:
    lab = DiskLab(root, queue_units=50)
    lab.start()
    for number in range(8):
        lab.put(b"%d" % number)
    found = lab.bodies()
    lab.kill()
    return found


@pytest.mark.parametrize(("path", "has_bytes"), [(QUEUE, 60), (LOG, 300)])
def test_kill_inside_a_cut_of_an_earlier_release_is_mended(
    tmp_path: Path, path: str, has_bytes: int
) -> None:
    sent = _killed(tmp_path)
    if path == LOG:
        has_bytes = len((tmp_path / LOG).read_bytes().rstrip(b"\0"))
    size_bytes = (tmp_path / path).stat().st_size
    os.truncate(tmp_path / path, has_bytes)
    lab = DiskLab(tmp_path)
    lab.start()
    assert lab.bodies() == sent
    assert (tmp_path / path).stat().st_size == size_bytes
    why = f"a kill left {has_bytes} of its {size_bytes} bytes, it is as long as before again"
    assert (str(tmp_path / path), has_bytes, 0, why) in [
        (repair.file, repair.offset, repair.cut_bytes, repair.why) for repair in lab.repairs()
    ]
    lab.stop()


def test_file_of_no_bytes_after_a_kill_is_made_again(tmp_path: Path) -> None:
    sent = _killed(tmp_path)
    os.truncate(tmp_path / QUEUE, 0)
    with DiskLab(tmp_path) as lab:
        assert lab.bodies() == sent


def test_short_file_after_a_clean_stop_is_refused(tmp_path: Path) -> None:
    _killed(tmp_path)
    with DiskLab(tmp_path):
        pass
    os.truncate(tmp_path / QUEUE, 60)
    with pytest.raises(StoreError, match="has 60 bytes where the config says 1000"):
        DiskLab(tmp_path).start()
    assert not (tmp_path / "abort").exists()


def test_files_of_another_config_are_refused_after_a_kill(tmp_path: Path) -> None:
    """A longer one would fit neither this config nor that with which it was written."""
    _killed(tmp_path)
    before = {path: path.stat().st_size for path in tmp_path.rglob("0*") if path.is_file()}
    with pytest.raises(StoreError, match="has 4096 bytes where the config says 8192"):
        DiskLab(tmp_path, log_bytes=8192).start()
    with pytest.raises(StoreError, match="has 1000 bytes where the config says 2000"):
        DiskLab(tmp_path, queue_units=100).start()
    assert before == {path: path.stat().st_size for path in before}


def test_two_files_of_a_wrong_size_are_refused(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path)
    lab.start()
    for queue_id in (0, 1):
        lab.put(b"x", queue_id=queue_id)
    lab.kill()
    for queue_id in (0, 1):
        os.truncate(tmp_path / f"consumequeue/orders/{queue_id}/{0:020}", 20)
    with pytest.raises(StoreError, match="has 20 bytes where the config says 1000"):
        DiskLab(tmp_path).start()
