"""Deletion by age, by how full the disk is and by hand; refusal and recovery."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.slices import finished
from fakemq.errors import StoreError
from fakemq.events import FilesExpired, Warned
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.results import GetMessageStatus, PutMessageStatus
from tests.support.form import pure_only
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

HOUR_MS = 3_600_000
FILE_BYTES = 2_000
NIGHT = "04"


def lab(**config: int | str | bool) -> StoreLab:
    more: dict[str, Any] = {"queue_units": 10, "max_index_num": 20, **config}
    made = StoreLab(log_bytes=FILE_BYTES, **more)
    made.store.retention.start()
    return made


def fill(one: StoreLab, files: int) -> int:
    """Put until there is this number of files. Return how many messages."""
    count = 0
    while one.store.max_phy_offset <= (files - 1) * FILE_BYTES:
        assert one.put(b"x" * 100, properties=f"KEYS\x01k{count}").ok
        count += 1
    return count


def fill_to(one: StoreLab, ratio: float) -> None:
    while one.store.used_ratio() < ratio:
        assert one.put(b"x" * 100).ok


def hour_of(one: StoreLab) -> int:
    return datetime.fromtimestamp(one.clock.now_ms() / 1000).hour


def deleted(one: StoreLab) -> int:
    return sum(event.log_files for event in one.journal.find(FilesExpired))


def test_old_files_are_deleted_at_the_configured_hour_only() -> None:
    one = lab()
    fill(one, 4)
    one.advance(72 * HOUR_MS)
    while hour_of(one) != 3:
        assert deleted(one) == 0
        one.advance(HOUR_MS)
    one.advance(HOUR_MS)
    one.advance(20_000)
    assert hour_of(one) == 4
    assert deleted(one) == 3
    assert one.store.min_phy_offset == 3 * FILE_BYTES


def test_last_file_is_never_deleted() -> None:
    one = lab(file_reserved_time=0)
    count = fill(one, 1)
    one.advance(48 * HOUR_MS)
    assert (deleted(one), one.store.max_offset_in_queue("orders", 0)) == (0, count)
    assert one.clock.timers() == []


def test_young_files_stay_at_the_configured_hour() -> None:
    one = lab()
    fill(one, 3)
    one.advance(71 * HOUR_MS)
    assert deleted(one) == 0


def test_queues_and_index_begin_where_the_log_begins() -> None:
    one = lab()
    count = fill(one, 6)
    assert finished(one.store.query_message("orders", "k0", 32, 0, 1 << 60)).buffers
    queue_files = len(one.files.list("consumequeue"))
    index_files = len(one.files.list("index"))
    one.advance(97 * HOUR_MS)
    assert deleted(one) == 5
    first = one.store.min_offset_in_queue("orders", 0)
    assert 0 < first < count
    unit = one.store.queue_unit("orders", 0, first)
    assert unit is not None
    assert unit[0] >= one.store.min_phy_offset
    assert len(one.files.list("consumequeue")) < queue_files
    assert len(one.files.list("index")) < index_files
    assert not finished(one.store.query_message("orders", "k0", 32, 0, 1 << 60)).buffers
    got = one.store.get_message("g", "orders", 0, 0, 32)
    assert (got.status, got.next_begin_offset) == (GetMessageStatus.OFFSET_TOO_SMALL, first)


def test_one_look_deletes_at_most_ten_files_at_intervals() -> None:
    one = lab(file_reserved_time=0)
    one.store.disk_space.resize(20 * FILE_BYTES)  # over 75 %: no hour has to be waited for
    fill(one, 17)
    one.advance(60_000)
    assert one.store.min_phy_offset == FILE_BYTES
    one.advance(100)
    assert one.store.min_phy_offset == 2 * FILE_BYTES
    one.advance(900)
    assert one.store.min_phy_offset == 10 * FILE_BYTES
    assert deleted(one) == 10


def test_one_look_deletes_ten_files_at_once_without_an_interval() -> None:
    one = lab(file_reserved_time=0, delete_commit_log_files_interval=0)
    one.store.disk_space.resize(20 * FILE_BYTES)
    fill(one, 17)
    one.advance(60_000)
    assert one.store.min_phy_offset == 10 * FILE_BYTES


def test_old_files_are_deleted_over_75_percent_and_any_over_85() -> None:
    one = lab()
    one.store.disk_space.resize(10 * FILE_BYTES)
    fill_to(one, 0.78)
    one.advance(2 * HOUR_MS)
    assert deleted(one) == 0
    fill_to(one, 0.86)
    one.advance(11_000)
    assert deleted(one) > 0
    assert one.store.min_phy_offset > 0


def test_only_old_files_are_deleted_over_85_percent_without_force() -> None:
    one = lab(clean_file_forcibly_enable=False)
    one.store.disk_space.resize(10 * FILE_BYTES)
    fill(one, 9)
    one.advance(2 * HOUR_MS)
    assert deleted(one) == 0
    one.advance(71 * HOUR_MS)
    assert deleted(one) == 8


def test_puts_are_refused_over_90_percent_until_there_is_room() -> None:
    one = lab(clean_file_forcibly_enable=False)
    one.store.disk_space.resize(4 * FILE_BYTES)
    fill_to(one, 0.93)
    one.advance(999)
    assert one.put(b"").ok
    one.advance(1)
    refused = one.put(b"")
    assert (refused.status, refused.reason) == (PutMessageStatus.SERVICE_NOT_AVAILABLE, "")
    (warned,) = one.journal.find(Warned)
    assert warned.text == (
        "the disk of the store is 97% full: messages are refused with SERVICE_NOT_AVAILABLE"
        " until it is at most 90% full"
    )
    one.store.disk_space.resize(40 * FILE_BYTES)
    assert not one.put(b"").ok
    one.advance(10_000)
    assert one.put(b"").ok
    assert one.journal.find(Warned)[-1].text.endswith("messages are taken again")


def test_full_disk_with_deletable_files_recovers() -> None:
    one = lab()
    one.store.disk_space.resize(10 * FILE_BYTES)
    fill_to(one, 0.93)
    one.advance(1_000)
    assert not one.put(b"").ok
    one.advance(70_000)
    assert deleted(one) > 0
    assert one.put(b"").ok


def test_manual_deletion_removes_old_files_at_any_hour() -> None:
    one = lab(delete_when="")
    fill(one, 3)
    one.store.retention.execute_delete_files_manually()
    one.advance(300_000)
    assert deleted(one) == 0
    assert one.clock.timers() == []  # twenty looks are over
    one.advance(73 * HOUR_MS)
    assert deleted(one) == 0
    one.store.retention.execute_delete_files_manually()
    one.advance(10_200)
    assert deleted(one) == 2


def test_queues_without_records_are_deleted_on_request() -> None:
    one = lab()
    one.put(topic="gone")
    one.put(topic="SCHEDULE_TOPIC_XXXX")
    fill(one, 3)
    one.store.retention.clean_expired_consume_queues()
    assert one.store.queue_ids("gone") == [0]
    one.store.delete_expired_files(2 * FILE_BYTES)
    one.store.retention.clean_expired_consume_queues()
    assert one.store.queue_ids("gone") == []
    assert one.store.queue_ids("SCHEDULE_TOPIC_XXXX") == [0]
    assert one.store.queue_ids("orders") == [0]
    appended = one.put(topic="gone").append_result
    assert appended is not None
    assert appended.logics_offset == 0


def test_reset_forgets_the_disk_size_and_the_full_state() -> None:
    one = lab()
    one.store.disk_space.resize(100)
    one.advance(1_000)
    assert not one.put().ok
    one.store.reset()
    assert one.put().ok


@pytest.mark.parametrize("again", [False, True])
def test_reset_ends_a_deletion_in_progress(again: bool) -> None:
    one = lab(file_reserved_time=0)
    one.store.disk_space.resize(20 * FILE_BYTES)
    fill(one, 17)
    one.advance(60_000)
    assert one.store.min_phy_offset == FILE_BYTES
    one.store.reset()
    fill(one, 17)
    if again:  # another one begins, and no second chain runs beside it
        one.store.disk_space.resize(20 * FILE_BYTES)
        one.advance(60_000)
        assert one.store.min_phy_offset == FILE_BYTES
        one.advance(100)
        assert one.store.min_phy_offset == 2 * FILE_BYTES
    else:
        one.advance(9_000)
        assert one.store.min_phy_offset == 0


@pure_only
def test_undeletable_file_is_reported_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = lab(file_reserved_time=0)
    one.store.disk_space.resize(20 * FILE_BYTES)
    count = fill(one, 17)
    delete = MemoryFiles.delete
    left = 2

    def refuse_after_two(files: MemoryFiles, path: str) -> None:
        nonlocal left
        if path.startswith("commitlog/"):
            left -= 1
            if left < 0:
                raise StoreError(f"{path}: cannot be deleted: Permission denied")
        delete(files, path)

    monkeypatch.setattr(MemoryFiles, "delete", refuse_after_two)
    one.advance(61_000)
    warned = [event.text for event in one.journal.find(Warned)]
    assert f"commitlog/{2 * FILE_BYTES:020}: cannot be deleted" in warned[-1]
    assert one.store.min_phy_offset == 2 * FILE_BYTES
    assert deleted(one) == 2
    first = one.store.min_offset_in_queue("orders", 0)
    kept = one.store.messages_in_queue("orders", 0)
    assert [message.queue_offset for message in kept] == list(range(first, count))
    left = 100
    one.store.disk_space.resize(16 * FILE_BYTES)
    one.advance(11_000)
    assert deleted(one) == 12


def test_idle_store_has_no_timers() -> None:
    one = lab()
    one.put()
    one.advance(100 * HOUR_MS)
    assert one.clock.timers() == []


@pytest.mark.parametrize("when", ["x", "", "04;x", "99"])
def test_invalid_hours_delete_nothing(when: str) -> None:
    one = lab(delete_when=when)
    fill(one, 3)
    one.advance(100 * HOUR_MS)
    assert deleted(one) == 0


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "wait", "size", "manual", "before"]), st.integers(0, 1_000)
        ),
        max_size=40,
    )
)
def test_queues_name_only_existing_records_after_any_history(
    steps: list[tuple[str, int]],
) -> None:
    one = lab(file_reserved_time=1, max_hash_slot_num=7)
    for what, number in steps:
        if what == "put":
            for _ in range(number % 12):
                one.put(b"x" * (number % 300), queue_id=number % 3)
        elif what == "wait":
            one.advance(number * number)
        elif what == "size":
            one.store.disk_space.resize(number * 20 or None)
        elif what == "manual":
            one.store.retention.execute_delete_files_manually()
        else:
            one.store.delete_expired_files(number * 20)
        for queue_id in one.store.queue_ids("orders"):
            low = one.store.min_offset_in_queue("orders", queue_id)
            high = one.store.max_offset_in_queue("orders", queue_id)
            for offset in range(low, high):
                unit = one.store.queue_unit("orders", queue_id, offset)
                if unit is not None and unit[0] >= one.store.min_phy_offset:
                    assert one.store.look_message_by_offset(unit[0]) is not None
        for path in one.files.list("commitlog"):
            assert int(Path(path).name) >= one.store.min_phy_offset
    assert one.clock.now_ms() >= START_MS
