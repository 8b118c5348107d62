"""The slave's end of one connection in controller mode: bytes in, bytes out.

Source: store/ha/autoswitch/AutoSwitchHAClient.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.ha.autoswitch.master import HANDSHAKE, MOST_ENTRIES, TRANSFER
from fakemq.ha.slave import READ_MAX_BUFFER_SIZE, SlaveConnection, Transfer
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.layout.autoswitch_codecs import (
    EPOCH_START,
    EPOCH_TRANSFER,
    MASTER_HANDSHAKE,
    SLAVE_HANDSHAKE,
    SLAVE_REPORT,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_STATES = {HANDSHAKE: "HANDSHAKE", TRANSFER: "TRANSFER"}


class Handshake(NamedTuple):
    """What a master says of its log: where it ends, and epoch and start of each epoch."""

    max_offset: int
    starts: list[tuple[int, int]]


class EpochHeader(NamedTuple):
    """What a transfer says besides its bytes and their offset."""

    epoch: int
    epoch_start_offset: int
    confirm_offset: int


class AutoSwitchSlaveConnection(SlaveConnection):
    """The bytes that a slave received and has not appended, its last report, and its state.

    ``begin_epoch`` is called with each transfer of another epoch than the one before, as soon as it
    has arrived completely; it raises RemoteProtocolError for an epoch that cannot be.
    """

    def __init__(
        self,
        max_offset: int,
        broker_id: int,
        begin_epoch: Callable[[Transfer, EpochHeader], None],
        *,
        is_sync_from_last_file: bool = False,
        is_async_learner: bool = False,
    ) -> None:
        super().__init__(max_offset)
        flags = is_sync_from_last_file, is_async_learner
        self._handshake: bytes = SLAVE_HANDSHAKE.pack(HANDSHAKE, *flags, broker_id)
        self.is_agreed = False
        """Whether the master has answered the handshake: from then on it sends transfers."""
        self.header: EpochHeader | None = None
        """That of the last transfer that `next_transfer` has returned."""
        self._begin_epoch = begin_epoch

    def next_handshake(self) -> Handshake | None:
        """Return the master's answer if it has arrived completely.

        Raise RemoteProtocolError for other bytes, and for more epochs than a master can send.
        """
        if self.unfinished_bytes < MASTER_HANDSHAKE.size:
            return None
        state, size_bytes, end, _ = MASTER_HANDSHAKE.unpack_from(self._received, self._at)
        self._check_state(state, HANDSHAKE)
        if (
            end < 0
            or size_bytes % EPOCH_START.size
            or not (0 <= size_bytes <= MOST_ENTRIES * EPOCH_START.size)
        ):
            raise RemoteProtocolError(
                f"{size_bytes} bytes of epochs of a log that ends at {end} are no handshake"
            )
        start = self._at + MASTER_HANDSHAKE.size
        if start + size_bytes > len(self._received):
            return None
        self._at = start + size_bytes
        return Handshake(end, [*EPOCH_START.iter_unpack(self._received[start : self._at])])

    def agreed(self, reported_offset: int) -> None:
        """Take the end of the handshake: reports count from this offset on."""
        self.is_agreed = True
        self.current_reported_offset = reported_offset

    def next_transfer(self, max_offset: int, limit: int | None = None) -> Transfer | None:
        self.is_held = False
        if not self.is_agreed or self.unfinished_bytes < MASTER_HANDSHAKE.size:
            return None
        state = int.from_bytes(self._received[self._at : self._at + 4], signed=True)
        self._check_state(state, TRANSFER)
        if self.unfinished_bytes < EPOCH_TRANSFER.size:
            return None
        fields = EPOCH_TRANSFER.unpack_from(self._received, self._at)
        _, body_bytes, phy_offset, epoch, epoch_start, _ = fields
        if max_offset and phy_offset != max_offset:
            raise RemoteProtocolError(
                f"the master sends from offset {phy_offset}; the slave's log ends at {max_offset}"
            )
        # The heartbeat of a master with an empty log is from -1.
        good = phy_offset >= (0 if body_bytes else -1) and epoch >= 0 and epoch_start >= 0
        if not good or not 0 <= body_bytes <= READ_MAX_BUFFER_SIZE - EPOCH_TRANSFER.size:
            raise RemoteProtocolError(
                f"a transfer of {body_bytes} bytes from offset {phy_offset}, of epoch {epoch} from"
                f" {epoch_start}, is none"
            )
        start = self._at + EPOCH_TRANSFER.size
        end = start + body_bytes
        if end > len(self._received):
            return None
        kept_bytes = body_bytes
        if limit is not None and body_bytes and phy_offset + body_bytes > limit:
            kept_bytes = limit - phy_offset
            if kept_bytes <= 0:
                self.is_held = True
                return None
            end = start + kept_bytes
        transfer = Transfer(phy_offset, bytes(memoryview(self._received)[start:end]))
        self._at = end
        if kept_bytes < body_bytes:
            # The rest becomes a transfer of its own: its header overwrites bytes returned now.
            self._at -= EPOCH_TRANSFER.size
            rest = TRANSFER, body_bytes - kept_bytes, limit, *fields[3:]
            EPOCH_TRANSFER.pack_into(self._received, self._at, *rest)
        header = EpochHeader(*fields[3:])
        if self.header is None or header.epoch != self.header.epoch:
            self._begin_epoch(transfer, header)
        self.header = header
        return transfer

    @staticmethod
    def _check_state(state: int, own: int) -> None:
        """Source: AutoSwitchHAClient.java#processReadResult, "State not matched" (5.5.0)"""
        if state != own:
            raise RemoteProtocolError(
                f"the master is in state {_STATES.get(state, state)}, the slave in {_STATES[own]}"
            )

    def report(self) -> bytes:
        """Return the last report again; before the handshake's end the handshake.

        The slave repeats either every 5 s. A master reads the handshake in one piece only.
        """
        if not self.is_agreed:
            return self._handshake
        data: bytes = SLAVE_REPORT.pack(TRANSFER, self.current_reported_offset)
        return data
