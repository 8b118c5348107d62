"""The slave's end of a replication connection: bytes in, bytes out.

Source: store/ha/HAService.java#HAClient (4.9.7)
"""

from __future__ import annotations

from typing import NamedTuple

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.codecs import SLAVE_ACK, TRANSFER_HEADER

READ_MAX_BUFFER_SIZE = 1024 * 1024 * 4
"""No transfer is longer: Java's slave would wait for its end for ever."""
_HEADER_BYTES = TRANSFER_HEADER.size


class Transfer(NamedTuple):
    """Bytes of the master's log, and where they belong; a heartbeat has none."""

    phy_offset: int
    body: bytes


class SlaveConnection:
    """What the slave has received and not yet appended, and what it last reported.

    ``max_offset`` is where its log ends when the connection is made.
    """

    def __init__(self, max_offset: int) -> None:
        self.current_reported_offset = max_offset
        self.is_held = False
        """Whether a limit keeps back what is there as a whole."""
        self._received = bytearray()
        self._at = 0

    @property
    def unfinished_bytes(self) -> int:
        return len(self._received) - self._at

    def receive_data(self, data: bytes) -> None:
        """Keep bytes of the master; `next_transfer` returns them decoded."""
        del self._received[: self._at]
        self._at = 0
        self._received += data

    def next_transfer(self, max_offset: int, limit: int | None = None) -> Transfer | None:
        """The next transfer, if it is there as a whole; ``max_offset`` is where the log ends now.

        One that goes beyond ``limit`` is cut there, as if the master had sent it in two.
        RemoteProtocolError as soon as its header is there and does not fit to that.
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
            self._at = end - _HEADER_BYTES  # over what was its beginning
            rest = (limit, body_bytes - kept_bytes)
            TRANSFER_HEADER.pack_into(self._received, self._at, *rest)
            return Transfer(phy_offset, body)
        self._at = end
        return Transfer(phy_offset, bytes(memoryview(self._received)[start:end]))

    def report_more(self, max_offset: int) -> bytes:
        """The report of a log that has grown to ``max_offset``; nothing if it has not."""
        if max_offset <= self.current_reported_offset:
            return b""
        self.current_reported_offset = max_offset
        return self.report()

    def report(self) -> bytes:
        """What was reported last, once more: the first word to the master, and each heartbeat."""
        return SLAVE_ACK.pack(self.current_reported_offset)
