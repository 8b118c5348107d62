"""Reads many entries of a consume queue at once, for a start.

A store may have millions of them. Nearly all are good, so what reads them one by one looks only at
the piece where they end.
"""

from __future__ import annotations

from functools import cache
from struct import Struct

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT

_MANY = 256


def entry_count(view: memoryview, behind: int) -> int:
    """Return how many entries of records before the offset ``behind`` a view begins with."""
    # A file in memory grows by steps that are no multiple of an entry.
    whole = len(view) - len(view) % UNIT.size
    count, offsets_of, sizes_of = 0, *_many_units()
    while whole >= (count + _MANY) * UNIT.size:
        offsets = offsets_of.unpack_from(view, count * UNIT.size)
        sizes = sizes_of.unpack_from(view, count * UNIT.size)
        if min(sizes) <= 0 or min(offsets) < 0 or max(offsets) >= behind:
            break
        count += _MANY
    for offset, size_bytes, _ in UNIT.iter_unpack(view[count * UNIT.size : whole]):
        if size_bytes <= 0 or not 0 <= offset < behind:
            break
        count += 1
    return count


@cache
def _many_units() -> tuple[Struct, Struct]:
    """Return what reads the physical offsets, and the sizes, of `_MANY` entries at once."""
    return Struct(">" + "q12x" * _MANY), Struct(">" + "8xi8x" * _MANY)
