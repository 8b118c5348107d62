"""Reads stored files entry by entry, up to the end of their entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.layout.codecs import EXTENSION_HEAD, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from fakemq.protocol.message import (
    FIRST_EXTENSION_ADDRESS,
    LEAST_TAGS_CODE,
    RecordCheck,
    RecordStatus,
)
from fakemq.store.stored_node import RecordWindow

if TYPE_CHECKING:
    from fakemq.store.stored_file import StoredFile
    from fakemq.store.stored_node import FileRow

UNIT_BYTES = UNIT.size
PRE_BLANK = UNIT.pack(0, 0x7FFF_FFFF, 0)
_END = bytes(8)
_NO_UNIT = bytes(UNIT_BYTES)
_STEP_BYTES = 1_000 * UNIT_BYTES
"""How much is read at once. Entries of the index have the size of those of queues."""

Passed = Callable[[int], None]
"""Called with the number of bytes that were read."""


class LogEnd(NamedTuple):
    """Where the records of a log file end, and why: a blank, zeros, the file's end, or damage."""

    position: int
    why: str
    """``blank``, ``zeros``, ``full``, or what is bad."""


def records(
    file: StoredFile, passed: Passed, *, check_crc: bool = False
) -> Iterator[tuple[int, RecordCheck] | LogEnd]:
    """Yield position and record of each record in a log file, and at last a `LogEnd`."""
    window, position = RecordWindow(file), 0
    while True:
        head = window.read(position, len(_END))
        if len(head) < 8:
            yield LogEnd(position, "full")
            return
        if head == _END:
            yield LogEnd(position, "zeros")
            return
        check = window.check(position, check_crc=check_crc)
        if check.status is RecordStatus.BLANK:
            left_bytes = file.size_bytes - position
            whole = check.size_bytes == left_bytes
            why = "blank" if whole else f"a blank of {check.size_bytes} bytes for {left_bytes}"
            yield LogEnd(position, why)
            return
        if check.status is RecordStatus.BAD:
            yield LogEnd(position, check.reason)
            return
        yield position, check
        position += check.size_bytes
        passed(check.size_bytes)


class QueueUnit(NamedTuple):
    """An entry of a consume queue; offsets are queue offsets and commit-log offsets."""

    file: StoredFile
    position: int
    offset: int
    phy_offset: int
    size_bytes: int
    tags_code: int


def units(row: FileRow, passed: Passed) -> Iterator[QueueUnit]:
    """Yield the entries of a consume queue; blanks before the first one are skipped."""
    for file in row.files:
        for position, raw in written_units(file):
            if raw != PRE_BLANK:
                offset = (file.offset + position) // UNIT_BYTES
                yield QueueUnit(file, position, offset, *UNIT.unpack(raw))
        passed(file.size_bytes)


def tags_code_of(code: int, extension: FileRow | None) -> int | None:
    """Return the tags code for what an entry has as such.

    It may be the address of a unit in the extension of the queue; None if no unit is there.
    """
    if code >= LEAST_TAGS_CODE:
        return code
    place = code - FIRST_EXTENSION_ADDRESS
    head = None if extension is None else extension.read(place, EXTENSION_HEAD.size)
    if head is None:
        return None
    size_bytes, tags_code, _, _ = EXTENSION_HEAD.unpack(head)
    return tags_code if size_bytes > 0 else None


def written_units(file: StoredFile) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of a file's entries up to the first one of zeros."""
    end, before = 0, -1
    while end > before:  # a broker may have written more behind the last one since it was read
        before = end
        for position, raw in _entries(file, before):
            if raw == _NO_UNIT:
                break
            yield position, raw
            end = position + UNIT_BYTES


def _entries(file: StoredFile, position: int) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of all entries of a file from ``position`` on."""
    while len(block := file.read(position, _STEP_BYTES)) >= UNIT_BYTES:
        for at in range(0, len(block) - UNIT_BYTES + 1, UNIT_BYTES):
            yield position + at, block[at : at + UNIT_BYTES]
        position += len(block)


class IndexHead(NamedTuple):
    """The header of an index file."""

    begin_timestamp_ms: int
    end_timestamp_ms: int
    begin_phy_offset: int
    end_phy_offset: int
    hash_slot_count: int
    index_count: int


class IndexEntry(NamedTuple):
    """An entry of an index file; ``seconds`` is the time since the file's first."""

    number: int
    key_hash: int
    phy_offset: int
    seconds: int
    previous: int


class Index:
    """One index file. No field has its number of slots: it is computed from the entries."""

    def __init__(self, file: StoredFile) -> None:
        self.file = file
        self.head: IndexHead | None = None
        if file.size_bytes >= INDEX_HEADER.size:
            self.head = IndexHead(*INDEX_HEADER.unpack(file.read(0, INDEX_HEADER.size)))
        self.slots = self._slots() if self.head else 0
        """The number of slots; 0 if the entries do not show it."""

    def _slots(self) -> int:
        head = self.head
        if head is None or head.index_count < 2:
            return 0
        # The number of slots of a file with four entries for each slot, as by default.
        usual = (self.file.size_bytes - INDEX_HEADER.size) // (
            INDEX_SLOT.size + 4 * INDEX_ENTRY.size
        )
        if self._fits(usual):
            return usual
        wanted = head.begin_phy_offset.to_bytes(8, signed=True)
        for at in self.file.places(wanted, INDEX_HEADER.size, self.file.size_bytes):
            slots, rest = divmod(at - 4 - INDEX_ENTRY.size - INDEX_HEADER.size, INDEX_SLOT.size)
            if not rest and self._fits(slots):
                return slots
        return 0

    def _fits(self, slots: int) -> bool:
        head = self.head
        if head is None or slots < 1:
            return False
        first, last = self._entry(slots, 1), self._entry(slots, head.index_count - 1)
        if first is None or last is None:
            return False
        if first.key_hash == first.phy_offset == 0:  # the place before entry 1, which has nothing
            return False
        found = (first.phy_offset, last.phy_offset)
        if found != (head.begin_phy_offset, head.end_phy_offset):
            return False
        return self._slot(slots, last.key_hash) == last.number

    def _entry(self, slots: int, number: int) -> IndexEntry | None:
        at = INDEX_HEADER.size + slots * INDEX_SLOT.size + number * INDEX_ENTRY.size
        if not 0 <= at <= self.file.size_bytes - INDEX_ENTRY.size:
            return None
        return IndexEntry(number, *INDEX_ENTRY.unpack(self.file.read(at, INDEX_ENTRY.size)))

    def _slot(self, slots: int, key_hash: int) -> int:
        at = INDEX_HEADER.size + key_hash % slots * INDEX_SLOT.size
        return int.from_bytes(self.file.read(at, INDEX_SLOT.size), signed=True)

    def entries(self) -> Iterator[IndexEntry]:
        """Yield the entries, oldest first."""
        if self.head is not None and self.slots:
            first_at = INDEX_HEADER.size + self.slots * INDEX_SLOT.size + INDEX_ENTRY.size
            numbers = range(1, self.head.index_count)
            found = _entries(self.file, first_at)
            for number, (_, raw) in zip(numbers, found, strict=False):
                yield IndexEntry(number, *INDEX_ENTRY.unpack(raw))

    def entry_at(self, entry: IndexEntry) -> int:
        """Return the position of an entry in the file."""
        return INDEX_HEADER.size + self.slots * INDEX_SLOT.size + entry.number * INDEX_ENTRY.size
