"""A store that follows another one's log, whatever pieces of it come together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import finished
from fakemq.events import FilesExpired
from fakemq.store import image as images
from fakemq.store.replica import Replica
from fakemq.store.store import MessageStore
from tests.support.disk_lab import DiskLab
from tests.support.replication import log_bytes, same_log
from tests.support.store_lab import StoreLab

FILE_BYTES = 4096


def followed(lab: StoreLab | DiskLab) -> Replica:
    return Replica(lab.store, NodeClock(lab.clock, "slave"), lab.journal, "slave")


def keys_found(store: MessageStore) -> int:
    return len(finished(store.query_message("orders", "k", 64, 0, 1 << 60)).buffers)


def master() -> StoreLab:
    lab = StoreLab(log_bytes=FILE_BYTES)
    for number in range(12):
        lab.put(b"x" * (number * 97), properties="KEYS\x01k\x02")
    return lab


@settings(deadline=None, max_examples=50)
@given(st.sets(st.tuples(st.integers(0, 11), st.integers(-9, 100)), max_size=12))
def test_partial_record_is_in_no_queue_and_no_index(cuts: set[tuple[int, int]]) -> None:
    lab, slave = master(), StoreLab(log_bytes=FILE_BYTES)
    end, replica = lab.store.max_phy_offset, followed(slave)
    starts = [offset for offset, _ in lab.store.log.records(0, end)]
    places = {starts[number] + beyond for number, beyond in cuts}
    places = {place for place in places if 0 < place < end} | {*range(0, end, FILE_BYTES), end}
    for start, stop in pairwise(sorted(places)):
        replica.append(start, log_bytes(lab.store, start, stop))
        replica.dispatch()
        assert keys_found(slave.store) == slave.store.max_offset_in_queue("orders", 0)
        assert same_log(lab.store, slave.store)
    assert keys_found(slave.store) == 12


def test_truncated_empty_log_begins_at_any_offset() -> None:
    lab, end = master(), master().store.max_phy_offset
    for start in (0, FILE_BYTES):
        slave = StoreLab(log_bytes=FILE_BYTES)
        slave.put(b"of another log")
        slave.store.log.truncate(0)
        slave.store.delete_consume_queue("orders")
        replica = followed(slave)
        for first in range(start, end, FILE_BYTES):
            replica.append(first, log_bytes(lab.store, first, min(first + FILE_BYTES, end)))
        replica.dispatch()
        assert slave.store.min_phy_offset == start
        assert same_log(lab.store, slave.store)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 400))
def test_partial_record_in_memory_is_cut_at_the_end(more_bytes: int) -> None:
    lab, slave = master(), StoreLab(log_bytes=FILE_BYTES)
    replica = followed(slave)
    replica.append(0, log_bytes(lab.store, 0, more_bytes))
    replica.dispatch()
    replica.close()
    ends = {offset for offset, _ in lab.store.log.records(0, FILE_BYTES)}
    assert slave.store.max_phy_offset in ends
    assert slave.store.max_phy_offset <= more_bytes


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 2 * FILE_BYTES))
def test_partial_record_is_in_no_image(more_bytes: int) -> None:
    lab, slave = master(), StoreLab(log_bytes=FILE_BYTES)
    replica = followed(slave)
    for start in range(0, more_bytes, FILE_BYTES):
        replica.append(start, log_bytes(lab.store, start, min(more_bytes, start + FILE_BYTES)))
    replica.dispatch()
    copy = StoreLab(log_bytes=FILE_BYTES)
    images.restore(copy.store, images.take(slave.store), 0)
    replica.close()
    end = copy.store.max_phy_offset
    assert end == slave.store.max_phy_offset <= more_bytes
    again = followed(copy)
    whole = lab.store.max_phy_offset
    begins = [offset for offset in range(0, whole, FILE_BYTES) if offset > end]
    for start, stop in pairwise([end, *begins, whole]):
        again.append(start, log_bytes(lab.store, start, stop))
    again.dispatch()
    assert same_log(lab.store, copy.store)
    assert keys_found(copy.store) == copy.store.max_offset_in_queue("orders", 0) == 12


def test_partial_record_on_disk_is_cut_at_the_next_start(tmp_path: Path) -> None:
    lab = master()
    first, second, *_ = [offset for offset, _ in lab.store.log.records(0, FILE_BYTES)]
    assert first == 0
    for more_bytes in (1, 5, 60):
        with DiskLab(tmp_path / str(more_bytes), log_bytes=FILE_BYTES) as slave:
            replica = followed(slave)
            replica.append(0, log_bytes(lab.store, 0, second + more_bytes))
            replica.dispatch()
            replica.close()
            slave.stop()
            slave.start()
            assert slave.store.max_phy_offset == second
            assert keys_found(slave.store) == 1
            assert [repair for repair in slave.repairs() if not repair.cut_bytes] == []


def test_slave_continues_in_a_last_file_that_start_emptied(tmp_path: Path) -> None:
    lab = master()
    end = 2 * FILE_BYTES
    with DiskLab(tmp_path, log_bytes=FILE_BYTES) as slave:
        replica = followed(slave)
        replica.append(0, log_bytes(lab.store, 0, FILE_BYTES))
        replica.append(FILE_BYTES, log_bytes(lab.store, FILE_BYTES, FILE_BYTES + 60))
        replica.close()
        slave.kill()
        slave.start()
        assert slave.store.max_phy_offset == FILE_BYTES
        again = followed(slave)
        again.append(FILE_BYTES, log_bytes(lab.store, FILE_BYTES, end))
        again.dispatch()
        assert slave.store.max_phy_offset == end
        assert same_log(lab.store, slave.store)


def test_queues_of_a_recreated_topic_equal_those_of_javas_slave() -> None:
    lab, slave = StoreLab(log_bytes=FILE_BYTES), StoreLab(log_bytes=FILE_BYTES)
    old = [lab.put(b"old") for _ in range(3)]
    lab.store.clean_unused_topic(frozenset())
    new = [lab.put(b"new") for _ in range(6)]
    replica = followed(slave)
    replica.append(0, log_bytes(lab.store, 0, lab.store.max_phy_offset))
    replica.dispatch()
    # The first new one is behind the old ones, the next three had their places taken.
    expected = [*old, new[0], new[4], new[5]]
    queue = slave.store.consume_queue("orders", 0)
    assert queue is not None
    units = [queue.unit_at(offset) for offset in range(queue.max_offset)]
    places = [result.append_result.wrote_offset for result in expected if result.append_result]
    assert [unit[0] for unit in units if unit is not None] == places
    assert lab.store.max_offset_in_queue("orders", 0) == 6
    # Promoted, it continues where its queue ends.
    assert slave.store.log.topic_queue_table["orders", 0] == len(expected)


def test_disk_that_fills_within_a_file_is_cleaned_at_the_next_look() -> None:
    lab, slave = StoreLab(log_bytes=FILE_BYTES), StoreLab(log_bytes=FILE_BYTES)
    slave.store.retention.start()
    slave.store.disk_space.resize(4 * FILE_BYTES)
    while lab.store.max_phy_offset < 3.6 * FILE_BYTES:
        lab.put(b"x" * 100)
    replica = followed(slave)
    end = lab.store.max_phy_offset
    for start in range(0, end, 64):  # as it comes, bit by bit
        replica.append(start, log_bytes(lab.store, start, min(start + 64, end)))
    assert slave.store.max_phy_offset == end
    replica.dispatch()
    assert slave.store.used_ratio() > 0.85
    slave.advance(61_000)
    assert slave.journal.find(FilesExpired)
    assert slave.store.min_phy_offset > 0
