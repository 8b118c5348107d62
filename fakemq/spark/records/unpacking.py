"""The bodies that producers compressed, as many at once as memory allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fakemq.protocol.compression import unpack
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.sysflag import MessageSysFlag, compression_name
from fakemq.spark.records.record_table import RecordTable

MOST_UNPACKED_BYTES = 64 << 20
"""A batch ends behind so much: what is small may stand for gigabytes."""


class Unpacked(NamedTuple):
    """What became of compressed bodies; records are known by their numbers."""

    bodies: dict[int, bytes]
    bad: dict[int, str]
    """What could not be unpacked, and why."""
    of: int
    """Of how many records this is all; there may be more of them."""


def unpacked(table: RecordTable) -> Unpacked:
    """The compressed bodies among the first records, as many as one batch may have.

    LocalProtocolError where the module that could unpack them is not installed.
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
