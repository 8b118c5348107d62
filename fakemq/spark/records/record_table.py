"""Many records at once, from the bytes of a commit log or a pull to columns, with numpy.

Decoding single records with `fakemq.protocol.message` takes several microseconds each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fakemq.protocol.compression import unpack
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import (
    RECORD_FIELDS,
    RECORD_LEAST_BYTES,
    RECORD_V6_MORE_BYTES,
)
from fakemq.protocol.sysflag import MessageSysFlag, compression_name
from fakemq.spark.records.slices import Ints

_BORN_HOST_AT, _ = RECORD_FIELDS["born_host"]
_STORE_TIMESTAMP_AT, _ = RECORD_FIELDS["store_timestamp"]
_STORE_HOST_AT, _ = RECORD_FIELDS["store_host"]
_RECONSUME_TIMES_AT, _ = RECORD_FIELDS["reconsume_times"]
_BODY_AT, _ = RECORD_FIELDS["topic_bytes"]
"""Where the body begins: the next field, if the body is empty."""
_TOPIC_AT, _ = RECORD_FIELDS["properties_bytes"]


_HEAD = np.dtype((np.void, RECORD_LEAST_BYTES))
_HEAD_FIELDS = np.dtype(
    {
        "names": list(RECORD_FIELDS),
        "formats": [f">{kind}" if kind in "bhiq" else "V8" for _, kind in RECORD_FIELDS.values()],
        "offsets": [offset for offset, _ in RECORD_FIELDS.values()],
        "itemsize": RECORD_LEAST_BYTES,
    }
)
"""The fields of a record whose hosts are IPv4 and whose parts of variable size are empty."""


class RecordTable:
    """The fields of records that begin at ``positions`` of ``data``, as arrays without copies.

    Every record must lie within the data, as its size says. ``fitting`` marks the consistent
    records: the sizes of their parts add up to their size. Of the others only the fields at fixed
    places are valid. Layout: protocol/layout/record.py.
    """

    def __init__(self, data: bytes, positions: Ints) -> None:
        self.data = data
        self.positions = positions
        # The heads are copied at once: each record is far away from the one before.
        count = max(len(data) - RECORD_LEAST_BYTES + 1, 0)
        heads = np.ndarray((count,), _HEAD, data, strides=(1,))[positions]
        self._heads = heads.view(_HEAD_FIELDS)
        self.size_bytes = self._field("total_size")
        self.magic_code = self._field("magic_code")
        self.body_crc = self._field("body_crc")
        self.queue_id = self._field("queue_id")
        self.flag = self._field("flag")
        self.queue_offset = self._field("queue_offset")
        self.physical_offset = self._field("physical_offset")
        self.sys_flag = sys_flag = self._field("sys_flag")
        self.born_timestamp_ms = self._field("born_timestamp")
        # An IPv6 host moves what is behind it.
        born, stored = (
            (sys_flag & flag != 0) * RECORD_V6_MORE_BYTES
            for flag in (MessageSysFlag.BORNHOST_V6, MessageSysFlag.STOREHOSTADDRESS_V6)
        )
        hosts = born + stored
        self.born_host_begin = positions + _BORN_HOST_AT
        self.born_host_end = positions + _STORE_TIMESTAMP_AT + born
        self.store_timestamp_ms = self._field("store_timestamp", born)
        self.store_host_begin = positions + _STORE_HOST_AT + born
        self.store_host_end = positions + _RECONSUME_TIMES_AT + hosts
        self.reconsume_times = self._field("reconsume_times", hosts)
        self.prepared_transaction_offset = self._field("prepared_transaction_offset", hosts)
        body_bytes = self._field("body_bytes", hosts)
        self.fitting = (body_bytes >= 0) & (
            RECORD_LEAST_BYTES + hosts + body_bytes <= self.size_bytes
        )
        # Each part that is not empty moves what is behind it, too.
        more = hosts + np.where(self.fitting, body_bytes, 0)
        self.body_begin = positions + _BODY_AT + hosts
        self.body_end = positions + _BODY_AT + more
        topic_bytes = self._field("topic_bytes", more)
        self.fitting &= topic_bytes >= 0
        self.fitting &= RECORD_LEAST_BYTES + more + topic_bytes <= self.size_bytes
        self.topic_begin = positions + _TOPIC_AT + more
        more = more + np.where(self.fitting, topic_bytes, 0)
        self.topic_end = positions + _TOPIC_AT + more
        properties_bytes = self._field("properties_bytes", more)
        self.properties_begin = positions + RECORD_LEAST_BYTES + more
        self.properties_end = positions + self.size_bytes
        self.fitting &= self.properties_begin + properties_bytes == self.properties_end

    def __len__(self) -> int:
        return len(self.positions)

    def body(self, at: int) -> bytes:
        """Return the body of a record as it is stored, perhaps compressed."""
        return bytes(self.data[int(self.body_begin[at]) : int(self.body_end[at])])

    def some(self, which: Sequence[int] | npt.NDArray[np.bool_]) -> RecordTable:
        """Return some of the records, by number or by a mask."""
        if isinstance(which, range) and which == range(len(self)):
            return self
        if not isinstance(which, np.ndarray):
            which = np.array(which, np.int64)
        return RecordTable(self.data, self.positions[which])

    def _field(self, name: str, more_bytes: Ints | None = None) -> Ints:
        """Return a field of each record, ``more_bytes`` behind its place in the layout."""
        if more_bytes is None or not more_bytes.any():
            field: Ints = self._heads[name].astype(np.int64)
            return field
        offset, kind = RECORD_FIELDS[name]
        # View a number at every byte, and take those at the offsets.
        dtype = np.dtype(f">{kind}")
        count = max(len(self.data) - dtype.itemsize + 1, 0)
        numbers = np.ndarray((count,), dtype, self.data, strides=(1,))
        # An inconsistent record may point past the data; what it reads there is not used.
        places = np.minimum(self.positions + offset + more_bytes, count - 1)
        chosen: Ints = numbers[places].astype(np.int64)
        return chosen


# Decompresses message bodies, as many at once as memory allows.

MOST_UNPACKED_BYTES = 64 << 20
"""A batch ends after this size: small bodies may decompress to gigabytes."""


class Unpacked(NamedTuple):
    """Decompressed bodies by the number of their record."""

    bodies: dict[int, bytes]
    bad: dict[int, str]
    """Bodies that could not be decompressed, and why."""
    of: int
    """The number of records that this result covers; the table may have more."""


def unpacked(table: RecordTable) -> Unpacked:
    """Decompress bodies of the first records, as many as one batch may have.

    Raise LocalProtocolError if the module that decompresses them is not installed.
    """
    found = Unpacked({}, {}, len(table))
    size_bytes = 0
    for at in np.flatnonzero(table.sys_flag & MessageSysFlag.COMPRESSED).tolist():
        try:
            body = unpack(compression_name(int(table.sys_flag[at])), table.body(at))
        except RemoteProtocolError as error:
            found.bad[at] = f"the body {error}"
            continue
        found.bodies[at] = body
        size_bytes += len(body)
        if size_bytes > MOST_UNPACKED_BYTES:
            return found._replace(of=at + 1)
    return found
