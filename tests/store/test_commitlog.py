"""Bytes of the commit log; layouts by hand, so that no code of ours reads what ours wrote."""

from __future__ import annotations

import struct
import zlib

import pytest

from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.properties import decode_properties
from fakemq.store.inner_message import inner_message
from fakemq.store.memory_files import MemoryFile
from fakemq.store.results import PutMessageStatus
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS


def log_file(lab: StoreLab, number: int = 0) -> MemoryFile:
    path = lab.files.list("commitlog")[number]
    return lab.files.open(path, lab.config.mapped_file_size_commit_log)


def test_record_has_javas_bytes() -> None:
    lab = StoreLab()
    lab.put(b"first")
    message = inner_message(
        "orders",
        3,
        b"body",
        properties_string="TAGS\x01a",
        flag=7,
        sys_flag=8,
        born_timestamp_ms=START_MS - 9,
        born_host=("10.1.2.3", 55555),
        store_host=("127.0.0.1", 10911),
        reconsume_times=2,
        prepared_transaction_offset=77,
    )
    result = lab.store.put_message(message).append_result
    assert result is not None
    offset = result.wrote_offset
    assert offset == 91 + 5 + 6
    size = 91 + 4 + 6 + 6
    assert bytes(log_file(lab).view[offset : offset + size + 4]) == b"".join(
        (
            struct.pack(">iI", size, 0xDAA320A7),
            struct.pack(">Iii", zlib.crc32(b"body") & 0x7FFFFFFF, 3, 7),
            struct.pack(">qqi", 0, offset, 8),
            struct.pack(">q", START_MS - 9) + bytes((10, 1, 2, 3)) + struct.pack(">i", 55555),
            struct.pack(">q", START_MS) + bytes((127, 0, 0, 1)) + struct.pack(">i", 10911),
            struct.pack(">iq", 2, 77),
            struct.pack(">i", 4) + b"body",
            b"\x06orders",
            struct.pack(">h", 6) + b"TAGS\x01a",
            bytes(4),
        )
    )
    assert result.msg_id == "7F00000100002A9F" + f"{offset:016X}"
    assert (result.wrote_bytes, result.store_timestamp_ms, result.msg_num) == (size, START_MS, 1)


def test_ipv6_hosts_set_their_bits() -> None:
    lab = StoreLab()
    message = inner_message("t", 0, b"", born_host=("::1", 1), store_host=("::2", 2))
    result = lab.store.put_message(message).append_result
    assert result is not None
    record = lab.store.select_one_message_by_offset(0)
    assert record is not None
    assert result.wrote_bytes == len(record) == 91 + 24 + 1
    assert struct.unpack_from(">i", record, 36) == (0x30,)
    assert bytes(record[48:68]) == bytes(15) + b"\1" + struct.pack(">i", 1)
    assert bytes(record[76:96]) == bytes(15) + b"\2" + struct.pack(">i", 2)
    assert result.msg_id == bytes(record[76:96]).hex().upper() + "0" * 16
    assert lab.store.message_store_timestamp("t", 0, 0) == START_MS


def test_file_too_short_for_a_record_ends_with_a_blank() -> None:
    lab = StoreLab(log_bytes=300)
    lab.put(bytes(100))  # 197 bytes
    lab.put(b"x")  # 98 bytes: 295 fit, but not with the 8 of a blank
    assert lab.files.list("commitlog") == [
        "commitlog/00000000000000000000",
        "commitlog/00000000000000000300",
    ]
    blank = log_file(lab).view[197:]
    assert bytes(blank) == struct.pack(">iI", 103, 0xCBD43194) + bytes(95)
    assert lab.store.max_phy_offset == 300 + 98
    second = lab.store.select_one_message_by_offset(300)
    assert second is not None
    assert struct.unpack_from(">qq", second, 20) == (1, 300)


def test_record_may_leave_exactly_the_room_of_a_blank() -> None:
    lab = StoreLab(log_bytes=97 + 8)
    lab.put(b"")
    lab.put(b"")
    assert lab.store.max_phy_offset == 105 + 97
    assert bytes(log_file(lab).view[97:]) == struct.pack(">iI", 8, 0xCBD43194)


def test_record_larger_than_a_file_is_refused() -> None:
    lab = StoreLab(log_bytes=200)
    assert lab.put(bytes(96)).status is PutMessageStatus.MESSAGE_ILLEGAL
    assert lab.put(bytes(95)).ok


def test_queue_offsets_count_by_queue_and_skip_prepared_messages() -> None:
    lab = StoreLab()
    offsets = []
    for topic, queue_id, sys_flag in (
        ("a", 0, 0),
        ("a", 1, 0),
        ("a", 0, 4),  # prepared
        ("a", 0, 12),  # rollback
        ("a", 0, 8),  # commit
        ("b", 0, 0),
    ):
        result = lab.put(topic=topic, queue_id=queue_id, sys_flag=sys_flag).append_result
        assert result is not None
        offsets.append(result.logics_offset)
    assert offsets == [0, 0, 0, 0, 1, 0]
    assert lab.store.max_offset_in_queue("a", 0) == 2


@pytest.mark.parametrize("offset", [-1, 1, 50, 96, 97, 98, 4095, 4096, 1 << 40])
def test_read_away_from_a_record_returns_nothing_or_the_bytes(offset: int) -> None:
    lab = StoreLab()
    lab.put(b"")
    record = lab.store.select_one_message_by_offset(offset)
    assert record is None or offset + len(record) <= lab.store.max_phy_offset
    assert lab.store.select_one_message_by_offset(offset, 1 << 20) is None


def test_walk_passes_blanks_and_deleted_files() -> None:
    lab = StoreLab(log_bytes=300)
    appended = [lab.put(bytes(50)).append_result for _ in range(8)]
    offsets = [result.wrote_offset for result in appended if result is not None]
    log = lab.store.log
    assert [offset for offset, _ in log.records(0, log.max_offset)] == offsets
    assert [offset for offset, _ in log.records(offsets[3], offsets[6])] == offsets[3:6]
    lab.store.delete_expired_files(offsets[3])
    kept = [offset for offset in offsets if offset >= log.min_offset]
    assert 0 < len(kept) < 8
    assert [offset for offset, _ in log.records(0, log.max_offset)] == kept


def test_batch_has_the_bytes_of_single_messages() -> None:
    own = [b"TAGS\x01a", b"TAGS\x01a", b"TAGS\x01b", b"", b"K\x01v\x02", b"K\x01w\x02"]
    bodies = [b"one", b"two", b"six", b"", b"three", b"three"]
    flags = [0, 0, 0, 0, 1, 2]
    batch, single = StoreLab(), StoreLab()
    members = [BatchMember(*one) for one in zip(bodies, own, flags, strict=True)]
    put = batch.store.put_messages(inner_message("t", 0, encode_batch(members))).append_result
    assert put is not None
    ids = []
    for body, properties, flag in members:
        text = properties.decode()
        message = inner_message("t", 0, body, decode_properties(text), text, flag)
        result = single.store.put_message(message).append_result
        assert result is not None
        ids.append(result.msg_id)
    assert put.msg_id == ",".join(ids)
    logs = [lab.store.log.read_from(0) for lab in (batch, single)]
    queues = [lab.store.queues.find_or_make("t", 0).units_from(0) for lab in (batch, single)]
    assert logs[0] == logs[1]
    assert queues[0] == queues[1]
