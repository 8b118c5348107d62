"""Many records at once, from the bytes of a commit log or a pull to columns, with numpy.

Decoding single records with `fakemq.protocol.message` takes several microseconds each.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from mmap import mmap

import numpy as np
import numpy.typing as npt

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.record import (
    BORNHOST_V6_FLAG,
    MESSAGE_MAGIC_CODE,
    STOREHOSTADDRESS_V6_FLAG,
)

Ints = npt.NDArray[np.int64]

_HEAD = struct.Struct(">ii")
_SMALLEST_BYTES = 91


def positions_of(data: bytes) -> Ints:
    """Return where each record of a pull's body begins. Raise RemoteProtocolError for others."""
    found = []
    position, end = 0, len(data)
    while position < end:
        if end - position < _SMALLEST_BYTES:
            raise RemoteProtocolError(f"{end - position} bytes at {position} are no record")
        size_bytes, magic_code = _HEAD.unpack_from(data, position)
        if magic_code != MESSAGE_MAGIC_CODE or not _SMALLEST_BYTES <= size_bytes <= end - position:
            raise RemoteProtocolError(f"no record at {position} of {end} bytes")
        found.append(position)
        position += size_bytes
    return np.array(found, np.int64)


class RecordTable:
    """The fields of records that begin at ``positions`` of ``data``, as arrays without copies.

    Every record must lie within the data, as its size says. ``fitting`` marks the consistent
    records: the sizes of their parts add up to their size. Of the others only the fields at fixed
    places are valid. Layout: protocol/layout/record.py.
    """

    def __init__(self, data: bytes | mmap, positions: Ints) -> None:
        self.data = data
        self.positions = positions
        self.size_bytes = self._ints(0, 4)
        self.magic_code = self._ints(4, 4)
        self.body_crc = self._ints(8, 4)
        self.queue_id = self._ints(12, 4)
        self.flag = self._ints(16, 4)
        self.queue_offset = self._ints(20, 8)
        self.physical_offset = self._ints(28, 8)
        self.sys_flag = self._ints(36, 4)
        self.born_timestamp_ms = self._ints(40, 8)
        born = np.where(self.sys_flag & BORNHOST_V6_FLAG, 20, 8)
        stored = np.where(self.sys_flag & STOREHOSTADDRESS_V6_FLAG, 20, 8)
        self.born_host_end = positions + 48 + born
        self.store_timestamp_ms = self._ints(48 + born, 8)
        self.store_host_end = positions + 56 + born + stored
        hosts = born + stored
        self.reconsume_times = self._ints(56 + hosts, 4)
        self.prepared_transaction_offset = self._ints(60 + hosts, 8)
        body_bytes = self._ints(68 + hosts, 4)
        self.fitting = (body_bytes >= 0) & (75 + hosts + body_bytes <= self.size_bytes)
        self.body_begin = positions + 72 + hosts
        self.body_end = self.body_begin + np.where(self.fitting, body_bytes, 0)
        topic_bytes = self._ints(self.body_end - positions, 1)
        self.fitting &= topic_bytes >= 0
        self.fitting &= self.body_end - positions + 3 + topic_bytes <= self.size_bytes
        self.topic_begin = self.body_end + 1
        self.topic_end = self.topic_begin + np.where(self.fitting, topic_bytes, 0)
        properties_bytes = self._ints(self.topic_end - positions, 2)
        self.properties_begin = self.topic_end + 2
        self.properties_end = positions + self.size_bytes
        self.fitting &= self.properties_begin + properties_bytes == self.properties_end

    def __len__(self) -> int:
        return len(self.positions)

    def body(self, at: int) -> bytes:
        """Return the body of a record as it is stored, perhaps compressed."""
        return self.data[int(self.body_begin[at]) : int(self.body_end[at])]

    def some(self, which: Sequence[int] | npt.NDArray[np.bool_]) -> RecordTable:
        """Return some of the records, by number or by a mask."""
        if isinstance(which, range) and which == range(len(self)):
            return self
        if not isinstance(which, np.ndarray):
            which = np.array(which, np.int64)
        return RecordTable(self.data, self.positions[which])

    def _ints(self, offset: int | Ints, width: int) -> Ints:
        """Return a signed big-endian number of ``width`` bytes for each record."""
        # View a number at every byte, and take those at the offsets.
        count = max(len(self.data) - width + 1, 0)
        numbers = np.ndarray((count,), f">i{width}", self.data, strides=(1,))
        # An inconsistent record may point past the data; what it reads there is not used.
        chosen: Ints = numbers[np.minimum(self.positions + offset, count - 1)].astype(np.int64)
        return chosen
