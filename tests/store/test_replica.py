"""A store that follows another one's log, whatever pieces of it come together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock import NodeClock
from fakemq.store.replica import Replica
from fakemq.store.store import MessageStore
from tests.store.disk_lab import DiskLab
from tests.store.lab import Lab
from tests.support.replication import log_bytes, same_log

FILE_BYTES = 4096


def followed(lab: Lab | DiskLab) -> Replica:
    return Replica(lab.store, NodeClock(lab.clock, "slave"), lab.journal, "slave")


def keys_found(store: MessageStore) -> int:
    return len(store.query_message("orders", "k", 64, 0, 1 << 60).buffers)


def master() -> Lab:
    lab = Lab(log_bytes=FILE_BYTES)
    for number in range(12):
        lab.put(b"x" * (number * 97), properties="KEYS\x01k\x02")
    return lab


@settings(deadline=None, max_examples=50)
@given(st.sets(st.tuples(st.integers(0, 11), st.integers(-9, 100)), max_size=12))
def test_half_a_record_is_in_no_queue_and_no_index(cuts: set[tuple[int, int]]) -> None:
    lab, slave = master(), Lab(log_bytes=FILE_BYTES)
    end, replica = lab.store.max_phy_offset, followed(slave)
    starts = [offset for offset, _ in lab.store.parts[0].records(0, end)]
    places = {starts[number] + beyond for number, beyond in cuts}
    places = {place for place in places if 0 < place < end} | {*range(0, end, FILE_BYTES), end}
    for start, stop in pairwise(sorted(places)):
        replica.append(start, log_bytes(lab.store, start, stop))
        replica.dispatch()
        assert keys_found(slave.store) == slave.store.max_offset_in_queue("orders", 0)
        assert same_log(lab.store, slave.store)
    assert keys_found(slave.store) == 12


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 400))
def test_half_a_record_in_memory_is_cut_off_in_the_end(more_bytes: int) -> None:
    lab, slave = master(), Lab(log_bytes=FILE_BYTES)
    replica = followed(slave)
    replica.append(0, log_bytes(lab.store, 0, more_bytes))
    replica.dispatch()
    replica.close()
    ends = {offset for offset, _ in lab.store.parts[0].records(0, FILE_BYTES)}
    assert slave.store.max_phy_offset in ends
    assert slave.store.max_phy_offset <= more_bytes


def test_half_a_record_on_a_disk_is_cut_off_by_the_next_start(tmp_path: Path) -> None:
    lab = master()
    first, second, *_ = [offset for offset, _ in lab.store.parts[0].records(0, FILE_BYTES)]
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
