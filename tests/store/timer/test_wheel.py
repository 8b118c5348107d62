"""The wheel knows the first slot with messages, and writes its file as Java does."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.timer import WHEEL_PATH
from fakemq.store.timer.wheel import FILE_BYTES, SLOTS, Slot, TimerWheel

NOW_MS = 1_700_000_000_000
FORTNIGHT_MS = 2 * SLOTS * 1000


def test_slot_keeps_its_first_and_its_last_unit() -> None:
    wheel = TimerWheel(1000)
    wheel.put(NOW_MS, 0, 1)
    wheel.put(NOW_MS + 999, 52, 1)
    wheel.put(NOW_MS, 104, -1)
    assert wheel.slot(NOW_MS + 1) == Slot(NOW_MS // 1000, 0, 104, 1)
    assert wheel.slot(NOW_MS + 1000) is None


def test_slot_of_a_fortnight_ago_is_still_there() -> None:
    files = MemoryFiles(NodeClock(Clock(frozen=True), "broker-a"))
    wheel = TimerWheel(1000)
    wheel.put(NOW_MS + FORTNIGHT_MS, 52, 1)
    wheel.put(NOW_MS, 0, 1)
    assert wheel.slot(NOW_MS) == Slot(NOW_MS // 1000, 0, 0, 1)
    assert wheel.first_ms(NOW_MS) == NOW_MS
    assert wheel.first_ms(NOW_MS + 1) == NOW_MS + FORTNIGHT_MS
    wheel.put(NOW_MS, 0, 1)
    wheel.write(files, NOW_MS)
    at = NOW_MS // 1000 % (2 * SLOTS) * 32
    slot = struct.pack(">qqqii", (NOW_MS + FORTNIGHT_MS) // 1000, 52, 52, 1, 0)
    assert bytes(files.open(WHEEL_PATH, FILE_BYTES).read(at, 32)) == slot, "Java reads this one"


def test_precision_is_the_length_of_a_slot() -> None:
    wheel = TimerWheel(100)
    wheel.put(NOW_MS + 250, 0, 1)
    assert wheel.first_ms(0) == NOW_MS + 200 == wheel.floor_ms(NOW_MS + 299)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 100))))
def test_first_slot_is_the_least_that_is_not_passed(steps: list[tuple[bool, int]]) -> None:
    wheel, times, passed = TimerWheel(1000), set[int](), 0
    for puts, second in steps:
        if puts:
            wheel.put(second * 1000, 0, 1)
            times.add(second)
        else:
            passed = max(passed, second)
            times = {time for time in times if time >= passed}
            first = min(times, default=None)
            assert wheel.first_ms(passed * 1000) == (None if first is None else first * 1000)
    assert wheel.messages(passed * 1000) >= len({time for time in times if time >= passed})


def test_file_has_a_slot_at_its_place() -> None:
    files = MemoryFiles(NodeClock(Clock(frozen=True), "broker-a"))
    wheel = TimerWheel(1000)
    wheel.put(NOW_MS, 104, 1)
    wheel.write(files, NOW_MS)
    file = files.open(WHEEL_PATH, FILE_BYTES)
    assert FILE_BYTES == 38_707_200
    at = NOW_MS // 1000 % (2 * SLOTS) * 32
    assert bytes(file.read(at, 32)) == struct.pack(">qqqii", NOW_MS // 1000, 104, 104, 1, 0)
