"""Decompresses message bodies, as many at once as memory allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fakemq.protocol.compression import unpack
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.sysflag import MessageSysFlag, compression_name
from fakemq.spark.records.record_table import RecordTable

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
