"""The timer log: one unit for each timer message, in the order in which they arrived.

The units of one slot of the wheel are a chain, the newest first. Only `append` moves the end.
Source: store/timer/TimerLog.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.protocol.java import int32
from fakemq.protocol.layout.timer_codecs import TIMER_LOG_BLANK, TIMER_LOG_UNIT
from fakemq.store.mapped_file_queue import MappedFileQueue
from fakemq.store.timer import LOG_FOLDER

if TYPE_CHECKING:
    from fakemq.store.files import File, Files

UNIT_BYTES: Final = TIMER_LOG_UNIT.size
MAGIC_DEFAULT: Final = 1
MAGIC_ROLL: Final = 2
MAGIC_DELETE: Final = 4
_MAGIC_BITS: Final = 0xF
_BLANK_BYTES: Final = TIMER_LOG_BLANK.size
BLANK_MAGIC: Final = int32(0xBBCCDDEE ^ 1880681586 + 8)
_BLOCK_BYTES: Final = UNIT_BYTES * 1024
NO_UNIT: Final = -1
"""The position before the oldest unit of a slot."""


class TimerUnit(NamedTuple):
    """A unit: a message that becomes due at the slot of ``slot_ms``, or a deletion of one."""

    previous: int
    """The position of the slot's next older unit; -1 for none."""
    magic: int
    write_ms: int
    delay_ms: int
    phy_offset: int
    size_bytes: int
    topic_hash: int

    @property
    def slot_ms(self) -> int:
        return self.write_ms + self.delay_ms

    @property
    def rolls(self) -> bool:
        """Whether the message goes back to the timer topic: the wheel is too small for its time."""
        return bool(self.magic & MAGIC_ROLL)

    @property
    def deletes(self) -> bool:
        """Whether its message deletes another one."""
        return bool(self.magic & MAGIC_DELETE)

    def encode(self) -> bytes:
        """Return the bytes of the unit."""
        return TIMER_LOG_UNIT.pack(UNIT_BYTES, *self, 0)


class TimerLog:
    """The units of one broker, in files of ``file_size_bytes``."""

    def __init__(self, files: Files, file_size_bytes: int) -> None:
        self._files = MappedFileQueue(files, LOG_FOLDER, file_size_bytes)

    @property
    def end(self) -> int:
        """The position of the next unit, if its file has room."""
        return self._files.max_offset

    def load(self, now_ms: int) -> Iterator[tuple[int, TimerUnit]]:
        """Open the files that exist; yield position and unit of all units, the oldest first.

        At the end it cuts off what is behind the last good unit. Raise StoreError for files that
        are no timer log of this size.
        Source: store/timer/TimerMessageStore.java#recoverAndRevise (5.5.0), which does not look at
        files before the last two
        """
        self._files.load(now_ms)
        end = self._files.min_offset
        for position, unit in self._units():
            end = position + UNIT_BYTES
            yield position, unit
        if self._files.row:
            self._files.truncate(end)

    def append(self, unit: TimerUnit, now_ms: int) -> int:
        """Write a unit and return its position; raise StoreError if the disk refuses."""
        files = self._files
        last = files.last
        if last is not None and last.size_bytes - last.position < UNIT_BYTES + _BLANK_BYTES:
            if last.position < last.size_bytes:
                left_bytes = last.size_bytes - last.position
                last.append(TIMER_LOG_BLANK.pack(left_bytes, 0, BLANK_MAGIC), now_ms)
                last.truncate(last.size_bytes)
            last = None
        if last is None:
            last = files.add_file(0, now_ms)
        position = files.max_offset
        last.append(unit.encode(), now_ms)
        return position

    def unit_at(self, position: int) -> TimerUnit | None:
        """Return the unit at a position; None if there is no good one."""
        file = self._files.find(position)
        if file is None:
            return None
        at = position % file.size_bytes
        if at + UNIT_BYTES > file.position:
            return None
        return _unit(TIMER_LOG_UNIT.unpack(file.read(at, UNIT_BYTES)))

    def _units(self) -> Iterator[tuple[int, TimerUnit]]:
        for number, file in enumerate(self._files.row):
            start, at = self._files.first_offset_of(number), 0
            for fields in _fields_of(file):
                unit = _unit(fields)
                if unit is None:
                    break
                yield start + at, unit
                at += UNIT_BYTES
            if file.position - at < _BLANK_BYTES:
                continue
            if TIMER_LOG_BLANK.unpack(file.read(at, _BLANK_BYTES))[2] != BLANK_MAGIC:
                return

    def delete_before(self, phy_offset: int) -> int:
        """Delete files of which all messages are no longer in the log; return how many.

        Source: store/MappedFileQueue.java#deleteExpiredFileByOffsetForTimerLog (5.5.0)
        """
        files, count = self._files, 0
        while len(files.row) > 1:
            size_bytes = files.row[0].size_bytes
            last_at = (size_bytes - _BLANK_BYTES) // UNIT_BYTES * UNIT_BYTES - UNIT_BYTES
            last = self.unit_at(files.first_offset_of(0) + last_at)
            if last is None or last.phy_offset >= phy_offset:
                break
            count += files.delete_before(files.first_offset_of(0) + size_bytes)
        return count

    def flush(self) -> None:
        """Bring all units to the disk; raise StoreError if it refuses."""
        for file in self._files.row:
            if file.flushed < file.position:
                file.flush()

    def __repr__(self) -> str:
        return f"<timer log up to {self.end}>"


def _fields_of(file: File) -> Iterator[tuple[int, ...]]:
    """Yield the fields of all places for units before the file's position."""
    end = file.position - file.position % UNIT_BYTES
    for at in range(0, end, _BLOCK_BYTES):
        yield from TIMER_LOG_UNIT.iter_unpack(file.read(at, min(_BLOCK_BYTES, end - at)))


def _unit(fields: tuple[int, ...]) -> TimerUnit | None:
    """Return the unit of these fields; None if they are none.

    Source: store/timer/TimerMessageStore.java#isMagicOK (5.5.0)
    """
    size, *rest, _ = fields
    if size != UNIT_BYTES or rest[1] & ~_MAGIC_BITS:
        return None
    return TimerUnit(*rest)
