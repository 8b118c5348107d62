"""Consume queues: entries by bytes, files, search by time."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.store.consumequeue import ConsumeQueue
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS


def test_units_have_javas_bytes() -> None:
    lab = StoreLab()
    lab.put(b"")
    lab.put(b"", properties="TAGS\x01TagA")
    (path,) = lab.files.list("consumequeue")
    assert path == "consumequeue/orders/0/00000000000000000000"
    file = lab.files.open(path, 0)
    assert file.size_bytes == 6_000_000
    # "TagA".hashCode() == 2598919
    assert bytes(file.view[:60]) == (
        struct.pack(">qiq", 0, 97, 0) + struct.pack(">qiq", 97, 97 + 9, 2598919) + bytes(20)
    )


def test_tags_codes_are_sign_extended() -> None:
    lab = StoreLab()
    lab.put(properties="TAGS\x01polygenelubricants")  # the hash is Integer.MIN_VALUE
    queue = lab.store.queues.find("orders", 0)
    assert queue is not None
    unit = queue.unit_at(0)
    assert unit is not None
    assert unit[2] == -(1 << 31)


def test_queue_files_roll_over_and_a_get_stays_within_one() -> None:
    lab = StoreLab(log_bytes=1 << 20, queue_units=3)
    for _ in range(7):
        lab.put()
    assert len(lab.files.list("consumequeue/orders/0")) == 3
    assert lab.store.max_offset_in_queue("orders", 0) == 7
    got = [lab.store.get_message("g", "orders", 0, offset, 32) for offset in (0, 3, 4, 6)]
    assert [result.message_count for result in got] == [3, 3, 2, 1]
    assert [result.next_begin_offset for result in got] == [3, 6, 6, 7]


def test_file_size_is_rounded_up_to_whole_units() -> None:
    lab = StoreLab()
    lab.config.mapped_file_size_consume_queue = 41
    lab.store.reset()
    lab.put()
    (path,) = lab.files.list("consumequeue")
    assert lab.files.open(path, 0).size_bytes == 60


def test_late_queue_is_blank_before_its_first_entry() -> None:
    lab = StoreLab()
    queue = ConsumeQueue("t", 0, lab.files, 10 * 20)
    queue.append(5000, 100, 9, 23, START_MS)
    assert (queue.min_offset, queue.max_offset) == (23, 24)
    assert lab.files.list("consumequeue") == ["consumequeue/t/0/00000000000000000400"]
    file = lab.files.open("consumequeue/t/0/00000000000000000400", 0)
    assert bytes(file.view[:80]) == struct.pack(">qiq", 0, 0x7FFFFFFF, 0) * 3 + struct.pack(
        ">qiq", 5000, 100, 9
    )
    assert queue.units_from(22) is None
    assert queue.unit_at(23) == (5000, 100, 9)
    queue.append(5100, 100, 0, 24, START_MS)
    assert queue.max_offset == 25


def test_existing_entry_is_not_added_again() -> None:
    lab = StoreLab()
    queue = ConsumeQueue("t", 0, lab.files, 10 * 20)
    queue.append(0, 100, 0, 0, START_MS)
    queue.append(100, 100, 0, 1, START_MS)
    queue.append(0, 100, 0, 0, START_MS)
    queue.append(100, 100, 0, 1, START_MS)
    queue.append(700, 100, 0, 1, START_MS)
    assert queue.max_offset == 2


def put_at(lab: StoreLab, *times_ms: int) -> None:
    for time_ms in times_ms:
        lab.advance(START_MS + time_ms - lab.clock.now_ms())
        lab.put()


@pytest.mark.parametrize(
    ("time_ms", "offset"),
    [
        (-1000, 0),  # before the first: the first
        (100, 0),
        (149, 0),
        (150, 0),  # as near to both: the earlier
        (151, 1),
        (200, 1),
        (280, 2),
        (10_000, 4),  # after the last: the last
    ],
)
def test_offset_nearest_to_a_time_is_found(time_ms: int, offset: int) -> None:
    lab = StoreLab()
    put_at(lab, 100, 200, 300, 300, 400)
    assert lab.store.offset_in_queue_by_time("orders", 0, START_MS + time_ms) == offset


def test_search_by_time_reads_one_file_only() -> None:
    lab = StoreLab(queue_units=2)
    put_at(lab, 100, 200, 300, 400)
    find = lab.store.offset_in_queue_by_time
    # The first file was changed last at 200, so 210 belongs to the second, whose first is at 300.
    assert [find("orders", 0, START_MS + ms) for ms in (200, 210, 299, 390)] == [1, 2, 2, 3]


def test_empty_or_missing_queue_has_no_times() -> None:
    store = StoreLab().store
    assert store.offset_in_queue_by_time("orders", 0, START_MS) == 0
    assert store.earliest_message_time("orders", 0) == -1
    assert store.message_store_timestamp("orders", 0, 0) == -1


def test_store_times_are_read_from_records() -> None:
    lab = StoreLab()
    put_at(lab, 100, 250)
    assert lab.store.earliest_message_time("orders", 0) == START_MS + 100
    assert lab.store.message_store_timestamp("orders", 0, 1) == START_MS + 250
    assert lab.store.message_store_timestamp("orders", 0, 2) == -1
    assert lab.store.message_store_timestamp("orders", 0, -1) == -1


@given(
    first=st.sampled_from([0, 1, 4, 7]),
    before=st.integers(0, 7),
    count=st.integers(1, 12),
    known=st.integers(-1, 12),
)
def test_entries_are_added_together_as_one_by_one(
    first: int, before: int, count: int, known: int
) -> None:
    labs = [StoreLab(log_bytes=1 << 20), StoreLab(log_bytes=1 << 20)]
    for lab in labs:
        for number in range(count):
            lab.put(b"x" * number)
            lab.advance(7)
    log = labs[0].store.log
    units = [(offset, len(record), 5) for offset, record in log.records(0, log.max_offset)]
    times = [log.store_timestamp_ms(offset, size_bytes) for offset, size_bytes, _ in units]
    one, many = (ConsumeQueue("t", 0, lab.files, 5 * 20) for lab in labs)
    for queue in one, many:
        for number in range(before):
            queue.append(0, 1, 0, max(0, first - before) + number if first else 0, START_MS)
        if known >= 0:
            queue.max_physic_offset = sum(units[min(known, count - 1)][:2])
    for number, unit in enumerate(units):
        one.append(*unit, first + number, times[number])
    packed = bytearray(b"".join(struct.pack(">qiq", *unit) for unit in units))
    many.append_units(first, packed, times[-1], log)
    assert (one.max_offset, one.max_physic_offset) == (many.max_offset, many.max_physic_offset)
    files = [[file for file in lab.files.opened() if "/t/" in file.path] for lab in labs]
    assert [(f.path, f.position, f.mtime_ms, bytes(f.view[: f.position])) for f in files[0]] == [
        (f.path, f.position, f.mtime_ms, bytes(f.view[: f.position])) for f in files[1]
    ]


@given(
    count=st.sampled_from([0, 1, 255, 256, 257, 700]),
    bad=st.none() | st.tuples(st.integers(0, 699), st.sampled_from([-1, 0, 1 << 40])),
    behind=st.sampled_from([None, 0, 5, 3_000, 1 << 41]),
)
def test_recovery_keeps_the_entries_before_the_first_bad_one(
    count: int, bad: tuple[int, int] | None, behind: int | None
) -> None:
    lab = StoreLab()
    queue = ConsumeQueue("t", 0, lab.files, 1000 * 20)
    for number in range(count):
        queue.append(number * 10, 10, 0, number, START_MS)
    wanted = count if behind is None else min(count, -(-behind // 10))
    file = queue.last_file
    if file is not None and bad is not None and bad[0] < count:
        number, value = bad
        spoiled = (value, 10, 0) if value else (number * 10, 0, 0)
        file.spoil(number * 20, struct.pack(">qiq", *spoiled))
        if value <= 0 or (behind is not None and value >= behind):
            wanted = min(wanted, number)
    if behind is None:
        queue.recover()
    else:
        queue.truncate(behind)
    assert queue.max_offset == wanted
