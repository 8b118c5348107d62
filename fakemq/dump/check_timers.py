"""Whether each timer message has its unit, and the checkpoint and the wheel are those of the log.

A start of a broker makes all of this anew from the messages: `fakemq.store.timer.comparison`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.dump.rows import check_row
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.layout.timer_codecs import TIMER_CHECKPOINT, TIMER_LOG_UNIT, WHEEL_SLOT
from fakemq.protocol.properties import REAL_TOPIC, TIMER_DEL_UNIQKEY, TIMER_OUT_MS
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store.findings import (
    CONFIG_EMPTY,
    Finding,
    no_timer_message,
    no_timer_unit,
    no_timer_unit_of,
    second_timer_unit,
    wrong_size,
    wrong_timer_chain,
)
from fakemq.store.stored_entries import units as queue_units
from fakemq.store.timer import CHECKPOINT_PATH, WHEEL_PATH
from fakemq.store.timer.checkpoint import FILE_BYTES as CHECKPOINT_BYTES
from fakemq.store.timer.checkpoint import MARKED_BYTES, CheckpointState, TimerCheckpoint, state_of
from fakemq.store.timer.comparison import came, wrong_unit
from fakemq.store.timer.log import NO_UNIT, UNIT_BYTES, TimerUnit, unit_of, units_end
from fakemq.store.timer.wheel import FILE_BYTES

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt
    from fakemq.store.stored_entries import QueueUnit
    from fakemq.store.stored_node import FileRow, StoredNode

MISSING = "the file is missing"
WRONG_SUM = "its checksum is wrong"


def check_timers(node: StoredNode) -> Iterator[Finding]:
    """Return the defects of timer log, checkpoint and wheel; none without timer messages."""
    queue = node.queue(TIMER_TOPIC, 0)
    entries = [] if queue is None else list(queue_units(queue, _ignore))
    found = {position: unit for position, unit in _places(node.timer_log) if unit is not None}
    yield from check_row(node.timer_log, 1)
    yield from _check_units(node)
    for path, size_bytes in ((CHECKPOINT_PATH, CHECKPOINT_BYTES), (WHEEL_PATH, FILE_BYTES)):
        file = node.file(path)
        if file is not None and file.size_bytes not in (0, size_bytes):  # a kill may leave 0 bytes
            yield Finding(path, 0, wrong_size(file.size_bytes, size_bytes))
    if not found and not entries:
        return
    checkpoint = TimerCheckpoint()
    yield from _check_checkpoint(node, checkpoint)
    if checkpoint.state in (CheckpointState.MARKED, CheckpointState.OF_JAVA):
        yield from _check_entries(node, checkpoint, entries, found)
    yield from _check_wheel(node, checkpoint, found)


def _places(row: FileRow) -> Iterator[tuple[int, TimerUnit | None]]:
    """Yield the positions where units are or should be, with the good ones."""
    for file in row.files:
        end = min(units_end(file.size_bytes), -(-file.data_end() // UNIT_BYTES) * UNIT_BYTES)
        if file is not row.files[-1]:
            end = units_end(file.size_bytes)
        for at in range(0, end, UNIT_BYTES):
            data = file.read(at, UNIT_BYTES)
            if len(data) == UNIT_BYTES:
                yield file.offset + at, unit_of(TIMER_LOG_UNIT.unpack(data))


def _check_units(node: StoredNode) -> Iterator[Finding]:
    """Check that each unit has its message, and leads to the one before it in its second."""
    seen: set[int] = set()
    newest: dict[int, int] = {}
    for position, unit in _places(node.timer_log):
        file = node.timer_log.find(position)
        if file is None:
            continue
        text = no_timer_unit() if unit is None else ""
        if unit is not None and not 0 <= unit.phy_offset < node.log.min_offset:
            text = _unit_error(node, unit)
            before = newest.get(unit.slot_ms, NO_UNIT)
            if not text and unit.phy_offset in seen:
                text = second_timer_unit(unit.phy_offset)
            elif not text and unit.previous not in (before, NO_UNIT):
                text = wrong_timer_chain(unit.previous, before)
            if not text:
                seen.add(unit.phy_offset)
                newest[unit.slot_ms] = position
        if text:
            yield Finding(file.name, position - file.offset, text)


def _unit_error(node: StoredNode, unit: TimerUnit) -> str:
    message = _timer_message(node, unit.phy_offset, unit.size_bytes)
    if message is None:
        return no_timer_message(unit.phy_offset)
    properties = message.properties
    out_ms = _out_ms(message)
    if out_ms is None:
        return no_timer_message(unit.phy_offset)
    deletes = TIMER_DEL_UNIQKEY in properties
    return wrong_unit(unit, out_ms, properties.get(REAL_TOPIC), deletes=deletes)


def _timer_message(node: StoredNode, phy_offset: int, size_bytes: int) -> MessageExt | None:
    message = node.record(phy_offset)
    if message is None or message.topic != TIMER_TOPIC or message.store_size_bytes != size_bytes:
        return None
    return message


def _out_ms(message: MessageExt) -> int | None:
    """Return the time of a timer message; None if it has none."""
    try:
        return parse_long(message.properties.get(TIMER_OUT_MS, ""))
    except NumberFormatError:
        return None


def _check_checkpoint(node: StoredNode, checkpoint: TimerCheckpoint) -> Iterator[Finding]:
    """Check the checkpoint, and read it.

    A crash may take records that it counts: a start reads the topic again, without a word.
    """
    file = node.file(CHECKPOINT_PATH)
    if file is None:
        yield Finding(CHECKPOINT_PATH, 0, MISSING)
        return
    data = file.read(0, MARKED_BYTES)
    if not data:
        yield Finding(CHECKPOINT_PATH, 0, CONFIG_EMPTY)
    if len(data) < TIMER_CHECKPOINT.size:
        return
    checkpoint.decode(data)
    checkpoint.state = state_of(data)
    if checkpoint.state is CheckpointState.EMPTY:
        yield Finding(CHECKPOINT_PATH, 0, CONFIG_EMPTY)
    elif checkpoint.state is CheckpointState.DAMAGED:
        yield Finding(CHECKPOINT_PATH, 0, WRONG_SUM)


def _check_entries(
    node: StoredNode,
    checkpoint: TimerCheckpoint,
    entries: list[QueueUnit],
    found: dict[int, TimerUnit],
) -> Iterator[Finding]:
    """Check that each message that waits has a unit.

    One that came at once never had one, and the checkpoint may be older than that: the next start
    finds it among what was delivered.
    """
    lost: dict[int, tuple[QueueUnit, MessageExt]] = {}
    with_unit = {unit.phy_offset for unit in found.values()}
    for entry in entries:
        if entry.offset >= checkpoint.queue_offset or entry.phy_offset in with_unit:
            continue
        message = _timer_message(node, entry.phy_offset, entry.size_bytes)
        out_ms = None if message is None else _out_ms(message)
        if message is not None and out_ms is not None and out_ms >= checkpoint.last_read_ms:
            lost[entry.phy_offset] = entry, message
    if not lost:
        return
    done = came((message for _, message in lost.values()), _records(node, min(lost)))
    for phy_offset, (entry, _) in lost.items():
        if phy_offset not in done:
            yield Finding(entry.file.name, entry.position, no_timer_unit_of(entry.offset))


def _records(node: StoredNode, begin: int) -> Iterator[MessageExt]:
    """Yield the records of the log from a place on, which is that of a record."""
    at = begin
    while (file := node.log.find(at)) is not None:
        message = node.record(at)
        if message is None:
            at = file.offset + file.size_bytes  # the rest of the file is empty
        else:
            yield message
            at += message.store_size_bytes


def _check_wheel(
    node: StoredNode, checkpoint: TimerCheckpoint, found: dict[int, TimerUnit]
) -> Iterator[Finding]:
    """Check that the slots lead to units of their second; those of old units may stay."""
    file = node.file(WHEEL_PATH)
    if file is None:
        if any(unit.slot_ms >= checkpoint.last_read_ms for unit in found.values()):
            yield Finding(WHEEL_PATH, 0, MISSING)
        return
    if not file.size_bytes:
        yield Finding(WHEEL_PATH, 0, CONFIG_EMPTY)
    if file.size_bytes != FILE_BYTES:
        return
    if checkpoint.state is not CheckpointState.MARKED:
        return
    for begin, block in file.data():
        for at in range(0, len(block) - WHEEL_SLOT.size + 1, WHEEL_SLOT.size):
            slot = block[at : at + WHEEL_SLOT.size]
            if not any(slot):
                continue
            time, _, last, _, _ = WHEEL_SLOT.unpack(slot)
            if 0 <= last < node.timer_log.min_offset:
                continue
            unit = found.get(last)
            if unit is None or time < 1 or unit.slot_ms % time:
                yield Finding(WHEEL_PATH, begin + at, f"slot {time} leads to no unit of it: {last}")


def _ignore(size_bytes: int) -> None:
    pass
