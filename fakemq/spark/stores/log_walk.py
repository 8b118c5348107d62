"""Walks from record to record through a commit-log file, and past damage to the next record."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fakemq.protocol.layout.codecs import RECORD_HEAD
from fakemq.protocol.message import (
    BLANK_MAGIC_CODE,
    BLANK_MIN_BYTES,
    LARGEST_RECORD_BYTES,
    MESSAGE_MAGIC_CODE,
    RecordCheck,
    RecordStatus,
    record_struct,
)
from fakemq.spark.records.record_walk import walked
from fakemq.spark.records.slices import Ints
from fakemq.store.stored_file import BLOCK_BYTES, OpenFiles, StoredFile
from fakemq.store.stored_node import RecordWindow

_PHYSICAL_OFFSET = record_struct("physical_offset")
LOCATED_BYTES = _PHYSICAL_OFFSET.size
"""The first bytes of a record, up to the field with its own log offset."""
_MESSAGE_MAGIC = MESSAGE_MAGIC_CODE.to_bytes(4, signed=True)
_BLANK_MAGIC = BLANK_MAGIC_CODE.to_bytes(4, signed=True)


class Records(NamedTuple):
    """Whole records that follow each other, and their bytes."""

    data: bytes
    positions: Ints
    """Where each begins in the data."""
    end: int
    """Where in the data the last one ends; the bytes there need not be a record."""


class LogFile:
    """One commit-log file. Positions are bytes from the begin of the file."""

    def __init__(self, path: str, name: str) -> None:
        self.file = StoredFile(OpenFiles(), path, name)
        self.size_bytes = self.file.size_bytes

    def records(self, position: int, end: int, size_bytes: int) -> Records:
        """Return the consecutive records from ``position`` on that begin before ``end``.

        They are those within ``size_bytes``; a larger one is returned alone.
        """
        data = self.file.read(position, size_bytes)
        positions, behind = walked(data, 0, end - position, self.size_bytes - position)
        if behind > len(data) and len(positions) == 1:
            data = self.file.read(position, behind)
        elif behind > len(data):
            positions, behind = positions[:-1], int(positions[-1])
        return Records(data, positions, behind)

    def run(self, position: int, end: int) -> int:
        """Return where the last of the consecutive records ends that begin before ``end``."""
        while position < end:
            block = self.file.read(position, BLOCK_BYTES)
            found = walked(block, 0, end - position, self.size_bytes - position)
            if not len(found.positions):
                break
            position += found.end
        return position

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
            at = self.run(at, position)
            if at < position:
                if self.is_blank(at):
                    return end
                at = self.next_boundary(at + 1, end)
            elif at < end and not self.is_blank(at) and not self.is_whole(at):
                at = self.next_boundary(at, end)
        return min(at, end)
