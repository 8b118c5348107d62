"""The files of deleted queues are deleted in slices; the queues are gone at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.errors import StoreError
from fakemq.events import Warned
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.store import MessageStore
from tests.support.form import pure_only
from tests.support.slices import take_turns, work_in_turns
from tests.support.store_lab import StoreLab

NUMBER = 100
DELETE: dict[str, Callable[[MessageStore], object]] = {
    "topic": lambda store: store.delete_consume_queue("wide"),
    "unused": lambda store: store.clean_unused_topic(frozenset()),
    "expired": lambda store: store.retention.clean_expired_consume_queues(),
}


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> StoreLab:
    """A store with many queues, whose records are in a log file that was deleted, and a loop."""
    lab = StoreLab(log_bytes=1 << 15)
    for queue_id in range(NUMBER):
        lab.put(topic="wide", queue_id=queue_id)
    while not lab.store.delete_expired_files(1 << 15):
        lab.put(b"x" * 1_000)
    work_in_turns(lab.clock, monkeypatch)
    return lab


def files(lab: StoreLab) -> int:
    return len(lab.files.list("consumequeue/wide"))


@pytest.mark.parametrize("how", DELETE)
def test_files_of_many_queues_are_deleted_in_slices(lab: StoreLab, how: str) -> None:
    DELETE[how](lab.store)
    assert lab.store.queue_ids("wide") == []
    assert 0 < files(lab) < NUMBER
    assert take_turns(lab.clock) > 3
    assert files(lab) == 0


def test_queue_that_begins_again_meanwhile_has_no_old_entry(lab: StoreLab) -> None:
    lab.store.delete_consume_queue("wide")
    last = 0  # the files are deleted from the last queue on
    appended = lab.put(topic="wide", queue_id=last).append_result
    assert appended is not None
    assert appended.logics_offset == 0
    assert lab.store.max_offset_in_queue("wide", last) == 1
    take_turns(lab.clock)
    assert files(lab) == 1
    assert [m.queue_offset for m in lab.store.messages_in_queue("wide", last)] == [0]


def test_store_that_is_copied_has_no_files_of_deleted_queues(lab: StoreLab) -> None:
    lab.store.delete_consume_queue("wide")
    lab.store.settled_files()
    assert files(lab) == 0


@pure_only
def test_file_that_cannot_be_deleted_causes_a_warning(
    lab: StoreLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(files: MemoryFiles, path: str) -> None:
        raise StoreError(f"{path}: cannot be deleted")

    monkeypatch.setattr(MemoryFiles, "delete", refuse)
    lab.store.delete_consume_queue("wide")
    take_turns(lab.clock)
    assert len(lab.journal.find(Warned)) == NUMBER
