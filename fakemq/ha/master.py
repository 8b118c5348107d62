"""The master's end of one replication connection: bytes in, bytes out.

Source: store/ha/HAConnection.java (4.9.7)
"""

from __future__ import annotations

from typing import Protocol

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER

_NONE = -1


class TransferLog(Protocol):
    """The commit log, as replication reads it."""

    @property
    def max_offset(self) -> int:
        """The end of the log: the offset of the next byte."""

    @property
    def file_size_bytes(self) -> int: ...

    def read_from(self, offset: int) -> memoryview | None:
        """Return the bytes from ``offset`` to the end of its file; None if there are none."""


class MasterConnection:
    """The state of one slave at its master: what it requested, has, and is sent next.

    Java believes any first report of a slave, even one beyond the master's own log. Then it answers
    SEND_OK for messages that no slave has. Here such a report is an error unless
    ``believes_reports``; a negative report is always an error.
    """

    def __init__(self, log: TransferLog, *, believes_reports: bool = False) -> None:
        self._log = log
        self.believes_reports = believes_reports
        self._rest = b""
        self._began_at = _NONE
        self.slave_request_offset = _NONE
        """The offset of the slave's first report; -1 before."""
        self.slave_ack_offset = _NONE
        """The offset of its last report."""
        self.next_transfer_from_where = _NONE
        """The offset at which the next transfer begins; -1 before the first report."""

    @property
    def started(self) -> bool:
        """Whether the slave has reported; before that it is sent nothing."""
        return self.next_transfer_from_where != _NONE

    @property
    def unacknowledged_bytes(self) -> int:
        """The number of bytes that the slave was sent and has not acknowledged."""
        return self.next_transfer_from_where - max(self.slave_ack_offset, self._began_at)

    @property
    def unfinished_bytes(self) -> int:
        return len(self._rest)

    def receive_data(self, data: bytes) -> int | None:
        """Return the offset of the slave's report: it has everything before it.

        Return None without a complete report. Of several, the last one counts, as in Java. Raise
        RemoteProtocolError for an impossible offset.
        """
        data = self._rest + data
        whole = len(data) - len(data) % SLAVE_ACK.size
        self._rest = data[whole:]
        if not whole:
            return None
        offset: int = SLAVE_ACK.unpack_from(data, whole - SLAVE_ACK.size)[0]
        first = self.slave_request_offset < 0
        self._check_report(offset, first=first)
        self.slave_ack_offset = offset
        if first:
            self.slave_request_offset = offset
            # A slave with an empty log gets only the master's last file.
            end = self._log.max_offset
            self._began_at = offset or end - end % self._log.file_size_bytes
            self.next_transfer_from_where = self._began_at
        return offset

    def _check_report(self, offset: int, *, first: bool) -> None:
        end = self._log.max_offset
        if (offset > end and not (first and self.believes_reports)) or offset < 0:
            raise RemoteProtocolError(
                f"the slave reports offset {offset}; the commit log ends at {end}"
            )

    def heartbeat(self) -> bytes:
        """Return a transfer without a body."""
        return TRANSFER_HEADER.pack(self.next_transfer_from_where, 0)

    def next_transfer(self, batch_bytes: int) -> tuple[int, bytes] | None:
        """Return the offset and bytes of the next transfer; None if the slave was sent everything.

        The body has at most ``batch_bytes``, and all from one file.
        """
        offset = self.next_transfer_from_where
        data = self._log.read_from(offset) if self.started else None
        if data is None or batch_bytes <= 0:
            return None
        body = data[:batch_bytes]
        self.next_transfer_from_where = offset + len(body)
        return offset, TRANSFER_HEADER.pack(offset, len(body)) + body
