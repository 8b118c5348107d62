"""What is made again from the log: queues of topics that came twice, an index over bad records."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.store.disk_lab import DiskLab


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("lost", [False, True])
def test_a_topic_that_was_deleted_and_made_again_has_what_was_sent_since(
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
