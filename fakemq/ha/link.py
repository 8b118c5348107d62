"""What speaks the replication protocol over a link, in memory or over TCP: the same at both.

A connection's timers are liveness: they go by the clock that its peer lives by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.clock.timers import next_tick_ms
from fakemq.errors import StoreError
from fakemq.events.core import LinkClosed, LinkOpened
from fakemq.events.replication import Replicated, ReportBelieved, SlaveReported, Transferred
from fakemq.faults.plan import Scope
from fakemq.faults.points import BELIEVE_REPORTS, HOLD_SLAVE, TEAR_TRANSFER, WITHHOLD_ACKS
from fakemq.ha import faults as replication
from fakemq.ha.master import MasterConnection
from fakemq.ha.slave import SlaveConnection
from fakemq.journal.journal import shortened
from fakemq.net.link import CLOSED_BY_PEER
from fakemq.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from fakemq.clock.timers import Timer
    from fakemq.faults.plan import ActiveFault
    from fakemq.ha.client import HAClient
    from fakemq.ha.service import HAService
    from fakemq.net.link import Link

NO_DATA_WAIT_MS = 100
"""How long a master's write service sleeps that found nothing, unless somebody waits."""
TRANSFERS_A_TURN = 32
WINDOW_BYTES = 4 << 20
"""How much is on its way in memory, where nothing else holds back a master whose slave is paused.

It is what two sockets would keep, and no acknowledgement is needed for it over TCP.
"""
OFFENCE = "HA"
"""The kind of offence of a peer that does not keep to the protocol."""


class HAEnd:
    """Either end of a connection: its link, its timers and its end."""

    language = "ha"

    def __init__(self, link: Link, service: HAService) -> None:
        self.link = link
        self.remote_addr = link.remote_addr
        self.outside = link.outside
        self.closed = False
        self._service = service
        self._broker = service.broker
        self.faults = service.broker.faults
        self._timers: dict[str, Timer] = {}
        self._paused = False
        self._last_write_ms = self._now_ms()
        self._broker.journal.add(
            LinkOpened(node=self._broker.name, peer=self.remote_addr, outside=self.outside)
        )

    @property
    def node(self) -> str:
        return self._broker.name

    def data_received(self, data: bytes) -> None:
        """Bytes of the peer; what they bring is done in one moment of the cluster's time."""
        if self.closed:
            return
        clock = self._broker.clock
        clock.hold_moment()
        try:
            self._receive(data)
        finally:
            clock.release_moment()

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """The link is gone: nothing is due any more."""
        if self.closed:
            return
        self.closed = True
        for timer in self._timers.values():
            self._broker.clock.cancel(timer)
        self._timers.clear()
        self._broker.journal.add(LinkClosed(node=self._broker.name, peer=self.remote_addr, why=why))
        self._lost()

    def close(self, why: str) -> None:
        """Close the connection from this end."""
        if not self.closed:
            self.connection_lost(why)
            self.link.close()

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the connection for what the peer does, and warn of it."""
        if not self.closed:
            why, broker = shortened(why), self._broker
            text = f"closed the HA connection of {self.remote_addr}: {why}"
            broker.journal.peer_warnings.warn(broker.name, kind, text)
            self.close(why)

    def pause(self) -> None:
        self._paused = True
        self.link.pause_reading()

    def resume(self) -> None:
        self._paused = False
        self.link.resume_reading()

    def _receive(self, data: bytes) -> None:
        """Do what bytes of the peer ask for."""
        raise NotImplementedError

    def _lost(self) -> None:
        """Whoever has this end is to forget it."""
        raise NotImplementedError

    def _now_ms(self) -> int:
        return self._broker.clock.elapsed_ms(outside=self.outside)

    def _write(self, data: bytes) -> None:
        self._last_write_ms = self._now_ms()
        self.link.write(data)

    def _at(self, due_ms: int, callback: Callable[[], None], kind: str) -> None:
        """Have the one timer of a kind fire then."""

        def fire() -> None:
            self._timers.pop(kind, None)
            callback()

        clock = self._broker.clock
        clock.cancel(self._timers.get(kind))
        self._timers[kind] = clock.call_later(
            due_ms - self._now_ms(), fire, kind=kind, outside=self.outside
        )

    def _beat_if_due(self, beat: Callable[[], bytes]) -> None:
        """Say something if nothing was said for longer than the interval; look again when it is."""
        interval_ms = self._broker.config.ha_send_heartbeat_interval
        if self._now_ms() - self._last_write_ms > interval_ms:
            self._write(beat())
        due_ms = self._last_write_ms + interval_ms + 1
        self._at(due_ms, lambda: self._beat_if_due(beat), "ha_heartbeat")


class MasterEnd(HAEnd):
    """A slave's connection, at its master. Source: store/ha/HAConnection.java (4.9.7)"""

    def __init__(self, link: Link, service: HAService) -> None:
        super().__init__(link, service)
        self.peer_node: str = getattr(link, "remote_node", link.remote_addr)
        """The slave's name, or where it is if it lives elsewhere."""
        self._silences = self.faults.at(WITHHOLD_ACKS)
        self._tears = self.faults.at(TEAR_TRANSFER)
        self._believing: ActiveFault[None] | None = None
        self.connection = MasterConnection(service.log)
        self._last_read_ms = self._looked_ms = self._now_ms()
        self._window_is_full = False
        self._is_to_pump = False
        self._housekeep()

    @property
    def unfinished_bytes(self) -> int:
        return self.connection.unfinished_bytes

    def _receive(self, data: bytes) -> None:
        """Reports of the slave: whoever waits for them hears of it, and it is sent what is next."""
        self._last_read_ms = self._now_ms()
        first = not self.connection.started
        if first:
            scope = Scope(node=self.node, peer=self.peer_node)
            self._believing = self.faults.choose(BELIEVE_REPORTS, scope)
            self.connection.believes_reports = self._believing is not None
        try:
            offset = self.connection.receive_data(data)
        except RemoteProtocolError as error:
            self.close_for_violation(str(error), OFFENCE)
            return
        if offset is None:
            return
        if not (self._silences and replication.withholds(self, offset)):
            self._heard(offset, first)
        if first and not self.closed:
            self._beat_if_due(self.connection.heartbeat)
        if (first or self._window_is_full) and not self.closed:
            self.pump()

    def _heard(self, offset: int, first: bool) -> None:
        broker = self._broker
        broker.journal.add(
            SlaveReported(node=broker.name, peer=self.remote_addr, offset=offset, first=first)
        )
        end_offset = self._service.log.max_offset
        if offset > end_offset and self._believing is not None and self._believing.placed:
            with broker.journal.because(self._believing.hit(broker.name, "a slave's first report")):
                broker.journal.add(
                    ReportBelieved(
                        node=broker.name,
                        peer=self.remote_addr,
                        offset=offset,
                        end_offset=end_offset,
                    )
                )
        self._service.notify_transfer_some(offset)

    def hear_again(self) -> None:
        """What the slave reported last, in case it was not heard."""
        offset = self.connection.slave_ack_offset
        if offset > self._service.push2_slave_max_offset:
            self._heard(offset, False)

    def break_off(self, last: bytes) -> None:
        """Write something for the last time, and close the connection."""
        self._write(last)
        self.close("torn")

    def resume_processing(self) -> None:
        """The slave reads again."""
        self.pump()

    def resume(self) -> None:
        super().resume()
        self.pump()

    def appended(self) -> None:
        """The log has grown and nobody waits: it is looked at when Java would look."""
        if self.connection.started and "ha_transfer" not in self._timers:
            due_ms = next_tick_ms(
                self._now_ms() + 1, self._looked_ms, NO_DATA_WAIT_MS, NO_DATA_WAIT_MS
            )
            self._at(due_ms, self.pump, "ha_transfer")

    def pump_soon(self) -> None:
        """`pump` once all that has come together is in the log: one transfer for many messages."""
        if not self._is_to_pump:
            self._is_to_pump = True
            self._broker.outbound.soon(self.pump)

    def pump(self) -> None:
        """Send what the slave has not been sent yet, as long as it reads."""
        self._is_to_pump = False
        if self.closed or self._paused:
            return
        self._broker.clock.cancel(self._timers.pop("ha_transfer", None))
        connection, batch_bytes = self.connection, self._broker.config.ha_transfer_batch_size
        ahead_bytes = connection.unacknowledged_bytes
        self._window_is_full = not self.outside and ahead_bytes >= WINDOW_BYTES
        if self._window_is_full:
            return
        for _ in range(TRANSFERS_A_TURN):
            transfer = None if self.link.write_blocked else connection.next_transfer(batch_bytes)
            if transfer is None:
                self._looked_ms = self._now_ms()
                return
            offset, data = transfer
            if self._tears and replication.torn(self, data):
                return
            self._write(data)
            self._broker.journal.add(
                Transferred(
                    node=self._broker.name,
                    peer=self.remote_addr,
                    phy_offset=offset,
                    end_offset=connection.next_transfer_from_where,
                )
            )
        self.pump_soon()

    def _housekeep(self) -> None:
        interval_ms = self._broker.config.ha_housekeeping_interval
        silent_ms = self._now_ms() - self._last_read_ms
        if silent_ms > interval_ms:
            self.close(f"ha housekeeping, found this connection expired, {silent_ms}")
        else:
            due_ms = self._last_read_ms + interval_ms + 1
            self._at(due_ms, self._housekeep, "ha_housekeeping")

    def _lost(self) -> None:
        self._service.connection_closed(self)


class SlaveEnd(HAEnd):
    """A slave's connection, at the slave. Source: store/ha/HAService.java#HAClient (4.9.7)

    Java's slave would close it, too, after 20 s in which it wrote nothing itself, which its own
    heartbeats rule out; a master that is silent is not noticed.
    """

    def __init__(self, link: Link, service: HAService, client: HAClient) -> None:
        super().__init__(link, service)
        self._client = client
        self._holds = self.faults.at(HOLD_SLAVE)
        self._is_held = False
        self.connection = SlaveConnection(service.log.max_offset)
        # So the first report comes late: Java counts from the connect.
        self._beat_if_due(self.connection.report)

    @property
    def unfinished_bytes(self) -> int:
        return self.connection.unfinished_bytes

    def report_now(self) -> None:
        """Say where the log ends without waiting for the heartbeat."""
        if not self.closed:
            self._write(self.connection.report())

    def _receive(self, data: bytes) -> None:
        """Transfers of the master: into the log with them, and tell it so."""
        self.connection.receive_data(data)
        self._take(replication.limit_of(self) if self._holds else None)

    def resume(self) -> None:
        super().resume()
        if self.connection.is_held:
            self.data_received(b"")

    def go_on(self) -> None:
        """Take what was kept back, as far as that may be now."""
        self._is_held = False
        if not (self.closed or self._paused):
            self.link.resume_reading()
            self.data_received(b"")

    def _hold(self, limit: int) -> None:
        """Have no more than a window's bytes wait here: the rest is for the master to keep."""
        if not self._is_held:
            self._is_held = True
            replication.held(self, limit)
        if self.unfinished_bytes > WINDOW_BYTES:
            self.link.pause_reading()

    def _take(self, limit: int | None) -> None:
        log, connection, replica = self._service.log, self.connection, self._client.replica
        start, reports, offence = log.max_offset, b"", ""
        try:
            while (transfer := connection.next_transfer(log.max_offset, limit)) is not None:
                if transfer.body:
                    replica.append(transfer.phy_offset, transfer.body)
                reports += connection.report_more(log.max_offset)
        except (RemoteProtocolError, StoreError) as error:
            offence = str(error)
        if reports:
            self._broker.journal.add(
                Replicated(
                    node=self._broker.name,
                    phy_offset=start or log.min_offset,
                    end_offset=log.max_offset,
                )
            )
            self._write(reports)
            replica.dispatch()
        if offence:
            self.close_for_violation(offence, OFFENCE)
        elif limit is not None and connection.is_held:
            self._hold(limit)

    def resume_processing(self) -> None:
        """Nothing was left."""

    def _lost(self) -> None:
        self._client.connection_closed()
