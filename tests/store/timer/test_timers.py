"""Timers keep their units in slots, and a start finds them again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store.inner_message import inner_message
from fakemq.store.timer import CHECKPOINT_PATH
from fakemq.store.timer.checkpoint import CheckpointState, TimerCheckpoint
from fakemq.store.timer.timers import Timers, clear_files
from fakemq.store.timer.wheel import SLOTS
from tests.support.store_lab import StoreLab
from tests.support.time import START_MS

WEEK_MS = SLOTS * 1000
WRITE_MS = START_MS // 1000 * 1000


def timers_of(lab: StoreLab, *, window_slots: int = 20) -> Timers:
    timers = Timers(lab.store, 1000, window_slots, 100_000, 1000)
    timers.load(lab.clock.now_ms())
    return timers


def add(lab: StoreLab, timers: Timers, due_ms: int, *, deletes: bool = False) -> dict[str, str]:
    """Store a message in the timer topic, and give it a unit; return its properties."""
    properties = {"TIMER_OUT_MS": str(due_ms), "REAL_TOPIC": "orders", "REAL_QID": "0"}
    if deletes:
        properties["TIMER_DEL_UNIQKEY"] = "K"
    text = encode_properties_as_java(properties)
    put = lab.store.put_message(inner_message(TIMER_TOPIC, 0, b"x", properties, text))
    appended = put.append_result
    assert appended is not None
    timers.add(
        due_ms,
        appended.wrote_offset,
        appended.wrote_bytes,
        real_topic="orders",
        deletes=deletes,
        write_ms=WRITE_MS,
        now_ms=START_MS,
    )
    timers.checkpoint.queue_offset = appended.logics_offset + 1
    return properties


def deliver(lab: StoreLab, properties: dict[str, str]) -> None:
    """Store the delivered copy of a message."""
    properties = {**properties, "TIMER_DEQUEUE_MS": "1"}
    text = encode_properties_as_java(properties)
    assert lab.store.put_message(inner_message("orders", 0, b"x", properties, text)).ok


def save(timers: Timers) -> None:
    timers.save(START_MS, timers.checkpoint.queue_offset)


def drain(timers: Timers, end_ms: int) -> list[tuple[int, int]]:
    """Read all slots before a time; return slot and physical offset of each unit."""
    found = []
    while (units := timers.begin_slot(end_ms)) is not None:
        found += [(unit.slot_ms, unit.phy_offset) for unit in units][::-1]
        timers.slot_is_done()
    return found


def test_units_of_a_slot_come_in_the_order_of_their_puts() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    for due_s in (5, 3, 5):
        add(lab, timers, WRITE_MS + due_s * 1000)
    assert timers.first_ms() == WRITE_MS + 3000
    found = drain(timers, WRITE_MS + 6000)
    assert [(slot_ms - WRITE_MS) // 1000 for slot_ms, _ in found] == [3, 5, 5]
    assert found[1][1] < found[2][1]
    assert timers.first_ms() is None
    assert timers.checkpoint.last_read_ms == WRITE_MS + 6000


def test_slot_is_read_when_its_second_is_over() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    add(lab, timers, WRITE_MS + 3000)
    assert drain(timers, WRITE_MS + 3000) == []
    assert len(drain(timers, WRITE_MS + 4000)) == 1


@pytest.mark.parametrize(
    ("due_s", "slot_s", "rolls"),
    [(19, 19, False), (20, 10, True), (25, 10, True), (26, 20, True), (300, 20, True)],
)
def test_message_beyond_the_window_rolls(due_s: int, slot_s: int, rolls: bool) -> None:
    # A third of 20 slots, in whole slots, is 6: below that the next roll would come too soon.
    lab = StoreLab()
    timers = timers_of(lab, window_slots=20)
    add(lab, timers, WRITE_MS + due_s * 1000)
    assert timers.first_ms() == WRITE_MS + slot_s * 1000
    units = timers.begin_slot(WRITE_MS + WEEK_MS)
    assert units is not None
    assert [unit.rolls for unit in units] == [rolls]


@pytest.mark.parametrize("window_slots", [1, 0, 604_741])
def test_window_that_is_no_window_is_the_largest(window_slots: int) -> None:
    lab = StoreLab()
    timers = timers_of(lab, window_slots=window_slots)
    add(lab, timers, WRITE_MS + WEEK_MS - 61_000)
    assert timers.first_ms() == WRITE_MS + WEEK_MS - 61_000


def test_deletion_counts_one_less() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    add(lab, timers, WRITE_MS + 3000)
    add(lab, timers, WRITE_MS + 3000, deletes=True)
    slot = timers.wheel.slot(WRITE_MS + 3000)
    assert slot is not None
    assert slot.messages == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 18), max_size=8), st.integers(0, 20))
def test_start_finds_what_was_not_delivered(due_s: list[int], read_s: int) -> None:
    lab = StoreLab(log_bytes=1 << 16)
    timers = timers_of(lab)
    for second in due_s:
        add(lab, timers, WRITE_MS + second * 1000)
    delivered = drain(timers, WRITE_MS + read_s * 1000)
    save(timers)
    lab.advance(read_s * 1000)
    again = timers_of(lab)
    assert again.checkpoint.queue_offset == len(due_s)
    left = drain(again, WRITE_MS + WEEK_MS)
    assert sorted(slot_ms for slot_ms, _ in delivered + left) == sorted(
        WRITE_MS + second * 1000 for second in due_s
    )


def test_start_without_the_checkpoint_continues_behind_the_last_unit() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    for _ in range(3):
        add(lab, timers, WRITE_MS + 5000)
    lab.files.delete(CHECKPOINT_PATH)
    again = timers_of(lab)
    assert again.checkpoint.queue_offset == 3
    assert len(drain(again, WRITE_MS + 6000)) == 3


def test_start_with_a_cut_timer_log_makes_the_units_again() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    for _ in range(3):
        add(lab, timers, WRITE_MS + 5000)
    save(timers)
    lab.files.open("timerlog/00000000000000000000", 100_000).spoil(52, bytes(104))
    again = timers_of(lab)
    assert again.checkpoint.queue_offset == 3
    assert len(drain(again, WRITE_MS + 6000)) == 3


def test_start_weeks_later_finds_what_is_overdue() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    add(lab, timers, WRITE_MS + 5000)
    save(timers)
    lab.advance(3 * WEEK_MS)
    again = timers_of(lab)
    assert again.first_ms() == WRITE_MS + 5000
    assert len(drain(again, WRITE_MS + 3 * WEEK_MS)) == 1


def test_start_after_the_clock_went_back_reads_from_the_present_on() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    save(timers)
    deliver(lab, add(lab, timers, WRITE_MS + 5000))
    assert len(drain(timers, WRITE_MS + 3_600_000)) == 1
    save(timers)
    again = timers_of(lab)
    assert again.first_ms() is None, "what was delivered is not delivered again"
    add(lab, again, WRITE_MS + 5000)
    assert len(drain(again, WRITE_MS + 6000)) == 1


def test_messages_that_come_after_the_clock_went_back_outlive_a_kill() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    deliver(lab, add(lab, timers, WRITE_MS + 5000))
    assert len(drain(timers, WRITE_MS + 3_600_000)) == 1
    save(timers)
    again = timers_of(lab)
    add(lab, again, WRITE_MS + 5000)
    lab.advance(60_000)
    killed = timers_of(lab)
    assert len(drain(killed, WRITE_MS + 3_600_000)) == 1


def test_chain_that_leads_forward_ends() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    for _ in range(2):
        add(lab, timers, WRITE_MS + 5000)
    file = lab.files.open("timerlog/00000000000000000000", 100_000)
    file.spoil(52 + 4, (52).to_bytes(8, "big"))
    assert len(drain(timers, WRITE_MS + 6000)) == 1


def test_clear_deletes_the_files() -> None:
    lab = StoreLab()
    timers = timers_of(lab)
    add(lab, timers, WRITE_MS + 5000)
    clear_files(lab.files)
    assert lab.files.list("timerlog") == []
    checkpoint = TimerCheckpoint()
    checkpoint.read(lab.files, START_MS)
    assert checkpoint.state is CheckpointState.EMPTY


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=7, max_size=7))
def test_checkpoint_is_read_as_it_was_written(numbers: list[int]) -> None:
    checkpoint = TimerCheckpoint()
    data = b"".join(number.to_bytes(8, "big", signed=True) for number in numbers)
    checkpoint.decode(data)
    assert checkpoint.encode() == data
