"""The index: entries by bytes, search by key and time, files that are full."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.calendar import human_time
from fakemq.clock.slices import finished
from fakemq.protocol.java import java_string_hash
from fakemq.store import index
from fakemq.store.index import key_hash
from tests.support.disk_lab import DiskLab
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

ALL_TIME = (0, 1 << 62)


def offsets(lab: StoreLab, key: str, topic: str = "orders", max_num: int = 64) -> list[int]:
    """Queue offsets of what a query finds."""
    found = finished(lab.store.query_message(topic, key, max_num, *ALL_TIME))
    return [struct.unpack_from(">q", record, 20)[0] for record in found.buffers]


def test_records_are_found_by_unique_key_and_by_each_word_of_keys() -> None:
    lab = StoreLab()
    lab.put(properties="UNIQ_KEY\x01U1\x02KEYS\x01red  green ")
    lab.put(properties="UNIQ_KEY\x01U2\x02KEYS\x01green")
    lab.put(properties="TAGS\x01green")
    assert offsets(lab, "U1") == [0]
    assert offsets(lab, "U2") == [1]
    assert offsets(lab, "red") == [0]
    assert offsets(lab, "green") == [0, 1]
    assert offsets(lab, "blue") == []
    assert offsets(lab, "green", topic="others") == []
    lab.put(properties="KEYS\x01green")
    assert offsets(lab, "green") == [0, 1, 3]


def test_query_ends_when_its_index_goes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "STEP_ENTRIES", 2)
    lab = StoreLab()
    for _ in range(3):
        lab.put(properties="KEYS\x01red")
    offsets(lab, "red")
    steps = lab.store.query_message("orders", "red", 64, *ALL_TIME)
    next(steps)  # a record is found
    lab.store.index.files.clear()
    assert len(finished(steps).buffers) == 1


def test_file_has_javas_bytes() -> None:
    lab = StoreLab(max_hash_slot_num=5, max_index_num=10)
    lab.put(topic="t", properties="UNIQ_KEY\x01a")
    lab.advance(3500)
    second = lab.put(topic="t", properties="KEYS\x01a").append_result
    assert second is not None
    finished(lab.store.query_message("t", "a", 1, *ALL_TIME))
    (path,) = lab.files.list("index")
    assert path == f"index/{human_time(START_MS)}"
    file = lab.files.open(path, 0)
    assert file.size_bytes == 40 + 5 * 4 + 10 * 20
    hashed = key_hash("t", "a")
    # Java: "t#a".hashCode() == 111476 + 35*31 + 97 over ('t', '#', 'a')
    assert hashed == (116 * 31 + 35) * 31 + 97
    slots = [0] * 5
    slots[hashed % 5] = 2
    at = second.wrote_offset
    assert bytes(file.view[: 40 + 20 + 60]) == (
        struct.pack(">qqqqii", START_MS, START_MS + 3500, 0, at, 1, 3)
        + struct.pack(">5i", *slots)
        + bytes(20)
        + struct.pack(">iqii", hashed, 0, 0, 0)
        + struct.pack(">iqii", hashed, at, 3, 1)
    )


def test_default_file_has_javas_size() -> None:
    lab = StoreLab(max_hash_slot_num=5_000_000)
    lab.put(properties="KEYS\x01a")
    assert offsets(lab, "a") == [0]
    (path,) = lab.files.list("index")
    assert lab.files.open(path, 0).size_bytes == 420_000_040


def test_newest_records_are_found_first_over_several_files() -> None:
    lab = StoreLab(log_bytes=1 << 20, max_index_num=4)  # three entries: entry 0 is never used
    for _ in range(8):
        lab.put(properties="KEYS\x01k")
    assert offsets(lab, "k") == list(range(8))
    assert len(lab.files.list("index")) == 3
    assert offsets(lab, "k", max_num=2) == [6, 7]
    assert offsets(lab, "k", max_num=4) == [4, 5, 6, 7]


def test_number_of_results_is_limited_by_the_broker() -> None:
    lab = StoreLab(log_bytes=1 << 20)
    lab.config.max_msgs_num_batch = 3
    for _ in range(5):
        lab.put(properties="KEYS\x01k")
    assert offsets(lab, "k") == [2, 3, 4]


def test_times_are_compared_in_whole_seconds_of_the_file() -> None:
    lab = StoreLab(log_bytes=1 << 20)
    for _ in range(4):
        lab.put(properties="KEYS\x01k")
        lab.advance(1500)
    query = lab.store.query_message
    counts = [
        len(finished(query("orders", "k", 64, START_MS + begin, START_MS + end)).buffers)
        for begin, end in ((0, 9999), (1000, 9999), (1001, 3000), (4001, 9999), (-9, -1))
    ]
    assert counts == [4, 3, 1, 0, 0]


def test_index_progress_is_returned() -> None:
    lab = StoreLab()
    lab.put(properties="KEYS\x01k")
    lab.advance(1000)
    last = lab.put(properties="KEYS\x01other").append_result
    assert last is not None
    found = finished(lab.store.query_message("orders", "k", 64, *ALL_TIME))
    assert found.index_last_update_timestamp == START_MS + 1000
    assert found.index_last_update_phyoffset == last.wrote_offset


def test_message_without_keys_begins_an_empty_file() -> None:
    lab = StoreLab()
    lab.put()
    assert offsets(lab, "k") == []
    (path,) = lab.files.list("index")
    assert bytes(lab.files.open(path, 0).view[:40]) == bytes(40)


def test_prepared_messages_are_indexed_and_rollbacks_are_not() -> None:
    lab = StoreLab()
    for sys_flag in (0, 4, 8, 12):
        lab.put(bytes((sys_flag,)), properties="KEYS\x01k", sys_flag=sys_flag)
    found = finished(lab.store.query_message("orders", "k", 64, *ALL_TIME))
    assert [record[88] for record in found.buffers] == [0, 4, 8]


def test_messages_stored_while_the_index_was_off_are_not_found() -> None:
    lab = StoreLab()
    lab.put(properties="KEYS\x01k")
    lab.config.message_index_enable = False
    lab.put(properties="KEYS\x01k")
    lab.config.message_index_enable = True
    lab.put(properties="KEYS\x01k")
    assert offsets(lab, "k") == [0, 2]


def test_records_of_deleted_files_are_not_found() -> None:
    lab = StoreLab(log_bytes=300)
    for _ in range(6):
        lab.put(bytes(60), properties="KEYS\x01k")
    assert offsets(lab, "k") == list(range(6))
    lab.store.delete_expired_files(lab.store.max_phy_offset)
    kept = offsets(lab, "k")
    assert 0 < len(kept) < 6
    assert kept == list(range(6 - len(kept), 6))


def test_query_passes_over_a_file_that_expires_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "STEP_ENTRIES", 5)
    sizes = {"max_index_num": 40, "max_hash_slot_num": 1, "file_reserved_time": 1}
    with DiskLab(tmp_path, log_bytes=2_000, **sizes) as lab:
        for number in range(100):
            lab.put(bytes(50), properties=f"KEYS\x01k{number}\x02")
            lab.advance(10)
        lab.store.index.catch_up()
        before = len(lab.store.index.files)
        query = lab.store.query_message("orders", "k99", 64, *ALL_TIME)
        next(query)
        lab.store.delete_expired_files(lab.store.max_phy_offset)
        assert len(lab.store.index.files) < before
        assert len(finished(query).buffers) == 1


def test_hash_without_positive_value_counts_as_zero() -> None:
    assert java_string_hash("t#BEHMU\\^") == -(1 << 31)
    assert key_hash("t", "BEHMU\\^") == 0
    lab = StoreLab()
    lab.put(topic="t", properties="KEYS\x01BEHMU\\^")
    assert offsets(lab, "BEHMU\\^", topic="t") == [0]


@given(st.text(max_size=20), st.text(st.sampled_from("aZ09é\U0001f600"), max_size=40))
def test_hash_of_a_key_is_javas(topic: str, key: str) -> None:
    hashed = abs(java_string_hash(f"{topic}#{key}"))
    assert key_hash(topic, key) == (hashed if hashed < 1 << 31 else 0)


@given(keys=st.lists(st.integers(1, 5), min_size=1, max_size=30), at_most=st.integers(1, 9))
def test_index_is_the_same_whatever_the_number_of_records_at_a_time(
    keys: list[int], at_most: int
) -> None:
    images = []
    for step in (1, at_most, None):
        lab = StoreLab(log_bytes=1 << 20, max_hash_slot_num=1100, max_index_num=8)
        for number, count in enumerate(keys):
            words = " ".join(f"k{number * 7 % 5}-{word}" for word in range(count))
            properties = f"KEYS\x01{words}\x02" if number % 3 else ""
            lab.put(properties=properties, sys_flag=0xC if number % 5 == 4 else 0)
            lab.advance(1500)
        while not lab.store.index.catch_up(step):
            pass
        files = [file for file in lab.files.opened() if file.path.startswith("index/")]
        images.append(
            [(f.path, f.position, f.mtime_ms, bytes(f.view[: f.position])) for f in files]
        )
    assert images[0] == images[1] == images[2]
