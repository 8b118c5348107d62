"""The master's end of one replication connection: bytes in, bytes out.

Source: store/ha/HAConnection.java (4.9.7)
"""

from __future__ import annotations

from typing import Protocol

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER

_NONE = -1


class TransferLog(Protocol):
    """The commit log, as far as replication reads it."""

    @property
    def max_offset(self) -> int:
        """Where the next byte goes."""

    @property
    def file_size_bytes(self) -> int: ...

    def read_from(self, offset: int) -> memoryview | None:
        """All that is written from ``offset`` to the end of its file; None if nothing is."""


class MasterConnection:
    """What the master knows of one slave: what it asked for, what it has, what it gets next.

    Java believes whatever a slave reports first, even beyond the master's own log, and from then on
    says SEND_OK to what no slave has. Here such a report is an error unless ``believes_reports``; a
    negative one always is.
    """

    def __init__(self, log: TransferLog, *, believes_reports: bool = False) -> None:
        self._log = log
        self.believes_reports = believes_reports
        self._rest = b""
        self._began_at = _NONE
        self.slave_request_offset = _NONE
        """What the slave reported first; -1 before."""
        self.slave_ack_offset = _NONE
        """What it reported last."""
        self.next_transfer_from_where = _NONE
        """Where the next transfer begins; -1 before the first report."""

    @property
    def started(self) -> bool:
        """Whether the slave has reported, so that it is sent anything at all."""
        return self.next_transfer_from_where != _NONE

    @property
    def unacknowledged_bytes(self) -> int:
        """How much the slave was sent and has not reported to have."""
        return self.next_transfer_from_where - max(self.slave_ack_offset, self._began_at)

    @property
    def unfinished_bytes(self) -> int:
        return len(self._rest)

    def receive_data(self, data: bytes) -> int | None:
        """The offset that the slave reports to have everything before; None if none came whole.

        Only the last of several counts, as for Java. RemoteProtocolError for one that cannot be.
        """
        data = self._rest + data
        whole = len(data) - len(data) % SLAVE_ACK.size
        self._rest = data[whole:]
        if not whole:
            return None
        offset: int = SLAVE_ACK.unpack_from(data, whole - SLAVE_ACK.size)[0]
        first, end = self.slave_request_offset < 0, self._log.max_offset
        if (offset > end and not (first and self.believes_reports)) or offset < 0:
            raise RemoteProtocolError(
                f"the slave reports offset {offset}; the commit log ends at {end}"
            )
        self.slave_ack_offset = offset
        if first:
            self.slave_request_offset = offset
            # A slave with an empty log begins with the last file.
            self._began_at = offset or end - end % self._log.file_size_bytes
            self.next_transfer_from_where = self._began_at
        return offset

    def heartbeat(self) -> bytes:
        """A transfer of nothing."""
        return TRANSFER_HEADER.pack(self.next_transfer_from_where, 0)

    def next_transfer(self, batch_bytes: int) -> tuple[int, bytes] | None:
        """The next transfer's offset and all its bytes; None if the slave was sent everything.

        Its body has ``batch_bytes`` at most, of one file.
        """
        offset = self.next_transfer_from_where
        data = self._log.read_from(offset) if self.started else None
        if data is None or batch_bytes <= 0:
            return None
        body = data[:batch_bytes]
        self.next_transfer_from_where = offset + len(body)
        return offset, TRANSFER_HEADER.pack(offset, len(body)) + body
