"""A slave's connection to its master in controller mode, at the slave.

Source: store/ha/autoswitch/AutoSwitchHAClient.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.config.v5.model import config5
from fakemq.errors import StoreError
from fakemq.ha.autoswitch.cutting import cut
from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.ha.autoswitch.slave import AutoSwitchSlaveConnection
from fakemq.ha.link import PROTOCOL_WARNING
from fakemq.ha.slave_link import SlaveSink
from fakemq.ha.v5.client import SlaveEnd5
from fakemq.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
    from fakemq.ha.autoswitch.slave import EpochHeader, Handshake
    from fakemq.ha.node import ReplicatedNode
    from fakemq.ha.slave import Transfer
    from fakemq.net.link import Link

DISAGREED_MS = 2_000
"""How much longer a slave waits after a handshake that led to nothing."""
MOST_EPOCHS = 10_000
"""The most epochs that a slave keeps. A master that sends more is none: each needs bytes."""


class EpochSink(SlaveSink, Protocol):
    """Takes the bytes of a master, and has the epochs of the log."""

    @property
    def broker_id(self) -> int: ...
    @property
    def epochs(self) -> EpochCache: ...
    @property
    def store(self) -> ConfirmedStore: ...


class AutoSwitchSlaveEnd(SlaveEnd5):
    """A slave's connection, at the slave."""

    connection: AutoSwitchSlaveConnection

    def __init__(self, link: Link, node: ReplicatedNode, sink: EpochSink, now_ms: int) -> None:
        self._epochs_of = sink
        self.disagreed = False
        """Whether it was closed because the logs have no common epoch."""
        self._is_to_report = False
        """Whether the slave reports as soon as the handshake is over, and not 5 s later."""
        super().__init__(link, node, sink, now_ms)

    def _make_connection(self) -> AutoSwitchSlaveConnection:
        sink, config = self._epochs_of, config5(self._node.config)
        return AutoSwitchSlaveConnection(
            sink.store.log.max_offset,
            sink.broker_id,
            self._begin_epoch,
            is_sync_from_last_file=config.sync_from_last_file,
            is_async_learner=config.async_learner,
        )

    def begin(self) -> None:
        """Send the handshake."""
        if not self.closed:
            self._write(self.connection.report())

    def report_now(self) -> None:
        if self.connection.is_agreed:
            super().report_now()
        self._is_to_report = not self.connection.is_agreed

    def _receive(self, data: bytes) -> None:
        self._last_read_ms = self._now_ms()
        self.connection.receive_data(data)
        if not self.connection.is_agreed and not self._has_agreed():
            return
        super()._receive(b"")

    def _take(self, limit: int | None) -> None:
        super()._take(limit)
        store, header = self._epochs_of.store, self.connection.header
        if header is not None:  # the last one counts, also where it is lower
            store.confirm_offset = min(header.confirm_offset, store.log.max_offset)
            store.reput()

    # -- the handshake ------------------------------------------------------------------------

    def _has_agreed(self) -> bool:
        """Take the master's answer if it is there; return whether it agrees."""
        try:
            answer = self.connection.next_handshake()
        except RemoteProtocolError as error:
            self.close_for_violation(str(error), PROTOCOL_WARNING)
            return False
        if answer is None:
            return False
        offset = self._agree(answer)
        if offset is None:
            return False
        self.connection.agreed(offset)
        report = self.connection.report_more(self._epochs_of.store.log.max_offset)
        if report:
            self._write(report)
        elif self._is_to_report:
            super().report_now()
        return True

    def _agree(self, answer: Handshake) -> int | None:
        """Cut off what the master has not; return the offset that counts as reported, or None.

        Differs: Java keeps the epochs of what it has cut, because it compares with the new end of
        the log; it then refuses the master's epochs that begin before these.
        Source: AutoSwitchHAClient.java#doTruncate (5.5.0)
        """
        store, epochs = self._epochs_of.store, self._epochs_of.epochs
        end = store.log.max_offset
        if not epochs.entries:
            return 0  # a log without epochs is never cut, however long it is
        masters, own = EpochCache.of(answer.starts), epochs.copy()
        masters.end_last(answer.max_offset)
        own.end_last(end)
        point = own.consistent_point(masters)
        if point < 0:
            self._disagree(f"no epoch of {masters!r} begins where one of {own!r} does")
            return None
        if not store.can_cut(point):
            self._disagree(f"offset {point} is within a record: the log cannot be cut there")
            return None
        try:
            cut(self._node, store, epochs, point, self.remote_addr)
        except StoreError as error:
            self._disagree(f"the log cannot be cut at offset {point}: {error}")
            return None
        return min(point, end)  # an epoch may begin behind a log whose disk was full

    def _disagree(self, why: str) -> None:
        self.disagreed = True
        self.close_for_violation(why, PROTOCOL_WARNING)

    # -- transfers ----------------------------------------------------------------------------

    def _begin_epoch(self, transfer: Transfer, header: EpochHeader) -> None:
        """Take the epoch of a transfer, before its bytes."""
        epochs, end = self._epochs_of.epochs, max(0, transfer.phy_offset) + len(transfer.body)
        if len(epochs) >= MOST_EPOCHS and header.epoch > epochs.last_epoch():
            raise RemoteProtocolError(f"the master sends over {MOST_EPOCHS} epochs")
        if header.epoch_start_offset > end:
            raise RemoteProtocolError(
                f"epoch {header.epoch} begins at {header.epoch_start_offset}, and the transfer that"
                f" begins it ends at {end}"
            )
        epochs.append(header.epoch, header.epoch_start_offset)
