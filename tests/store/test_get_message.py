"""Gets: the statuses and limits of DefaultMessageStore#getMessage."""

from __future__ import annotations

import struct

import pytest

from fakemq.store.results import GetMessageResult, GetMessageStatus
from tests.support.store_lab import StoreLab

FOUND = GetMessageStatus.FOUND
RECORD_BYTES = 91 + 6  # of topic "orders", without body and properties


def get(lab: StoreLab, offset: int, max_msg_nums: int = 32, queue_id: int = 0) -> GetMessageResult:
    return lab.store.get_message("g", "orders", queue_id, offset, max_msg_nums)


def queue_offsets(result: GetMessageResult) -> list[int]:
    found, at, body = [], 0, result.body
    while at < len(body):
        found.append(struct.unpack_from(">q", body, at + 20)[0])
        at += struct.unpack_from(">i", body, at)[0]
    assert len(found) == result.message_count
    assert len(body) == result.buffer_total_size
    return found


@pytest.fixture
def lab() -> StoreLab:
    lab = StoreLab(log_bytes=1 << 22)
    for _ in range(40):
        lab.put(b"")
    return lab


@pytest.mark.parametrize(
    ("offset", "status", "next_offset"),
    [
        (-1, GetMessageStatus.OFFSET_TOO_SMALL, 0),
        (0, FOUND, 32),
        (39, FOUND, 40),
        (40, GetMessageStatus.OFFSET_OVERFLOW_ONE, 40),
        (41, GetMessageStatus.OFFSET_OVERFLOW_BADLY, 40),
        (1 << 40, GetMessageStatus.OFFSET_OVERFLOW_BADLY, 40),
    ],
)
def test_get_returns_javas_statuses(
    lab: StoreLab, offset: int, status: GetMessageStatus, next_offset: int
) -> None:
    result = get(lab, offset)
    assert (result.status, result.next_begin_offset) == (status, next_offset)
    assert (result.min_offset, result.max_offset) == (0, 40)


def test_missing_queue_is_empty(lab: StoreLab) -> None:
    for offset in (-1, 0, 7):
        result = get(lab, offset, queue_id=1)
        assert result.status is GetMessageStatus.NO_MESSAGE_IN_QUEUE
        assert (result.next_begin_offset, result.min_offset, result.max_offset) == (0, 0, 0)
    assert lab.files.list("consumequeue/orders/1") == []


@pytest.mark.parametrize(("corrects", "next_offset"), [(False, 99), (True, 40)])
def test_slave_corrects_offsets_only_when_configured(
    lab: StoreLab, corrects: bool, next_offset: int
) -> None:
    lab.store.role.take("SLAVE")
    lab.config.offset_check_in_slave = corrects
    result = get(lab, 99)
    assert result.status is GetMessageStatus.OFFSET_OVERFLOW_BADLY
    assert result.next_begin_offset == next_offset


def test_neighbouring_records_are_one_slice(lab: StoreLab) -> None:
    result = get(lab, 3)
    assert queue_offsets(result) == list(range(3, 35))
    (buffer,) = result.buffers
    assert len(buffer) == 32 * RECORD_BYTES
    lab.put(queue_id=1)
    for _ in range(2):
        lab.put(b"")
    result = get(lab, 38)
    assert queue_offsets(result) == [38, 39, 40, 41]
    assert len(result.buffers) == 2


@pytest.mark.parametrize(("max_msg_nums", "count"), [(-1, 1), (0, 1), (1, 1), (2, 2), (99, 32)])
def test_number_of_messages_is_limited_to_1_through_32(
    lab: StoreLab, max_msg_nums: int, count: int
) -> None:
    assert get(lab, 0, max_msg_nums).message_count == count


def test_bytes_are_limited_except_for_the_first_message() -> None:
    lab = StoreLab(log_bytes=1 << 22)
    sizes = [300_000, 100_000, 100_000, 62_144 - 3 * RECORD_BYTES, 1]
    for size in sizes:
        lab.put(bytes(size))
    assert queue_offsets(get(lab, 0)) == [0]
    assert queue_offsets(get(lab, 1)) == [1, 2, 3]  # 262144 bytes exactly


def test_old_messages_have_the_limits_of_the_disk() -> None:
    lab = StoreLab(
        log_bytes=1 << 22, ram_bytes=10 * RECORD_BYTES
    )  # four records count as in memory
    for _ in range(20):
        lab.put(b"")
    assert get(lab, 0).message_count == 8
    assert get(lab, 0).suggest_pulling_from_slave
    assert queue_offsets(get(lab, 9)) == list(range(9, 20))
    assert not get(lab, 9).suggest_pulling_from_slave
    assert lab.store.check_in_disk_by_consume_offset("orders", 0, 15)
    assert not lab.store.check_in_disk_by_consume_offset("orders", 0, 16)
    assert not lab.store.check_in_disk_by_consume_offset("orders", 0, 20)
    assert not lab.store.check_in_disk_by_consume_offset("orders", 1, 0)
    large = StoreLab(log_bytes=1 << 22, ram_bytes=0)
    for size in (30_000, 30_000, 5_536 - 3 * RECORD_BYTES, 1):
        large.put(bytes(size))
    assert queue_offsets(get(large, 0)) == [0, 1, 2]  # 65536 bytes exactly


class Only:
    """Lets through what has one of these tags, then what has one of these bodies."""

    def __init__(self, codes: set[int], bodies: set[bytes] | None = None) -> None:
        self.codes = codes
        self.bodies = bodies

    def is_matched_by_consume_queue(self, tags_code: int | None) -> bool:
        return tags_code in self.codes

    is_spent = False

    def is_matched_by_commit_log(self, record: memoryview) -> bool:
        return self.bodies is None or bytes(record[88:89]) in self.bodies


def test_unmatched_entries_are_skipped_up_to_800() -> None:
    lab = StoreLab(log_bytes=1 << 22)
    for number in range(1000):
        lab.put(b"x", properties="TAGS\x01b" if number == 900 else "TAGS\x01a")
    only_b = Only({ord("b")})
    first = lab.store.get_message("g", "orders", 0, 0, 32, only_b)
    assert first.status is GetMessageStatus.NO_MATCHED_MESSAGE
    assert (first.next_begin_offset, first.message_count) == (800, 0)
    second = lab.store.get_message("g", "orders", 0, 800, 32, only_b)
    assert (second.status, second.next_begin_offset) == (FOUND, 1000)
    assert queue_offsets(second) == [900]
    wide = lab.store.get_message("g", "orders", 0, 0, 1000, only_b)
    assert wide.next_begin_offset == 1000


def test_filter_may_read_the_record() -> None:
    lab = StoreLab()
    for body in (b"1", b"2", b"1", b"3"):
        lab.put(body, properties="TAGS\x01a")
    found = lab.store.get_message("g", "orders", 0, 0, 32, Only({ord("a")}, {b"1", b"3"}))
    assert queue_offsets(found) == [0, 2, 3]
    assert len(found.buffers) == 2
    none = lab.store.get_message("g", "orders", 0, 0, 32, Only({ord("a")}, set()))
    assert (none.status, none.next_begin_offset) == (GetMessageStatus.NO_MATCHED_MESSAGE, 4)


def test_records_of_different_files_are_different_slices() -> None:
    lab = StoreLab(log_bytes=1000)
    for _ in range(20):
        lab.put(b"")
    result = get(lab, 0)
    assert queue_offsets(result) == list(range(20))
    assert [len(buffer) for buffer in result.buffers] == [10 * RECORD_BYTES] * 2


def test_deleted_files_move_the_minimum() -> None:
    lab = StoreLab(log_bytes=1000)
    for _ in range(20):
        lab.put(b"")
    assert lab.store.delete_expired_files(1000) == 1
    assert lab.store.min_phy_offset == 1000
    assert lab.store.min_offset_in_queue("orders", 0) == 10
    result = get(lab, 9)
    assert (result.status, result.next_begin_offset) == (GetMessageStatus.OFFSET_TOO_SMALL, 10)
    assert queue_offsets(get(lab, 10)) == list(range(10, 20))


def test_entries_without_records_are_skipped() -> None:
    lab = StoreLab(log_bytes=1000)
    for _ in range(20):
        lab.put(b"")
    lab.store.log.delete_before(1000)  # the queue is not updated yet
    result = get(lab, 5)
    assert queue_offsets(result) == list(range(10, 20))
    assert result.next_begin_offset == 20
    lab = StoreLab(log_bytes=1000, queue_units=10)
    for _ in range(20):
        lab.put(b"")
    lab.store.log.delete_before(1000)
    result = get(lab, 5)
    assert result.status is GetMessageStatus.MESSAGE_WAS_REMOVING
    assert result.next_begin_offset == 10


def test_slices_outlive_the_store() -> None:
    lab = StoreLab()
    lab.put(b"still here")
    result = get(lab, 0)
    lab.store.reset()
    lab.put(b"overwritten?")
    assert result.body[88:98] == b"still here"
