"""The master's end of one connection in controller mode: bytes in, bytes out.

Source: store/ha/autoswitch/AutoSwitchHAConnection.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.ha.master import MasterConnection, TransferLog
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.layout.autoswitch_codecs import (
    EPOCH_START,
    EPOCH_TRANSFER,
    MASTER_HANDSHAKE,
    SLAVE_HANDSHAKE,
    SLAVE_REPORT,
)

if TYPE_CHECKING:
    from fakemq.ha.autoswitch.epochs import EpochCache, EpochEntry

HANDSHAKE, TRANSFER = 1, 2
"""The states of HAConnectionState that are sent."""
MOST_ENTRIES = 1_000
"""The most epochs that fit into a handshake. Java's master breaks the connection with more."""
NO_ID = -1
"""The id of a slave that has sent no handshake."""


class EpochLog(TransferLog, Protocol):
    """The commit log, with its beginning."""

    @property
    def min_offset(self) -> int:
        """The offset of the first byte; -1 for an empty log."""


class Confirmed(Protocol):
    """What the master of a slave knows besides its log."""

    @property
    def epochs(self) -> EpochCache: ...
    @property
    def confirm_offset(self) -> int: ...
    @property
    def own_id(self) -> int | None: ...


class AutoSwitchMasterConnection(MasterConnection):
    """The state of one slave at its master: its id, what it has, and is sent next.

    Java believes reports beyond its log, too: a slave that has lost its epoch file, and is longer,
    is in the set then. Here they are errors, as in `MasterConnection`.
    """

    def __init__(self, log: EpochLog, master: Confirmed) -> None:
        super().__init__(log)
        self._epoch_log = log
        self._master = master
        self.slave_id = NO_ID
        self.is_async_learner = False
        self.is_sync_from_last_file = False
        self.handshake_due = False
        """Whether the slave waits for the answer to its handshake."""
        self._epoch = -1
        """The epoch that is sent now; -1 before the first byte."""
        self._epoch_end = 0
        """Where it ends; `LONG_MAX` for the present one."""
        self.uncovered_at = -1
        """An offset from which nothing can be sent, because no epoch covers it; or -1."""

    @property
    def started(self) -> bool:
        return self.slave_request_offset >= 0

    def receive_data(self, data: bytes) -> int | None:
        """Take handshakes and reports; return the offset of the last report, or None.

        A slave repeats its handshake every 5 s until it has the answer. Raise RemoteProtocolError
        for a state that no slave sends, a handshake behind a report, the master's own id, and an
        impossible offset.
        """
        data = self._rest + data
        at, offset = 0, None
        while len(data) - at >= SLAVE_REPORT.size:
            state = int.from_bytes(data[at : at + 4], signed=True)
            if state == TRANSFER:
                (_, offset) = SLAVE_REPORT.unpack_from(data, at)
                self._take_report(offset)
                self.handshake_due = False
                at += SLAVE_REPORT.size
            elif state == HANDSHAKE and not self.started:
                if len(data) - at < SLAVE_HANDSHAKE.size:
                    break  # Java reads on, into what has not arrived
                _, last_file, learner, slave_id = SLAVE_HANDSHAKE.unpack_from(data, at)
                if slave_id == self._master.own_id:
                    raise RemoteProtocolError(f"the slave says id {slave_id}, its master's own")
                self.slave_id = slave_id
                self.is_sync_from_last_file |= last_file == 1
                self.is_async_learner |= learner == 1
                self.handshake_due = True
                at += SLAVE_HANDSHAKE.size
            else:
                raise RemoteProtocolError(f"the slave sends state {state}: expected a report")
        self._rest = data[at:]
        return offset

    def _take_report(self, offset: int) -> None:
        first = not self.started
        self._check_report(offset, first=first)
        self.slave_ack_offset = offset
        if first:
            self.slave_request_offset = offset
            self.next_transfer_from_where = self._began_at = self._beginning()
            self._find_epoch(self.next_transfer_from_where)  # heartbeats name it, too

    def _beginning(self) -> int:
        """Return where the slave is sent from; -1 as long as an empty slave meets an empty log."""
        log, wanted = self._epoch_log, self.slave_request_offset
        if wanted:
            return wanted
        if self.is_sync_from_last_file:
            return log.max_offset - log.max_offset % log.file_size_bytes
        return log.min_offset

    def handshake(self) -> bytes:
        """Return the answer to a handshake: the end of the log, and the epochs.

        Differs: of over `MOST_ENTRIES` epochs the newest are sent.
        """
        self.handshake_due = False
        entries = self._master.epochs.entries
        last_epoch = entries[-1].epoch if entries else -1
        body = b"".join(
            EPOCH_START.pack(epoch, start_offset)
            for epoch, start_offset, _ in entries[-MOST_ENTRIES:]
        )
        end = self._epoch_log.max_offset
        return MASTER_HANDSHAKE.pack(HANDSHAKE, len(body), end, last_epoch) + body

    def heartbeat(self) -> bytes:
        """Return a transfer without a body; b"" from a broker that never had an epoch."""
        entry = self._master.epochs.get(self._epoch) or self._master.epochs.first
        return b"" if entry is None else self._header(entry, self.next_transfer_from_where, 0)

    def next_transfer(self, batch_bytes: int) -> tuple[int, bytes] | None:
        """Return the offset and bytes of the next transfer; None if there is nothing to send.

        The body has at most ``batch_bytes``, all from one file and of one epoch. Like Java's, the
        frame that ends an epoch names the one behind it, and may be empty.
        """
        if not self.started or batch_bytes <= 0:
            return None
        if self.next_transfer_from_where < 0:
            self.next_transfer_from_where = self._began_at = self._beginning()
        offset = self.next_transfer_from_where
        data = self._epoch_log.read_from(offset)
        if data is None:
            return None
        if self._epoch < 0 and not self._find_epoch(offset):
            self.uncovered_at = offset if self._master.epochs.first is not None else -1
            return None
        size_bytes = min(len(data), batch_bytes)
        entry = self._master.epochs.get(self._epoch)
        if entry is not None and self._epoch_end == LONG_MAX:
            self._epoch_end = entry.end_offset
        if offset + size_bytes > self._epoch_end:
            entry = self._master.epochs.following(self._epoch + 1)
            size_bytes = self._epoch_end - offset
            if entry is not None:
                self._enter(entry)
        if entry is None or size_bytes < 0:
            return None
        self.next_transfer_from_where = offset + size_bytes
        return offset, self._header(entry, offset, size_bytes) + data[:size_bytes]

    def _find_epoch(self, offset: int) -> bool:
        """Find the epoch of the first transfer; return whether there is one.

        Bytes at 0 that are older than all epochs count as of the first one: a log of a broker that
        had no controller before. Other old bytes are not sent; Java sends them with a size that is
        negative.
        """
        epochs = self._master.epochs
        entry = epochs.find_by_offset(offset)
        if entry is not None:
            self._enter(entry)
        return entry is not None or (not offset and epochs.first is not None)

    def _enter(self, entry: EpochEntry) -> None:
        self._epoch = entry.epoch
        is_last = entry == self._master.epochs.last
        self._epoch_end = LONG_MAX if is_last else entry.end_offset

    def _header(self, entry: EpochEntry, offset: int, size_bytes: int) -> bytes:
        header = entry.epoch, entry.start_offset, self._master.confirm_offset
        data: bytes = EPOCH_TRANSFER.pack(TRANSFER, size_bytes, offset, *header)
        return data
