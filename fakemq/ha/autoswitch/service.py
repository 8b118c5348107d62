"""Replication of one broker under a controller: it changes between master and slave.

Source: store/ha/autoswitch/AutoSwitchHAService.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.events.core import Warned
from fakemq.events.replication import (
    EpochBegun,
    InSyncSetProposed,
    InSyncSetTaken,
)
from fakemq.ha.autoswitch.confirmed_replica import ConfirmedReplica
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.cutting import cut
from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.ha.autoswitch.master import NO_ID
from fakemq.ha.autoswitch.master_link import AutoSwitchMasterEnd
from fakemq.ha.autoswitch.sync_set import CaughtUp, InSyncSet, Members
from fakemq.ha.v5.service import HAService5
from fakemq.protocol.java import LONG_MAX

if TYPE_CHECKING:
    from fakemq.clock.timers import Routine
    from fakemq.ha.client import HAClient
    from fakemq.ha.master_link import MasterEnd
    from fakemq.ha.metadata_sync import SlaveSynchronize
    from fakemq.ha.node import ReplicatedBroker
    from fakemq.ha.v5.node import Tables5
    from fakemq.net.link import Link
    from fakemq.protocol.v5.bodies.ha import HARuntimeInfo
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult


class AutoSwitchHAService(HAService5):
    """The replication of a broker, from its start to its stop, in all its roles.

    The store is a `ConfirmedStore`. A broker that has no role yet accepts slaves and is none. The
    caller says which role it has, and hands in each answer of the controller, newest last.
    """

    def __init__(self, broker: ReplicatedBroker, tables: Tables5, epochs: EpochCache) -> None:
        super().__init__(broker, tables)
        store = broker.store
        assert isinstance(store, ConfirmedStore), "a store that knows no confirm offset"
        self.store = store
        self.epochs = epochs
        self.sync_set = InSyncSet()
        self.own_id: int | None = None
        """The id that the controller gave this broker."""
        self.is_master = False
        """Whether it is a master, by the last change of its role."""
        self.on_set_should_change: Callable[[Members], None] = _nothing
        """Called with a set for which the controller is to be asked."""
        self._master_id: int | None = None
        """The id of the master that a slave follows."""
        log = store.log
        store.confirm_offset = min(max(store.confirm_offset, log.min_offset), log.max_offset)
        epochs.on_failed = self._warn
        self._follower = self._follow()
        store.on_emptied = self._emptied
        store.limit = lambda: self.confirm_offset
        store.lacks_replicas = self._lacks_replicas
        store.retention.on_deleted = self._forget_epochs

    def stop(self, why: str) -> None:
        """Close every connection. The set does not shrink by that, and nothing is confirmed.

        Source: #removeConnection
        """
        ends, self.connections = self.connections, []
        for end in ends:
            end.close(why)
        super().stop(why)
        store = self.store
        store.limit = store.lacks_replicas = store.on_emptied = None
        store.retention.on_deleted = _nothing_deleted

    def _follow(self) -> ConfirmedReplica:
        broker, store = self._broker, self.store
        follower = store.follower
        before = store.recovered_to if follower is None else follower.dispatched_to
        store.follower = ConfirmedReplica(
            *(store, broker.clock, broker.journal, broker.name, self._appended),
            confirmed_to=lambda: store.reput_end,
            dispatched_to=before,
        )
        return store.follower

    def _warn(self, error: OSError) -> None:
        text = f"the epochs of the log cannot be written: {error}"
        self._broker.journal.add(Warned(node=self._broker.name, text=text))

    def _emptied(self) -> None:
        """Begin again with an empty log, in the present epoch."""
        epoch = self.epochs.last_epoch()
        self._follower = self._follow()
        self.epochs.clear()
        if self.is_master:
            self._follower.lead()
            self.epochs.append(epoch, 0)

    # -- roles --------------------------------------------------------------------------------

    def change_to_master(self, epoch: int) -> bool:
        """Become the master of an epoch; return False for one before the last epoch of the log.

        Raise StoreError if the disk refuses to cut half a record off; a later call may succeed.

        A master that remains one only begins an epoch. Call `take_set` before.
        Source: #changeToMaster, #changeToMasterWhenLastRoleIsMaster
        """
        if epoch < self.epochs.last_epoch():
            return False
        node, journal, log = self._broker.name, self._broker.journal, self.store.log
        if not self.is_master:
            self._leave_role(f"this broker is the master of epoch {epoch}")
            self._master_id = None
            cut(self._broker, self.store, self.epochs, self.store.whole_end())
            self.is_master = True
            self._set_confirm_offset()
            self._follower.lead()
        self.epochs.truncate_suffix_by_epoch(epoch)
        self.epochs.append(epoch, log.max_offset)
        journal.add(EpochBegun(node=node, epoch=epoch, phy_offset=log.max_offset))
        self.store.reput()
        return True

    def change_to_slave(self, epoch: int, master_id: int, own_id: int) -> bool:
        """Become a slave; return False for an epoch before the last one of the log.

        It connects when a name server says the master's HA address: `master_is`. A slave of the
        same master remains connected. Source: #changeToSlave, #changeToSlaveWhenMasterNotChange
        """
        if epoch < self.epochs.last_epoch():
            return False
        self.own_id = own_id
        if self._master_id != master_id:
            self._leave_role(f"broker {master_id} is the master of epoch {epoch}")
            self.is_master, self._master_id = False, master_id
            self.start_slave()
            self._follower.follow()  # after the client, whose own replica takes the log's end
        return True

    def _leave_role(self, why: str) -> None:
        """Disconnect from slaves and master, and answer sends that wait.

        The slaves stay in the set, which is another master's now.
        """
        self.store.finish_work()
        ends, self.connections = self.connections, []
        for end in ends:
            end.close(why)
        self._has_outside = False
        if self.is_master:  # another master may cut off what these sends have stored
            self._group_transfer.stop(notify=True)
        if self.client is not None:
            self.client.stop(why)
        if self.synchronize is not None:
            self.synchronize.stop()
        self.client = self.synchronize = None

    def _make_slave(self) -> tuple[HAClient, SlaveSynchronize]:
        from fakemq.ha.autoswitch.client import AutoSwitchHAClient
        from fakemq.ha.autoswitch.metadata_sync import SwitchedSlaveSynchronize

        broker, own_id = self._broker, self.own_id
        assert own_id is not None, "a slave without an id"
        client = AutoSwitchHAClient(broker, self.store, self._follower, self.epochs, own_id)
        return client, SwitchedSlaveSynchronize(broker, self._tables)

    def _forget_epochs(self) -> None:
        """Forget the epochs whose records were all deleted.

        Source: store/DefaultMessageStore.java#CleanCommitLogService.deleteExpiredFiles (5.5.0)
        """
        self.epochs.truncate_prefix_by_offset(self.store.log.min_offset - 1)

    # -- the in-sync set ------------------------------------------------------------------------

    def take_set(self, members: Members, set_epoch: int) -> None:
        """Take the controller's set: its answer, or what it says when it is asked.

        Source: #setSyncStateSet
        """
        self.sync_set.take(members, set_epoch)
        self.sync_set.forget_all_but(self._connected())
        event = InSyncSetTaken(
            node=self._broker.name, members=tuple(sorted(members)), set_epoch=set_epoch
        )
        self._broker.journal.add(event)
        self._set_confirm_offset()
        self._confirmed()

    def expect(self, members: Members) -> None:
        """Let members of the next set be in step now, though none has connected yet."""
        now = CaughtUp(False, self._broker.clock.elapsed_ms())
        self.sync_set.caught_up |= dict.fromkeys(members, now)

    def propose(self, members: Members) -> None:
        """Let the members of another set count, too, until the controller's next answer.

        Source: #markSynchronizingSyncStateSet
        """
        self.sync_set.propose(members)

    def check_set(self) -> None:
        """Ask for a set without the slaves that are behind; call this every 5 s.

        Source: #maybeShrinkSyncStateSet,
        broker/controller/ReplicasManager.java#checkSyncStateSetAndDoReport (5.5.0)
        """
        if not self.is_master:
            return
        for end in self._ends():
            if end.has_all:
                self.slave_has_all(end)
        config, clock, sync_set = self._config, self._broker.clock, self.sync_set
        most_ms = config.ha_max_time_slave_not_catchup
        late = frozenset(
            member
            for member in sync_set.local
            if (last := sync_set.caught_up.get(member)) is not None
            and clock.elapsed_ms(outside=last.outside) - last.elapsed_ms > most_ms
        )
        members = sync_set.shrink(late, self.own_id)
        if self.own_id is not None:
            members |= {self.own_id}
        if members != sync_set.accepted:
            self._ask_for(members)

    def check_routine(self) -> Routine | None:
        """Return how to skip the next check of the set; None while there is more to ask for."""
        return self.sync_set.skip if self.sync_set.is_settled else None

    def _ask_for(self, members: Members) -> None:
        event = InSyncSetProposed(node=self._broker.name, members=tuple(sorted(members)))
        self._broker.journal.add(event)
        self.on_set_should_change(members)

    # -- confirm offset -------------------------------------------------------------------------

    @property
    def confirm_offset(self) -> int:
        """Up to where all members of the set have the log, as far as this broker knows.

        Source: store/CommitLog.java#getConfirmOffset (5.5.0)
        """
        alone = len(self.sync_set.local) == 1 or not self._config.all_ack_in_sync_state_set
        if self.is_master and alone:
            return self.store.log.max_offset
        return self.store.confirm_offset

    def _set_confirm_offset(self) -> None:
        """Store the lowest report of the members; nothing changes if one is not connected.

        Source: #computeConfirmOffset
        """
        union, own_id = self.sync_set.union, self.own_id
        acked = [end for end in self._ends() if end.slave_id in union]
        connected = {end.slave_id for end in acked}
        end_offset = self.store.log.max_offset
        if own_id is not None and union - connected - {own_id}:
            if len(self.sync_set.local) == 1 and self.is_master:
                self.store.confirm_offset = end_offset
            return
        # A member that has not reported yet does not count.
        offsets = [end.acknowledged_offset for end in acked if end.acknowledged_offset > 0]
        self.store.confirm_offset = min(offsets, default=end_offset)

    def _confirmed(self) -> None:
        """Bring what is confirmed now to its queues, and answer sends that wait for it."""
        self.store.reput()
        self._count()

    # -- the slaves of a master -----------------------------------------------------------------

    def _ends(self) -> list[AutoSwitchMasterEnd]:
        return [end for end in self.connections if isinstance(end, AutoSwitchMasterEnd)]

    def _connected(self) -> Members:
        return frozenset(end.slave_id for end in self._ends())

    def _make_end(self, link: Link) -> MasterEnd:
        return AutoSwitchMasterEnd(link, self._broker, self)

    def connection_closed(self, end: MasterEnd) -> None:
        """Forget a closed connection; its slave leaves the set at once.

        The controller is asked afterwards, so it may elect a slave that lacks what is stored now.
        Source: #removeConnection; apache/rocketmq#7017
        """
        if end not in self.connections:
            return  # this broker leaves its role
        super().connection_closed(end)
        lost = end.slave_id if isinstance(end, AutoSwitchMasterEnd) else NO_ID
        # A slave that connects anew may have two connections for a while.
        is_lost = self.is_master and lost not in (NO_ID, self.own_id, *self._connected())
        members = self.sync_set.lose(lost) if is_lost else None
        if members is not None:
            self._ask_for(members)
        self.sync_set.forget_all_but(self._connected())
        self._confirmed()

    def slave_has_all(self, end: AutoSwitchMasterEnd) -> None:
        if end.slave_id >= 0:
            self.sync_set.caught_up[end.slave_id] = end.now()

    def slave_reported(self, end: AutoSwitchMasterEnd, caught_up: CaughtUp | None) -> None:
        """Take a report: the slave joins the set if it has all that is confirmed.

        Source: AutoSwitchHAConnection.java#maybeExpandInSyncStateSet,
        #updateConfirmOffsetWhenSlaveAck
        """
        slave_id, offset, sync_set = end.slave_id, end.acknowledged_offset, self.sync_set
        if caught_up is not None and slave_id >= 0 and not end.connection.is_async_learner:
            sync_set.caught_up[slave_id] = caught_up
            last = self.epochs.last
            if (
                self.is_master
                and last is not None
                and slave_id not in sync_set.local
                and offset >= max(self.confirm_offset, last.start_offset)
            ):
                members = sync_set.local | {slave_id}
                self.propose(members)
                self._ask_for(members)
        if slave_id in sync_set.local:
            self._set_confirm_offset()
            self.store.reput()

    # -- sends ----------------------------------------------------------------------------------

    def _lacks_replicas(self, message: InnerMessage) -> bool:
        return (
            message.wait_store_msg_ok
            and self.store.role.is_sync_master
            and self.sync_set.size < self._config.min_in_sync_replicas
        )

    def _replicate(self, next_offset: int, result: PutMessageResult) -> None:
        if self._config.all_ack_in_sync_state_set:
            if len(self.sync_set.union) > 1:
                result.replicate_to = next_offset
        else:
            super()._replicate(next_offset, result)

    def _count(self) -> None:
        """Find out up to which offset enough slaves have the log.

        Connections are counted: of a member with two, both. The set of this moment counts, not
        that of the send: a send that waits is freed when the master is alone.
        Source: store/ha/GroupTransferService.java#doWaitTransfer (5.5.0)
        """
        if not self._config.all_ack_in_sync_state_set:
            super()._count()
            return
        union = self.sync_set.union
        slaves = [end.acknowledged_offset for end in self._ends() if end.slave_id in union]
        offsets = [LONG_MAX, *sorted(slaves, reverse=True)]  # the master has all
        others = max(0, len(union) - 1)
        acked = offsets[others] if others < len(offsets) else 0
        self._group_transfer.notify_transfer_some(acked)

    # -- state ----------------------------------------------------------------------------------

    def runtime_info(self) -> HARuntimeInfo:
        """Return the state of replication, as code 907 answers it.

        Source: #getRuntimeInfo
        """
        info = super().runtime_info()
        if info.master:
            for slave, end in zip(info.ha_connection_info, self._ends(), strict=True):
                slave.in_sync = end.slave_id in self.sync_set.local
            info.in_sync_slave_nums = len(self.sync_set.local) - 1
        return info


def make_service(broker: ReplicatedBroker, tables: Tables5) -> AutoSwitchHAService:
    """Return the replication of a broker, with the epochs of its store.

    Raise StoreError for an epoch file on which Java does not start.
    """
    store = broker.store
    assert isinstance(store, ConfirmedStore), "a store that knows no confirm offset"
    return AutoSwitchHAService(broker, tables, EpochCache(store.epoch_file))


def _nothing(_: Members) -> None:
    """Default of `on_set_should_change`."""


def _nothing_deleted() -> None:
    pass
