"""What is made again from the log: queues of topics that came twice, an index over bad records."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from fakemq.clock.slices import finished
from fakemq.protocol.layout.codecs import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from tests.support.disk_lab import DiskLab
from tests.support.time import START_MS

ALL_TIME = (0, 2 * START_MS)


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("lost", [False, True])
def test_recreated_topic_has_only_later_messages_after_rebuild(
    tmp_path: Path, crash: bool, lost: bool
) -> None:
    lab = DiskLab(tmp_path, queue_units=3)
    lab.start()
    for number in range(5):
        lab.put(b"old%d" % number)
    lab.store.delete_consume_queue("orders")
    new = [b"new%d" % number for number in range(4)]
    for body in new:
        lab.put(body)
    lab.kill() if crash else lab.stop()
    if lost:
        shutil.rmtree(tmp_path / "consumequeue")
    for _ in range(2):
        lab.start()
        assert lab.bodies() == new
        assert [message.queue_offset for message in lab.messages()] == [0, 1, 2, 3]
        lab.kill()
    lab.start()
    appended = lab.put(b"next").append_result
    assert appended is not None
    assert appended.logics_offset == 4
    lab.stop()


def test_index_rebuild_skips_invalid_records(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        for _ in range(120):
            lab.put(b"x" * 100)
    # Long before what a clean start looks at: the length of the first record's topic.
    first = min((tmp_path / "commitlog").iterdir())
    data = bytearray(first.read_bytes())
    data[88 + 100] = 0xFF
    first.write_bytes(data)
    shutil.rmtree(tmp_path / "index")
    lab = DiskLab(tmp_path)
    lab.start()
    lab.put()
    lab.advance(3_000)
    (repair,) = lab.repairs()
    assert (repair.file, repair.offset, repair.cut_bytes) == (str(first), 0, 0)
    assert "passed over by the index" in repair.why
    assert len(finished(lab.store.query_message("orders", "k", 64, *ALL_TIME)).buffers) > 10
    assert lab.files.broken == ""
    lab.stop()
    assert not lab.path("abort").exists()
    with DiskLab(tmp_path):
        pass


def test_cyclic_index_entries_end_the_search(tmp_path: Path) -> None:
    with DiskLab(tmp_path, max_hash_slot_num=1) as lab:
        for key in "abc":
            lab.put(properties=f"KEYS\x01{key}\x02")
    (path,) = (tmp_path / "index").iterdir()
    data = bytearray(path.read_bytes())
    first = INDEX_HEADER.size + INDEX_SLOT.size + INDEX_ENTRY.size
    assert data[first + 16 : first + 20] == bytes(4)
    struct.pack_into(">i", data, first + 16, 3)  # the first is said to come after the last
    path.write_bytes(data)
    with DiskLab(tmp_path, max_hash_slot_num=1) as lab:
        assert finished(lab.store.query_message("orders", "none", 64, *ALL_TIME)).buffers == []
        assert len(finished(lab.store.query_message("orders", "a", 64, *ALL_TIME)).buffers) == 1


def test_rebuilt_files_are_flushed(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path)
    lab.start()
    lab.put()
    lab.kill()
    shutil.rmtree(tmp_path / "consumequeue")
    lab.start()
    assert lab.files.dirty("consumequeue")
    assert list(tmp_path.glob("index/*")) == []
    lab.advance(1_000)
    assert not lab.files.dirty("consumequeue")
    assert len(list(tmp_path.glob("index/*"))) == 1
    assert lab.clock.timers() == []
    lab.stop()
