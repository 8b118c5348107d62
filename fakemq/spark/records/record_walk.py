"""Finds where the records in a piece of a log or in the body of a pull begin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import RECORD_HEAD, RECORD_LEAST_BYTES
from fakemq.protocol.message import MESSAGE_MAGIC_CODE
from fakemq.spark.records.slices import Ints

_STEPS = 64
"""This number of records are found one by one before the next try to find many at once."""


class WalkedRecords(NamedTuple):
    """Records that follow each other; only their heads were looked at."""

    positions: Ints
    end: int
    """Where the last record ends; the bytes there need not be a record."""


def walked(data: bytes, begin: int, until: int, limit: int) -> WalkedRecords:
    """Return the consecutive records from ``begin`` on that begin before ``until``.

    Their heads are within the data; they end at ``limit`` or before, perhaps behind the data.
    """
    until = min(until, len(data) - RECORD_HEAD.size + 1)
    heads = np.ndarray((max(until, 0),), np.int64, data, strides=(1,))
    pieces: list[Ints] = []
    position, few = begin, [0] * _STEPS
    while len(few) == _STEPS:
        few, position = _one_by_one(data, position, until, limit)
        pieces.append(np.array(few, np.int64))
        if len(few) == _STEPS and few[-1] - few[-2] == (size_bytes := position - few[-1]):
            # Neighbours are often of equal size: then their heads are equal, too.
            some = heads[few[-1] : max(limit - size_bytes + 1, 0) : size_bytes]
            count = _equal(some) - 1
            pieces.append(position + size_bytes * np.arange(count))
            position += size_bytes * count
    return WalkedRecords(np.concatenate(pieces), position)


def _one_by_one(data: bytes, position: int, until: int, limit: int) -> tuple[list[int], int]:
    found: list[int] = []
    # Local variables, because this loop runs for every record.
    unpack, add, wanted = RECORD_HEAD.unpack_from, found.append, MESSAGE_MAGIC_CODE
    least_bytes = RECORD_LEAST_BYTES
    for _ in range(_STEPS):
        if position >= until:
            break
        size_bytes, magic_code = unpack(data, position)
        behind = position + size_bytes
        if magic_code != wanted or size_bytes < least_bytes or behind > limit:
            break
        add(position)
        position = behind
    return found, position


def _equal(numbers: Ints) -> int:
    """Return how many of the first numbers are equal."""
    count, step = 1, _STEPS
    while count < len(numbers):
        same = numbers[count : count + step] == numbers[0]
        if not same.all():
            return count + int(same.argmin())
        count += len(same)
        step *= 2
    return count


def positions_of(data: bytes) -> Ints:
    """Return where each record of a pull's body begins. Raise RemoteProtocolError for others."""
    positions, end = walked(data, 0, len(data), len(data))
    if end < len(data):
        raise RemoteProtocolError(f"no record at {end} of {len(data)} bytes")
    return positions
