"""Extensions of consume queues: units by bytes, files, recovery, and entries whose unit is gone."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.filters.tags import TagsFilter
from fakemq.clock.node_clock import NodeClock
from fakemq.protocol.message import FIRST_EXTENSION_ADDRESS as FIRST
from fakemq.protocol.message import LEAST_TAGS_CODE
from fakemq.store import image
from fakemq.store.queue_extension import ExtensionUnit, QueueExtension
from fakemq.store.replica import Replica
from tests.support.clients import java_hash
from tests.support.disk_lab import DiskLab
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

FOLDER = "consumequeue_ext/orders/0"


def extension(lab: StoreLab, size_bytes: int) -> QueueExtension:
    return QueueExtension(lab.files, FOLDER, size_bytes)


def without_extension(lab: StoreLab) -> None:
    """Start the store again on its files, without the key."""
    lab.config.enable_consume_queue_ext = False
    image.restore(lab.store, image.take(lab.store), START_MS)


def is_address(code: int) -> bool:
    return code < LEAST_TAGS_CODE


def extended(**config: int) -> StoreLab:
    return StoreLab(enable_consume_queue_ext=True, **config)


def test_entry_has_the_address_of_a_unit_with_javas_bytes() -> None:
    lab = extended()
    lab.put(b"", properties="TAGS\x01TagA")
    lab.put(b"")
    queue = lab.store.queues.find("orders", 0)
    assert queue is not None
    assert [queue.unit_at(offset) for offset in (0, 1)] == [
        (0, 106, FIRST),
        (106, 97, FIRST + 20),
    ]
    (path,) = lab.files.list(FOLDER)
    file = lab.files.open(path, 0)
    assert (path, file.size_bytes) == (f"{FOLDER}/{0:020}", 50331648)
    assert bytes(file.view[:40]) == (
        struct.pack(">hqqh", 20, 2598919, START_MS, 0) + struct.pack(">hqqh", 20, 0, START_MS, 0)
    )


def test_tags_are_compared_by_the_unit() -> None:
    lab = extended()
    for tag in ("TagA", "TagB", "TagA"):
        lab.put(b"", properties=f"TAGS\x01{tag}")
    found = lab.store.get_message("g", "orders", 0, 0, 32, TagsFilter([2598919]))
    assert (found.message_count, found.next_begin_offset) == (2, 3)


def test_every_message_passes_whose_unit_is_not_found() -> None:
    lab = extended()
    for tag in ("TagA", "TagB"):
        lab.put(b"", properties=f"TAGS\x01{tag}")
    without_extension(lab)
    found = lab.store.get_message("g", "orders", 0, 0, 32, TagsFilter([2598919]))
    assert found.message_count == 2
    assert lab.store.queue_unit("orders", 0, 1) == (106, 106, 2598920)


def test_key_that_is_turned_off_ends_the_units_and_not_the_reading() -> None:
    lab = extended()
    lab.put(b"", properties="TAGS\x01TagA")
    lab.config.enable_consume_queue_ext = False
    lab.put(b"", properties="TAGS\x01TagA")
    queue = lab.store.queues.find("orders", 0)
    assert queue is not None
    codes = [unit[2] for unit in (queue.unit_at(0), queue.unit_at(1)) if unit]
    assert codes == [FIRST, 2598919]
    assert [queue.tags_code_of(code) for code in codes] == [2598919, 2598919]


def test_deleted_queue_has_no_unit_left() -> None:
    lab = extended()
    lab.put()
    lab.store.delete_consume_queue("orders")
    lab.store.finish_work()
    assert lab.files.list(FOLDER) == []


UNITS = st.lists(
    st.builds(
        ExtensionUnit,
        st.integers(-(1 << 31), (1 << 63) - 1),
        st.integers(0, 1 << 62),
        st.binary(max_size=30),
    ),
    max_size=12,
)


@given(UNITS, st.integers(54, 120), st.integers(0, 11))
def test_units_are_found_by_address_before_and_after_a_start(
    units: list[ExtensionUnit], file_bytes: int, kept: int
) -> None:
    lab = StoreLab()
    written = extension(lab, file_bytes)
    places = [(written.put(unit, START_MS), unit) for unit in units]
    assert all(is_address(address) for address, _ in places)
    assert [written.get(address) for address, _ in places] == units
    found = extension(lab, file_bytes)
    found.load(START_MS)
    assert [found.get(address) for address, _ in places] == units
    if kept < len(places):
        found.end_behind(places[kept][0])
        left = [found.get(address) for address, _ in places]
        assert left == units[: kept + 1] + [None] * (len(units) - kept - 1)
        again = found.put(units[-1], START_MS)
        assert found.get(again) == units[-1]


@given(UNITS, st.integers(54, 120), st.integers(FIRST, 0))
def test_no_unit_is_written_where_an_entry_may_point(
    units: list[ExtensionUnit], file_bytes: int, address: int
) -> None:
    lab = StoreLab()
    written = extension(lab, file_bytes)
    places = [written.put(unit, START_MS) for unit in units]
    if written.get(address) is None:  # as from an entry that was damaged
        written.end_behind(address)
        assert written.put(ExtensionUnit(0, 0, b""), START_MS) > max(places, default=FIRST - 1)


@given(UNITS, st.integers(54, 120))
def test_files_before_an_address_are_deleted(units: list[ExtensionUnit], file_bytes: int) -> None:
    lab = StoreLab()
    written = extension(lab, file_bytes)
    places = [written.put(unit, START_MS) for unit in units]
    for address, unit in zip(places, units, strict=True):
        written.delete_before(address)
        assert written.get(address) == unit
        first = int(lab.files.list(FOLDER)[0].rpartition("/")[2])
        assert first + file_bytes >= address - FIRST


def test_file_with_one_byte_left_gets_no_unit() -> None:
    lab = StoreLab()
    written, unit = extension(lab, 60), ExtensionUnit(7, START_MS, b"")
    assert written.put(unit, START_MS) == FIRST
    lab.files.open(f"{FOLDER}/{0:020}", 0).truncate(59)  # as behind a unit that was damaged
    assert written.put(unit, START_MS) == FIRST + 60
    assert written.get(FIRST + 60) == unit


def test_new_queue_keeps_no_file_of_an_earlier_one() -> None:
    lab = StoreLab()
    earlier, unit = extension(lab, 60), ExtensionUnit(7, START_MS, b"")
    for _ in range(9):
        earlier.put(unit, START_MS)
    earlier.delete_before(FIRST + 180)
    assert extension(lab, 60).put(unit, START_MS) == FIRST
    assert lab.files.list(FOLDER) == [f"{FOLDER}/{0:020}"]
    extension(lab, 60).load(START_MS)  # no file is missing


def test_unit_that_no_file_can_have_is_left_out() -> None:
    lab = StoreLab()
    assert extension(lab, 30).put(ExtensionUnit(7, START_MS, bytes(14)), START_MS) == 7
    assert extension(lab, 1 << 20).put(ExtensionUnit(7, START_MS, bytes(32748)), START_MS) == 7


EXTENDED: dict[str, int] = {
    "enable_consume_queue_ext": True,
    "mapped_file_size_consume_queue_ext": 90,
}


def by_tag(lab: DiskLab | StoreLab) -> list[int]:
    """Return how many entries have each of three tags."""
    queue = lab.store.queues.find("orders", 0)
    if queue is None:
        return [0] * 3
    units = [queue.unit_at(at) for at in range(queue.min_offset, queue.max_offset)]
    assert all(unit is not None and is_address(unit[2]) for unit in units)
    codes = [queue.tags_code_of(unit[2]) for unit in units if unit]
    return [codes.count(java_hash(tag)) for tag in TAGS]


TAGS = ("TagA", "TagB", "TagC")


def put_all(lab: DiskLab | StoreLab) -> None:
    for tag in TAGS * 4:
        lab.put(properties=f"TAGS\x01{tag}")


@pytest.mark.parametrize("how", ["stop", "kill", "power"])
def test_units_are_found_after_each_end(tmp_path: Path, how: str) -> None:
    lab = DiskLab(tmp_path, queue_units=5, **EXTENDED)
    for round_ in (1, 2, 3):
        lab.start()
        assert by_tag(lab) == [4 * (round_ - 1)] * 3
        put_all(lab)
        assert by_tag(lab) == [4 * round_] * 3
        if how == "power":
            lab.disk.flush.everything()
        lab.stop() if how == "stop" else lab.kill(lose_unsynced=how == "power")
    assert not lab.repairs()
    units = sum(path.stat().st_size for path in (tmp_path / FOLDER).iterdir()) // 90 * 4
    assert units == 3 * 12


def test_lost_extension_is_noticed_by_no_tag(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path, **EXTENDED)
    with lab:
        put_all(lab)
    shutil.rmtree(tmp_path / "consumequeue_ext")
    with lab:
        assert by_tag(lab) == [0] * 3
        found = lab.store.get_message("g", "orders", 0, 0, 5, TagsFilter([1]))
        assert found.message_count == 5


@given(st.lists(st.tuples(st.integers(0, 270), st.binary(min_size=1, max_size=8)), max_size=8))
def test_damaged_units_lose_no_message(damages: list[tuple[int, bytes]]) -> None:
    lab = StoreLab(**EXTENDED)
    put_all(lab)
    paths = lab.files.list(FOLDER)
    for at, data in damages:
        lab.files.open(paths[at // 90 % len(paths)], 0).spoil(at % 90, data[: 90 - at % 90])
    image.restore(lab.store, image.take(lab.store), START_MS)
    assert lab.store.get_message("g", "orders", 0, 0, 32, None).message_count == 12
    matched = lab.store.get_message("g", "orders", 0, 0, 32, TagsFilter([java_hash("TagA")]))
    assert matched.message_count <= 12
    put_all(lab)
    queue = lab.store.queues.find("orders", 0)
    assert queue is not None
    units = [queue.unit_at(at) for at in range(12, 24)]
    codes = [queue.tags_code_of(unit[2]) for unit in units if unit]
    assert codes == [java_hash(tag) for tag in TAGS * 4]


def test_files_go_with_their_entries(tmp_path: Path) -> None:
    with DiskLab(tmp_path, log_bytes=1000, **EXTENDED) as lab:
        put_all(lab)
        count = len(lab.files.list(FOLDER))
        lab.store.delete_expired_files(1000)
        assert 0 < len(lab.files.list(FOLDER)) < count
        queue = lab.store.queues.find("orders", 0)
        assert queue is not None
        units = [queue.unit_at(at) for at in range(queue.min_offset, queue.max_offset)]
        assert all(unit and queue.tags_code_of(unit[2]) is not None for unit in units)


def test_image_has_the_units() -> None:
    lab, other = StoreLab(**EXTENDED), StoreLab(**EXTENDED)
    put_all(lab)
    image.restore(other.store, image.take(lab.store), START_MS)
    assert by_tag(other) == by_tag(lab) == [4] * 3
    put_all(other)
    assert by_tag(other) == [8] * 3


def test_slave_has_the_units_of_its_masters_log() -> None:
    lab, slave = StoreLab(**EXTENDED), StoreLab(**EXTENDED)
    put_all(lab)
    replica = Replica(slave.store, NodeClock(slave.clock, "a"), slave.journal, "a")
    data = lab.store.log.read(0, lab.store.max_phy_offset)
    assert data is not None
    replica.append(0, bytes(data))
    replica.dispatch()
    for path in lab.files.list(FOLDER):
        size_bytes = lab.files.open(path, 0).position
        assert bytes(lab.files.open(path, 0).read(0, size_bytes)) == bytes(
            slave.files.open(path, 0).read(0, size_bytes)
        )
