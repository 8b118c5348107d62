"""The timer log finds again what it was given, as far as it is whole."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.timer.log import BLANK_MAGIC, NO_UNIT, UNIT_BYTES, TimerLog, TimerUnit

FILE_BYTES = 200  # three units and a blank of 44 bytes
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
UNITS = st.builds(TimerUnit, INT64, st.integers(0, 15), INT64, INT32, INT64, INT32, INT32)


def some_unit(phy_offset: int = 0, magic: int = 1) -> TimerUnit:
    return TimerUnit(NO_UNIT, magic, 1_700_000_000_000, 5_000, phy_offset, 150, 7)


def memory_files() -> MemoryFiles:
    return MemoryFiles(NodeClock(Clock(frozen=True), "broker-a"))


def loaded(files: MemoryFiles, file_bytes: int = FILE_BYTES) -> list[tuple[int, TimerUnit | None]]:
    return list(TimerLog(files, file_bytes).load(0))


def test_unit_is_as_java_writes_it() -> None:
    expected = struct.pack(">iqiqiqiiq", 52, -1, 1, 1_700_000_000_000, 5_000, 0, 150, 7, 0)
    assert some_unit().encode() == expected


def test_unit_says_when_it_is_due_and_what_becomes_of_it() -> None:
    assert some_unit().slot_ms == 1_700_000_005_000
    assert (some_unit().rolls, some_unit().deletes) == (False, False)
    assert (some_unit(magic=3).rolls, some_unit(magic=5).deletes) == (True, True)


def test_files_end_with_a_blank() -> None:
    files = memory_files()
    log = TimerLog(files, FILE_BYTES)
    assert [log.append(some_unit(), 0) for _ in range(4)] == [0, 52, 104, 200]
    first = files.open("timerlog/00000000000000000000", FILE_BYTES)
    assert bytes(first.read(156, 44)) == struct.pack(">iqi", 44, 0, BLANK_MAGIC) + bytes(28)
    assert log.end == 252


@settings(max_examples=30, deadline=None)
@given(st.lists(UNITS, max_size=12), st.integers(UNIT_BYTES + 16, 300))
def test_start_finds_every_unit(units: list[TimerUnit], file_bytes: int) -> None:
    files = memory_files()
    log = TimerLog(files, file_bytes)
    positions = [log.append(unit, 0) for unit in units]
    again = TimerLog(files, file_bytes)
    assert list(again.load(0)) == list(zip(positions, units, strict=True))
    assert [again.unit_at(position) for position in positions] == units
    if units:
        assert again.end == log.end


@pytest.mark.parametrize("damage", [struct.pack(">i", 51), bytes(52), b"\xff" * 16])
def test_start_passes_over_a_bad_unit(damage: bytes) -> None:
    files = memory_files()
    log = TimerLog(files, FILE_BYTES)
    for number in range(5):
        log.append(some_unit(number), 0)
    files.open("timerlog/00000000000000000000", FILE_BYTES).spoil(104, damage)
    again = TimerLog(files, FILE_BYTES)
    found = [None if unit is None else unit.phy_offset for _, unit in again.load(0)]
    assert found == [0, 1, None, 3, 4]


def test_start_cuts_off_bad_units_at_the_end() -> None:
    files = memory_files()
    log = TimerLog(files, FILE_BYTES)
    for number in range(3):
        log.append(some_unit(number), 0)
    files.open("timerlog/00000000000000000000", FILE_BYTES).spoil(104, b"\xff" * 16)
    again = TimerLog(files, FILE_BYTES)
    assert [unit is None for _, unit in again.load(0)] == [False, False, True]
    assert again.append(some_unit(9), 0) == 104
    assert [unit.phy_offset for _, unit in loaded(files) if unit is not None] == [0, 1, 9]


def test_position_without_a_unit_has_none() -> None:
    log = TimerLog(memory_files(), FILE_BYTES)
    log.append(some_unit(), 0)
    assert [log.unit_at(position) for position in (-1, 1, 52, 10_000)] == [None] * 4


def test_files_of_deleted_messages_are_deleted() -> None:
    files = memory_files()
    log = TimerLog(files, FILE_BYTES)
    for number in range(8):
        log.append(some_unit(number * 100), 0)
    assert log.delete_before(200) == 0, "the third message is still there"
    assert log.delete_before(10_000) == 2, "the last file always stays"
    assert files.list("timerlog") == ["timerlog/00000000000000000400"]
    assert log.unit_at(400) == some_unit(600)
