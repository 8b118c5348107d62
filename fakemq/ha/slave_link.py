"""A slave's connection to its master, at the slave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.errors import StoreError
from fakemq.events.replication import Replicated
from fakemq.faults.points import HOLD_SLAVE
from fakemq.ha.faults import append_limit, hit_hold
from fakemq.ha.link import PROTOCOL_WARNING, WINDOW_BYTES, EndState, HAEnd
from fakemq.ha.slave import SlaveConnection
from fakemq.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link
    from fakemq.store.replica import Replica


class SlaveSink(Protocol):
    """Takes the bytes of a master."""

    @property
    def replica(self) -> Replica:
        """The log to which the bytes are appended."""

    def connection_closed(self) -> None:
        """Take the close of the connection; called once."""


class SlaveEnd(HAEnd):
    """A slave's connection, at the slave. Source: store/ha/HAService.java#HAClient (4.9.7)

    Java's slave also closes a connection on which it has written nothing for 20 s. Its heartbeats
    make that impossible, so it is missing here. No slave notices a silent master.
    """

    def __init__(self, link: Link, node: ReplicatedNode, sink: SlaveSink) -> None:
        super().__init__(link, node)
        self._sink = sink
        self._holds = node.faults.at(HOLD_SLAVE)
        self._is_held = False
        """Whether a fault holds back transfers that have arrived."""
        self.connection = self._make_connection()
        # The first report is sent after one interval, because Java counts from the connect.
        self._beat_if_due(self.connection.report)

    def _make_connection(self) -> SlaveConnection:
        return SlaveConnection(self._node.store.log.max_offset)

    @property
    def unfinished_bytes(self) -> int:
        return self.connection.unfinished_bytes

    def report_now(self) -> None:
        """Report the end of the log now, before the next heartbeat."""
        if not self.closed:
            self._write(self.connection.report())

    def _receive(self, data: bytes) -> None:
        """Append the master's transfers to the log, and report the new end."""
        self.connection.receive_data(data)
        self._take(append_limit(self._node.faults, self.node) if self._holds else None)

    def resume(self) -> None:
        super().resume()
        if self.connection.is_held:
            self.data_received(b"")

    def resume_appends(self) -> None:
        """Append the bytes that a fault held back, as far as faults allow it now."""
        self._is_held = False
        if self._state is EndState.OPEN:
            self.link.resume_reading()
            self.data_received(b"")

    def _hold(self, limit: int) -> None:
        """Keep at most `WINDOW_BYTES` of held bytes here; the rest stays with the master."""
        if not self._is_held:
            self._is_held = True
            hit_hold(self._node.faults, self.node, limit)
        if self.unfinished_bytes > WINDOW_BYTES:
            self.link.pause_reading()

    def _take(self, limit: int | None) -> None:
        log, connection, replica = self._node.store.log, self.connection, self._sink.replica
        start = end = log.max_offset
        reports, violation = b"", ""
        try:
            while (transfer := connection.next_transfer(end, limit)) is not None:
                if transfer.body:
                    replica.append(transfer.phy_offset, transfer.body)
                    end = log.max_offset
                reports += connection.report_more(end)
        except (RemoteProtocolError, StoreError) as error:
            violation = str(error)
        if reports:
            self._node.journal.add(
                Replicated(
                    node=self._node.name,
                    phy_offset=start or log.min_offset,
                    end_offset=log.max_offset,
                )
            )
            self._write(reports)
            replica.dispatch()
        if violation:
            self.close_for_violation(violation, PROTOCOL_WARNING)
        elif limit is not None and connection.is_held:
            self._hold(limit)

    def resume_processing(self) -> None:
        """Do nothing: everything that arrived was handled."""

    def _lost(self) -> None:
        self._sink.connection_closed()
