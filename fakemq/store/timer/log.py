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

    def load(self, now_ms: int) -> Iterator[tuple[int, TimerUnit | None]]:
        """Open the files that exist; yield each place of a unit, and the unit if it is a good one.

        The oldest comes first. At the end it cuts off what is behind the last good unit. Raise
        StoreError for files that are no timer log of this size.
        Source: store/timer/TimerMessageStore.java#recoverAndRevise (5.5.0), which does not look at
        files before the last two, and cuts off what is behind the first bad unit
        """
        self._files.load(now_ms)
        end = self._files.min_offset
        for position, unit in self._places():
            if unit is not None:
                end = position + UNIT_BYTES
            yield position, unit
        if self._files.row:
            self._files.truncate(end)

    def clear(self) -> None:
        """Delete all files: the next unit is at 0."""
        self._files.destroy()

    def place_of(self, position: int) -> tuple[str, int]:
        """Return the path of the file of a position, and the place in it."""
        file = self._files.find(position)
        path = LOG_FOLDER if file is None else file.path
        return path, position % self._files.file_size_bytes

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
        return unit_of(TIMER_LOG_UNIT.unpack(file.read(at, UNIT_BYTES)))

    def _places(self) -> Iterator[tuple[int, TimerUnit | None]]:
        last = self._files.last
        for number, file in enumerate(self._files.row):
            start = self._files.first_offset_of(number)
            end = units_end(file.size_bytes)
            if file is last:
                end = min(end, -(-file.data_end(0) // UNIT_BYTES) * UNIT_BYTES)
            for at, fields in _fields_of(file, min(end, file.position)):
                yield start + at, unit_of(fields)

    def delete_before(self, phy_offset: int) -> int:
        """Delete files of which all messages are no longer in the log; return how many.

        Source: store/MappedFileQueue.java#deleteExpiredFileByOffsetForTimerLog (5.5.0)
        """
        files, count = self._files, 0
        while len(files.row) > 1:
            size_bytes = files.row[0].size_bytes
            last_at = files.first_offset_of(0) + units_end(size_bytes) - UNIT_BYTES
            last = self.unit_at(last_at)
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


def units_end(size_bytes: int) -> int:
    """Return where the units of a file of this size end; a blank follows."""
    return (size_bytes - _BLANK_BYTES) // UNIT_BYTES * UNIT_BYTES


def _fields_of(file: File, end: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield position and fields of all places for units before ``end``."""
    end -= end % UNIT_BYTES
    for begin in range(0, end, _BLOCK_BYTES):
        block = file.read(begin, min(_BLOCK_BYTES, end - begin))
        yield from zip(
            range(begin, end, UNIT_BYTES), TIMER_LOG_UNIT.iter_unpack(block), strict=False
        )


def unit_of(fields: tuple[int, ...]) -> TimerUnit | None:
    """Return the unit of these fields; None if they are none.

    Source: store/timer/TimerMessageStore.java#isMagicOK (5.5.0)
    """
    size, *rest, _ = fields
    if size != UNIT_BYTES or rest[1] & ~_MAGIC_BITS:
        return None
    return TimerUnit(*rest)
