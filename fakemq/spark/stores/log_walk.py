"""From record to record through a commit-log file, and behind damage on to the next whole one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from fakemq.dump.stored import OpenFiles, StoredFile
from fakemq.protocol.message import (
    BLANK_MAGIC_CODE,
    BLANK_MIN_BYTES,
    MESSAGE_MAGIC_CODE,
    RecordCheck,
    RecordStatus,
    check_record,
)

LARGEST_RECORD_BYTES = 8 << 20
"""Twice maxMessageSize's default. A larger record is read like any other, but what is within it
and looks like a record may be taken for one where a part of the file begins."""

SMALLEST_RECORD_BYTES = 91

_HEAD = struct.Struct(">ii")
_PHYSICAL_OFFSET_AT = 28
_MESSAGE_MAGIC = MESSAGE_MAGIC_CODE.to_bytes(4, signed=True)
_BLANK_MAGIC = BLANK_MAGIC_CODE.to_bytes(4, signed=True)


class Run(NamedTuple):
    """Records that follow each other, by their heads alone."""

    positions: list[int]
    end: int
    """Where the last one ends; what is there need be no record."""


class LogFile:
    """One commit-log file. Positions are bytes from its begin."""

    def __init__(self, path: str, name: str) -> None:
        self.file = StoredFile(OpenFiles(), path, name)
        self.data = self.file.data
        self.size_bytes = len(self.data)
        self._view = memoryview(self.data)

    def run(self, position: int, end: int, max_records: int, max_bytes: int) -> Run:
        """The records that follow each other from ``position`` on, and begin before ``end``."""
        data, size_bytes = self.data, self.size_bytes
        positions: list[int] = []
        until = min(end, position + max_bytes, size_bytes - SMALLEST_RECORD_BYTES + 1)
        # Locals, because this is run for every record.
        unpack, add, magic_wanted = _HEAD.unpack_from, positions.append, MESSAGE_MAGIC_CODE
        smallest_bytes = SMALLEST_RECORD_BYTES
        for _ in range(max_records):
            if position >= until:
                break
            record_bytes, magic_code = unpack(data, position)
            behind = position + record_bytes
            if magic_code != magic_wanted or record_bytes < smallest_bytes or behind > size_bytes:
                break
            add(position)
            position = behind
        return Run(positions, position)

    def is_blank(self, position: int) -> bool:
        """Whether the rest of the file is blank from here on, as a broker leaves it."""
        left = self.size_bytes - position
        return left >= BLANK_MIN_BYTES and _HEAD.unpack_from(self.data, position) == (
            left,
            BLANK_MAGIC_CODE,
        )

    def is_whole(self, position: int) -> bool:
        """Whether a record begins here that is whole and says that it is here."""
        return self.is_located(position) and self.check(position).status is RecordStatus.OK

    def check(self, position: int) -> RecordCheck:
        """What stands here."""
        return check_record(self._view, position)

    def is_located(self, position: int) -> bool:
        """Whether what would be a record's own offset is the one of this place."""
        at = position + _PHYSICAL_OFFSET_AT
        says = int.from_bytes(self.data[at : at + 8], signed=True)
        return says == self.file.offset + position

    def next_boundary(self, position: int, end: int) -> int:
        """Where the next whole record or the closing blank begins, from here on; else ``end``."""
        record = self._find(_MESSAGE_MAGIC, position, end, self.is_whole)
        # A blank behind it does not matter, and to look for one would take all of the file.
        return self._find(_BLANK_MAGIC, position, record, self.is_blank)

    def _find(self, magic: bytes, position: int, end: int, is_it: Callable[[int], bool]) -> int:
        at = self.data.find(magic, position + 4, end + 4)
        while at >= 0 and not is_it(at - 4):
            at = self.data.find(magic, at + 1, end + 4)
        return end if at < 0 else at - 4

    def boundary(self, position: int, end: int) -> int:
        """Where the first record begins that is at or behind ``position``; else ``end``.

        Whoever asks gets the same, so parts that begin and end at boundaries have each record
        once. What lies within a record, and looks like one, is none: the walk begins so far in
        front that the record around it is met first.
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
