"""A slave's connection, at its master."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.clock.timers import next_tick_ms
from fakemq.events.replication import ReportBelieved, SlaveReported, Transferred
from fakemq.faults.plan import Scope
from fakemq.faults.points import BELIEVE_REPORTS, TEAR_TRANSFER, WITHHOLD_ACKS
from fakemq.ha.faults import torn_transfer, withholds
from fakemq.ha.link import PROTOCOL_WARNING, WINDOW_BYTES, EndState, HAEnd
from fakemq.ha.master import MasterConnection
from fakemq.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from fakemq.faults.plan import ActiveFault
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link

NO_DATA_WAIT_MS = 100
"""How long Java's write service sleeps after it found nothing to send; a send wakes it."""
TRANSFERS_A_TURN = 32
"""How many transfers are sent in one turn of the loop, so that other connections get theirs."""


class MasterListener(Protocol):
    """Is notified about a slave's connection."""

    def notify_transfer_some(self, offset: int) -> None:
        """Take a slave's report that it has everything before ``offset``."""

    def connection_closed(self, end: MasterEnd) -> None:
        """Forget a closed connection; called once for each."""


class MasterEnd(HAEnd):
    """A slave's connection, at its master. Source: store/ha/HAConnection.java (4.9.7)"""

    def __init__(self, link: Link, node: ReplicatedNode, listener: MasterListener) -> None:
        super().__init__(link, node)
        self._listener = listener
        self.peer_node: str = getattr(link, "remote_node", link.remote_addr)
        """The slave's name; the address of a slave outside the cluster."""
        self._silences = node.faults.at(WITHHOLD_ACKS)
        self._tears = node.faults.at(TEAR_TRANSFER)
        self._believing: ActiveFault[None] | None = None
        """The fault by which this master believes the first report; chosen with that report."""
        self.connection = self._make_connection()
        self.acknowledged_offset = -1
        """The slave's last report that counts: that no fault withholds."""
        self._looked_ms = self._now_ms()
        self._window_is_full = False
        """Whether sending waits for a report; see `WINDOW_BYTES`."""
        self._is_to_pump = False
        """Whether a call of `pump` is scheduled."""
        self._housekeep()

    def _make_connection(self) -> MasterConnection:
        return MasterConnection(self._node.store.log)

    @property
    def unfinished_bytes(self) -> int:
        return self.connection.unfinished_bytes

    def _receive(self, data: bytes) -> None:
        """Handle reports of the slave: notify the listener, and send the next transfers."""
        self._last_read_ms = self._now_ms()
        first = not self.connection.started
        if first:
            scope = Scope(node=self.node, peer=self.peer_node)
            self._believing = self._node.faults.choose(BELIEVE_REPORTS, scope)
            self.connection.believes_reports = self._believing is not None
        try:
            offset = self.connection.receive_data(data)
        except RemoteProtocolError as error:
            self.close_for_violation(str(error), PROTOCOL_WARNING)
            return
        if offset is None:
            return
        if not (self._silences and withholds(self._node.faults, self.node, self.peer_node, offset)):
            self._acknowledged(offset, first)
        if first and not self.closed:
            self._beat_if_due(self.connection.heartbeat)
        # Otherwise a report makes no room: what is appended is sent without it.
        if (first or self._window_is_full) and not self.closed:
            self.pump()

    def _acknowledged(self, offset: int, first: bool) -> None:
        node, self.acknowledged_offset = self._node, offset
        node.journal.add(
            SlaveReported(node=node.name, peer=self.remote_addr, offset=offset, first=first)
        )
        believing = self._believing
        if believing is not None and believing.placed:
            end_offset = node.store.log.max_offset
            if offset > end_offset:
                with node.journal.because(believing.hit(node.name, "a slave's first report")):
                    node.journal.add(
                        ReportBelieved(
                            node=node.name,
                            peer=self.remote_addr,
                            offset=offset,
                            end_offset=end_offset,
                        )
                    )
        self._listener.notify_transfer_some(offset)

    def redeliver_ack(self) -> None:
        """Handle the slave's last report again, in case a fault withheld it."""
        offset = self.connection.slave_ack_offset
        if offset > self.acknowledged_offset:
            self._acknowledged(offset, False)

    def break_off(self, last: bytes) -> None:
        """Write ``last`` and close the connection."""
        self._write(last)
        self.close("torn")

    def _tear(self, data: bytes) -> bool:
        """Send the beginning of a transfer and close the connection, if a fault tears it."""
        faults = self._node.faults
        torn = torn_transfer(faults, self.node, self.peer_node, len(data))
        if torn is None:
            return False
        seq, at_byte = torn
        with faults.journal.because(seq):
            self.break_off(data[:at_byte])
        return True

    def resume_processing(self) -> None:
        """Send on: the slave reads again."""
        self.pump()

    def resume(self) -> None:
        super().resume()
        self.pump()

    def appended(self) -> None:
        """Schedule a transfer at the next 100 ms tick; no sender waits for it."""
        if self.connection.started and "ha_transfer" not in self._timers:
            due_ms = next_tick_ms(
                self._now_ms() + 1, self._looked_ms, NO_DATA_WAIT_MS, NO_DATA_WAIT_MS
            )
            self._at(due_ms, self.pump, "ha_transfer")

    def pump_soon(self) -> None:
        """Call `pump` after the present batch of requests: one transfer has all its messages."""
        if not self._is_to_pump:
            self._is_to_pump = True
            self._node.outbound.soon(self.pump)

    def pump(self) -> None:
        """Send the slave the next bytes of the log, as long as it reads."""
        self._is_to_pump = False
        if self._state is not EndState.OPEN:
            return
        self._node.clock.cancel(self._timers.pop("ha_transfer", None))
        connection, batch_bytes = self.connection, self._node.config.ha_transfer_batch_size
        ahead_bytes = connection.unacknowledged_bytes
        self._window_is_full = not self.outside and ahead_bytes >= WINDOW_BYTES
        if self._window_is_full:
            return
        for _ in range(TRANSFERS_A_TURN):
            transfer = None if self.link.write_blocked else connection.next_transfer(batch_bytes)
            if transfer is None:
                # The ticks of `appended` count from this look.
                self._looked_ms = self._now_ms()
                return
            offset, data = transfer
            if self._tears and self._tear(data):
                return
            self._write(data)
            self._node.journal.add(
                Transferred(
                    node=self._node.name,
                    peer=self.remote_addr,
                    phy_offset=offset,
                    end_offset=connection.next_transfer_from_where,
                )
            )
        self.pump_soon()

    def _lost(self) -> None:
        self._listener.connection_closed(self)
