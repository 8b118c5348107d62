"""Replication of one broker: connections of its slaves, waiting sends, its own master.

Source: store/ha/HAService.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.dispatch.node import NodeState
from fakemq.events.replication import ReplicationWaited
from fakemq.ha.master_link import MasterEnd
from fakemq.ha.waits import GroupTransferService
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.ha.client import HAClient
    from fakemq.ha.metadata_sync import SlaveSynchronize
    from fakemq.ha.node import ReplicatedBroker
    from fakemq.net.link import Link
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult


class HAService:
    """The replication of a broker, from its start to its stop.

    Every broker accepts slaves; a slave also connects to its master.
    """

    def __init__(self, broker: ReplicatedBroker) -> None:
        self._broker = broker
        self.connections: list[MasterEnd] = []
        self._has_outside = False
        """Whether a slave lives outside the cluster."""
        self.push2_slave_max_offset = 0
        """The highest offset that any slave has reported since the start; it never decreases."""
        self.client: HAClient | None = None
        self.synchronize: SlaveSynchronize | None = None
        self._group_transfer = GroupTransferService(broker.clock)
        broker.store.put_listeners.append(self)

    @property
    def log(self) -> CommitLog:
        return self._broker.store.log

    # -- life ---------------------------------------------------------------------------------

    def start_slave(self) -> None:
        """Follow a master: copy its log by the HA port, and its tables by its other ports."""
        self.client, self.synchronize = self._make_slave()
        self.client.start()
        self.synchronize.start()

    def _make_slave(self) -> tuple[HAClient, SlaveSynchronize]:
        """Return what copies the log, and what copies the tables."""
        from fakemq.ha.client import HAClient  # a master needs neither
        from fakemq.ha.metadata_sync import SlaveSynchronize

        return HAClient(self._broker, self._appended), SlaveSynchronize(self._broker)

    def stop(self, why: str) -> None:
        """Close every connection; notify senders that wait, if the broker itself stays up."""
        self._broker.store.put_listeners.remove(self)
        self._group_transfer.stop(notify=self._broker.state.is_up)
        for end in list(self.connections):
            end.close(why)
        if self.client is not None:
            self.client.stop(why)
        if self.synchronize is not None:
            self.synchronize.stop()

    def send_rest(self) -> None:
        """Send the slaves what is stored; call this before the stop of a broker that is not killed.

        Source: store/DefaultMessageStore.java#shutdown, which waits 1 s before it stops replication
        (4.9.7), or 3 s (5.5.0)
        """
        for end in list(self.connections):
            end.pump()

    def pause(self) -> None:
        for end in self.connections:
            end.pause()
        if self.client is not None:
            self.client.pause()

    def resume(self) -> None:
        for end in list(self.connections):
            end.resume()
        if self.client is not None:
            self.client.resume()

    def _appended(self) -> None:
        """Send new bytes of this slave's log to its own slaves."""
        for end in self.connections:
            end.appended()

    # -- the slave's side ---------------------------------------------------------------------

    def master_is(self, addr: str | None, ha_addr: str | None) -> None:
        """Take the master's addresses from a name server; None for one that it does not know.

        Source: broker/BrokerController.java#doRegisterBrokerAll (4.9.7)
        """
        if self.client is not None and ha_addr is not None:
            self.client.update_master_address(ha_addr)
        if self.synchronize is not None:
            self.synchronize.set_master_addr(addr)

    def follow(self, ha_addr: str | None) -> None:
        """Connect to another HA address at once; None: to none, the master is away.

        Source: broker/BrokerController.java#onMasterOnline, #onMasterOffline (5.5.0)
        """
        if self.client is not None:
            self.client.update_master_address(ha_addr)
            self.client.wake()
        if ha_addr is None and self.synchronize is not None:
            self.synchronize.set_master_addr(None)

    def sync_now(self) -> None:
        """Catch up with the master now; a slave does so by itself after some seconds."""
        if self.client is not None:
            self.client.sync_now()
        if self.synchronize is not None:
            self.synchronize.sync_all()

    # -- the master's side --------------------------------------------------------------------

    def accept(self, link: Link) -> MasterEnd:
        """Take a slave's connection; the slave counts from now on, also before its first report."""
        end = self._make_end(link)
        self.connections.append(end)
        self._has_outside |= end.outside
        if self._broker.state is NodeState.PAUSED:
            end.pause()
        return end

    def _make_end(self, link: Link) -> MasterEnd:
        return MasterEnd(link, self._broker, self)

    def connection_closed(self, end: MasterEnd) -> None:
        if end in self.connections:
            self.connections.remove(end)
            self._has_outside = any(other.outside for other in self.connections)

    def stored(self, message: InnerMessage, result: PutMessageResult) -> None:
        """Handle a stored message: set in ``result`` for which offset its sender waits.

        If it waits, slaves are sent the message at the end of the present batch; otherwise when
        Java looks at the log.
        Source: store/CommitLog.java#submitReplicaRequest (4.9.7)
        """
        appended = result.append_result
        if (
            appended is not None
            and message.wait_store_msg_ok
            and self._broker.store.role.is_sync_master
        ):
            self._replicate(appended.wrote_offset + appended.wrote_bytes, result)
        for end in self.connections:
            if result.replicate_to is None:
                end.appended()
            else:
                end.pump_soon()

    def _replicate(self, next_offset: int, result: PutMessageResult) -> None:
        """Let the sender wait for a slave that has all before ``next_offset``, or refuse to."""
        if self.is_slave_ok(next_offset):
            result.replicate_to = next_offset
        else:
            result.status = PutMessageStatus.SLAVE_NOT_AVAILABLE

    def is_slave_ok(self, master_put_where: int) -> bool:
        """Return whether a slave is connected that is not too far behind."""
        behind = master_put_where - self.push2_slave_max_offset
        return bool(self.connections) and behind < self._broker.config.ha_slave_fallbehind_max

    def when_transferred(self, next_offset: int, done: Callable[[bool], None]) -> None:
        """Call ``done``: True when a slave has all before ``next_offset``, False on time-out."""
        broker = self._broker

        def answered(transferred: bool) -> None:
            broker.journal.add(
                ReplicationWaited(node=broker.name, offset=next_offset, transferred=transferred)
            )
            done(transferred)

        self._group_transfer.put_request(
            next_offset,
            broker.config.slave_timeout,
            answered,
            outside=self._has_outside,
        )

    def notify_transfer_some(self, offset: int) -> None:
        """Take a slave's report that it has everything before ``offset``."""
        if offset > self.push2_slave_max_offset:
            self.push2_slave_max_offset = offset
            self._group_transfer.notify_transfer_some(offset)

    def __repr__(self) -> str:
        return f"<replication of {self._broker.name}, {len(self.connections)} slaves>"
