"""Walks from record to record through a commit-log file, and past damage to the next record."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fakemq.protocol.layout.codecs import RECORD_HEAD, RECORD_LEAST_BYTES
from fakemq.protocol.message import (
    BLANK_MAGIC_CODE,
    BLANK_MIN_BYTES,
    LARGEST_RECORD_BYTES,
    MESSAGE_MAGIC_CODE,
    RecordCheck,
    RecordStatus,
    record_struct,
)
from fakemq.store.stored_node import BLOCK_BYTES, OpenFiles, RecordWindow, StoredFile

_PHYSICAL_OFFSET = record_struct("physical_offset")
LOCATED_BYTES = _PHYSICAL_OFFSET.size
"""The first bytes of a record, up to the field with its own log offset."""
_MESSAGE_MAGIC = MESSAGE_MAGIC_CODE.to_bytes(4, signed=True)
_BLANK_MAGIC = BLANK_MAGIC_CODE.to_bytes(4, signed=True)


class Run(NamedTuple):
    """Records that follow each other; only their heads were read."""

    positions: list[int]
    end: int
    """Where the last record ends; the bytes there need not be a record."""


class LogFile:
    """One commit-log file. Positions are bytes from the begin of the file."""

    def __init__(self, path: str, name: str) -> None:
        self.file = StoredFile(OpenFiles(), path, name)
        self.size_bytes = self.file.size_bytes

    def run(self, position: int, end: int, max_records: int, max_bytes: int) -> Run:
        """Return the consecutive records from ``position`` on that begin before ``end``."""
        size_bytes, read = self.size_bytes, self.file.read
        positions: list[int] = []
        until = min(end, position + max_bytes, size_bytes - RECORD_LEAST_BYTES + 1)
        # Local variables, because this loop runs for every record.
        unpack, add, magic_wanted = RECORD_HEAD.unpack_from, positions.append, MESSAGE_MAGIC_CODE
        smallest_bytes = RECORD_LEAST_BYTES
        block, begin, last = b"", 0, -1  # `last` is the last position whose head is in the block
        for _ in range(max_records):
            if position >= until:
                break
            if position > last:
                block, begin = read(position, BLOCK_BYTES), position
                last = begin + len(block) - RECORD_HEAD.size
            record_bytes, magic_code = unpack(block, position - begin)
            behind = position + record_bytes
            if magic_code != magic_wanted or record_bytes < smallest_bytes or behind > size_bytes:
                break
            add(position)
            position = behind
        return Run(positions, position)

    def is_blank(self, position: int) -> bool:
        """Return True if the rest of the file is a blank, as a broker leaves it at a roll-over."""
        left = self.size_bytes - position
        blank = RECORD_HEAD.pack(left, BLANK_MAGIC_CODE)
        return left >= BLANK_MIN_BYTES and self.file.read(position, RECORD_HEAD.size) == blank

    def is_whole(self, position: int) -> bool:
        """Return True if an undamaged record begins here and stores this place as its offset."""
        return self.is_located(position) and self.check(position).status is RecordStatus.OK

    def check(self, position: int) -> RecordCheck:
        """Check the record at ``position``."""
        return RecordWindow(self.file).check(position)  # as it is now: a broker may be writing it

    def is_located(self, position: int) -> bool:
        """Return True if the offset field of a record at ``position`` names this place."""
        data = self.file.read(position, LOCATED_BYTES)
        if len(data) < LOCATED_BYTES:
            return False
        (says,) = _PHYSICAL_OFFSET.unpack(data)
        return bool(says == self.file.offset + position)

    def next_boundary(self, position: int, end: int) -> int:
        """Return where the next undamaged record or the closing blank begins; else ``end``."""
        record = self._find(_MESSAGE_MAGIC, position, end, self.is_whole)
        # Blanks after the record do not matter; searching them would read the whole file.
        return self._find(_BLANK_MAGIC, position, record, self.is_blank)

    def _find(self, magic: bytes, position: int, end: int, is_it: Callable[[int], bool]) -> int:
        begins = (at - 4 for at in self.file.places(magic, position + 4, end + 4))
        return next(filter(is_it, begins), end)

    def boundary(self, position: int, end: int) -> int:
        """Return where the first record at or after ``position`` begins; else ``end``.

        The result depends only on the file, so parts that begin and end at boundaries have each
        record once. Bytes inside a record may look like a record. Therefore the walk begins
        LARGEST_RECORD_BYTES earlier, and meets the surrounding record first. Inside a record that
        is larger still, such bytes may be taken for a record.
        """
        if position <= 0:
            return 0
        at = self.next_boundary(max(0, position - LARGEST_RECORD_BYTES), end)
        while at < position:
            at = self.run(at, position, position, position).end
            if at < position:
                if self.is_blank(at):
                    return end
                at = self.next_boundary(at + 1, end)
            elif at < end and not self.is_blank(at) and not self.is_whole(at):
                at = self.next_boundary(at, end)
        return min(at, end)
