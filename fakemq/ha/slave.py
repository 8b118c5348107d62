"""The slave's end of a replication connection: bytes in, bytes out.

Source: store/ha/HAService.java#HAClient (4.9.7)
"""

from __future__ import annotations

from typing import NamedTuple

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER

READ_MAX_BUFFER_SIZE = 1024 * 1024 * 4
"""The longest transfer. Java's slave would wait for ever for the end of a longer one."""
_HEADER_BYTES = TRANSFER_HEADER.size


class Transfer(NamedTuple):
    """Bytes of the master's log and their offset; a heartbeat has an empty body."""

    phy_offset: int
    body: bytes


class SlaveConnection:
    """The bytes that a slave received and has not appended, and its last report.

    ``max_offset`` is the end of its log when the connection is made.
    """

    def __init__(self, max_offset: int) -> None:
        self.current_reported_offset = max_offset
        self.is_held = False
        """Whether ``limit`` keeps back a transfer that has arrived completely."""
        self._received = bytearray()
        self._at = 0
        """Where in it the next transfer begins."""

    @property
    def unfinished_bytes(self) -> int:
        return len(self._received) - self._at

    def receive_data(self, data: bytes) -> None:
        """Keep bytes of the master; `next_transfer` decodes them."""
        del self._received[: self._at]
        self._at = 0
        self._received += data

    def next_transfer(self, max_offset: int, limit: int | None = None) -> Transfer | None:
        """Return the next transfer if it has arrived completely; None otherwise.

        ``max_offset`` is the present end of the log. A transfer beyond ``limit`` is cut there, as
        if the master had sent it in two. Raise RemoteProtocolError for a transfer that does not
        begin at the end of the log, or has an impossible size, when its header is there.
        """
        self.is_held = False
        if self.unfinished_bytes < _HEADER_BYTES:
            return None
        phy_offset, body_bytes = TRANSFER_HEADER.unpack_from(self._received, self._at)
        if max_offset and phy_offset != max_offset:
            raise RemoteProtocolError(
                f"the master sends from offset {phy_offset}; the slave's log ends at {max_offset}"
            )
        if phy_offset < 0 or not 0 <= body_bytes <= READ_MAX_BUFFER_SIZE - _HEADER_BYTES:
            raise RemoteProtocolError(
                f"a transfer of {body_bytes} bytes from offset {phy_offset} is none"
            )
        start = self._at + _HEADER_BYTES
        end = start + body_bytes
        if end > len(self._received):
            return None
        if limit is not None and body_bytes and phy_offset + body_bytes > limit:
            kept_bytes = limit - phy_offset
            if kept_bytes <= 0:
                self.is_held = True
                return None
            end = start + kept_bytes
            body = bytes(memoryview(self._received)[start:end])
            # The rest becomes a transfer of its own: its header overwrites bytes returned now.
            self._at = end - _HEADER_BYTES
            rest = (limit, body_bytes - kept_bytes)
            TRANSFER_HEADER.pack_into(self._received, self._at, *rest)
            return Transfer(phy_offset, body)
        self._at = end
        return Transfer(phy_offset, bytes(memoryview(self._received)[start:end]))

    def report_more(self, max_offset: int) -> bytes:
        """Return the report of a log that has grown to ``max_offset``; b"" if it has not grown."""
        if max_offset <= self.current_reported_offset:
            return b""
        self.current_reported_offset = max_offset
        return self.report()

    def report(self) -> bytes:
        """Return the last report again. It begins the connection, and each heartbeat is one."""
        return SLAVE_ACK.pack(self.current_reported_offset)
