"""Follows the replicas of a run: what they acknowledge, and what they have when roles change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.broker import Broker5
from fakemq.dispatch.node import NodeState
from fakemq.events.controller import MasterElected, SyncStateSetChanged
from fakemq.events.core import LogAppended, NodeStopped, RoleChanged
from fakemq.events.replication import (
    EpochBegun,
    InSyncSetProposed,
    InSyncSetTaken,
    ReplicationWaited,
)
from fakemq.events.store import StoreRecovered
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.epochs import EpochCache
from fakemq.ha.autoswitch.master_link import AutoSwitchMasterEnd
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.message import decode_record
from fakemq.protocol.properties import UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.sim.events import Consumed, Sent
from fakemq.sim.history import Violation
from fakemq.sim.invariants.acknowledged import SEND_OK, Promises
from fakemq.sim.invariants.equal_logs import EpochStarts, ReplicaCopy, unequal
from fakemq.sim.invariants.given import Given, beyond, unconfirmed
from fakemq.sim.invariants.holes import Holes, RecordOrigin, Shown
from fakemq.sim.invariants.moved import MovedReaders
from fakemq.sim.invariants.routes import MasterRoutes
from fakemq.sim.invariants.unwaited import UnwaitedRecords

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from fakemq.broker.broker import Broker
    from fakemq.controller.state import SyncStateInfo
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry
    from fakemq.sim.plan import Plan


class ReplicaWatch:
    """The groups of one run under controllers."""

    def __init__(self, core: ClusterCore, plan: Plan) -> None:
        self._core = core
        self._plan = plan
        self.found: list[Violation] = []
        self.holes = Holes()
        """What masters acknowledged without a replica that could be elected."""
        self.early = Holes()
        """What consumers could read of masters that were alone and proposed another replica, or
        whose slave did not count yet."""
        self.shown = Shown()
        """What consumers could read of replicas without a role."""
        self.acknowledged = Promises(self.is_excused)
        self.given = Given()
        self.unwaited = UnwaitedRecords(core.journal, self._epoch_of)
        self.moved = MovedReaders(core.journal, self._epoch_of)
        self._starts: dict[str, EpochStarts] = {}
        self._routes = MasterRoutes()
        self._readable: dict[str, tuple[int, int]] = {}
        """Node → epoch of its mastership, and up to where consumers could read its log."""
        self._fallen: set[str] = set()
        self._ends: dict[str, int] = {}
        """Node → where its log ended when it was killed; `LONG_MAX` for one that was stopped, whose
        files were closed before."""
        journal = core.journal
        journal.listen(self._sent, Sent)
        journal.listen(self._consumed, Consumed)
        journal.listen(self._appended, LogAppended)
        journal.listen(self._waited, ReplicationWaited)
        journal.listen(self._begun, EpochBegun)
        journal.listen(self._changed, InSyncSetProposed, InSyncSetTaken, RoleChanged, NodeStopped)
        journal.listen(self._recovered, StoreRecovered)
        journal.listen(self._decided, MasterElected, SyncStateSetChanged)

    # -- what the plan promises -----------------------------------------------------------------

    @property
    def promises(self) -> bool:
        """Whether SEND_OK promises that each replica that may be elected has the message."""
        replicas = self._plan.cluster.replicas
        assert replicas is not None, "a watch of replicas without controllers"
        all_of_them = self._plan.cluster.slaves + 1
        return replicas.all_ack_in_sync_state_set or replicas.in_sync_replicas == all_of_them

    def is_excused(self, origin: RecordOrigin) -> bool:
        """Return whether a record that a master stored may be lost, as in RocketMQ."""
        return not self._plan.strong and self.holes.has(origin)

    def is_read_early(self, origin: RecordOrigin) -> bool:
        """Return whether consumers may have read a master's record too early, as in RocketMQ."""
        return self.is_excused(origin) or (
            not self._plan.strong and (self.early.has(origin) or self.shown.has(origin))
        )

    # -- events ---------------------------------------------------------------------------------

    def _sent(self, entry: Entry) -> None:
        sent = entry.event
        assert isinstance(sent, Sent)
        if sent.status == SEND_OK and self.promises:
            self.acknowledged.promise(sent)

    def _consumed(self, entry: Entry) -> None:
        assert isinstance(entry.event, Consumed)
        self.given.take(entry.event)

    def _appended(self, entry: Entry) -> None:
        appended = entry.event
        assert isinstance(appended, LogAppended)
        broker = self._core.brokers[appended.node]
        origin = RecordOrigin(broker.name, broker.role.epoch, appended.phy_offset)
        self.acknowledged.stored(origin, appended)
        end = appended.phy_offset + appended.size_bytes
        self.holes.stored(appended.node, end)
        self.early.stored(appended.node, end)
        self._look_at_holes(broker)
        self.given.stored(broker.config.broker_name, origin, appended)

    def _waited(self, entry: Entry) -> None:
        waited = entry.event
        assert isinstance(waited, ReplicationWaited)
        service = self._service(waited.node)
        if service is None or not self._is_all_ack:
            return
        # A report of a slave that is only proposed frees sends, and confirms nothing, in Java.
        if self._plan.strong or service.sync_set.proposed is None:
            self.found += unconfirmed(waited, service.confirm_offset)
        self._note_readable(waited.node)

    @property
    def _is_all_ack(self) -> bool:
        replicas = self._plan.cluster.replicas
        return replicas is not None and replicas.all_ack_in_sync_state_set

    def _begun(self, entry: Entry) -> None:
        begun = entry.event
        assert isinstance(begun, EpochBegun)
        broker = self._core.brokers[begun.node]
        starts = self._starts.setdefault(broker.config.broker_name, EpochStarts())
        starts.begun(begun.epoch, begun.phy_offset)
        self._settle(begun.node)
        self.found += self.missing_at(broker, f"master of epoch {begun.epoch}")
        self._note_readable(begun.node)

    def _recovered(self, entry: Entry) -> None:
        recovered = entry.event
        assert isinstance(recovered, StoreRecovered)
        broker = self._core.brokers[recovered.node]
        store = broker.store
        assert isinstance(store, ConfirmedStore), "a store that knows no confirm offset"
        if recovered.clean:
            epochs = EpochCache(store.epoch_file).entries
            shown = store.confirm_offset, recovered.max_phy_offset
            self.shown.take(broker.config.broker_name, epochs, *shown)

    def _changed(self, entry: Entry) -> None:
        broker = self._core.brokers.get(entry.event.node)
        if broker is not None:
            self._ends[broker.name] = (
                LONG_MAX if broker.state is NodeState.STOPPED else broker.store.log.max_offset
            )
            self._note_readable(broker.name)

    def _decided(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, MasterElected | SyncStateSetChanged)
        for broker in self._group(event.broker_name):
            self._look_at_holes(broker)
            if isinstance(event, SyncStateSetChanged):
                service = self._service(broker.name)
                joined = set(event.sync_state_set) - set(event.last_set)
                if service is not None and not service.is_master and service.own_id in joined:
                    self._settle(broker.name)

    def _settle(self, node: str) -> None:
        """Take that a node was elected, or joined the set of another master."""
        self.holes.settle(node)
        self.early.settle(node)

    def _look_at_holes(self, broker: Broker) -> None:
        """See whether a master counts fewer replicas than its controllers may elect."""
        service, sync = self._service(broker.name), self._sync_of(broker.config.broker_name)
        if service is None or sync is None or not service.is_master:
            self.holes.none(broker.name)
            self.early.none(broker.name)
            return
        in_sync = sync.sync_state_set - {service.own_id}
        missing = in_sync - service.sync_set.union
        ends = [one for one in service.connections if isinstance(one, AutoSwitchMasterEnd)]
        connected = {one.slave_id for one in ends}
        end, confirmed = broker.store.log.max_offset, service.store.confirm_offset
        of, lost = (broker.name, broker.role.epoch), missing - connected
        begin = self._lacked_from(broker, lost, confirmed)
        self.holes.counts_without(*of, missing, lost, begin, end)
        # Without all-ack, or alone in its set, a master lets consumers read its whole log.
        unread = in_sync
        if self._is_all_ack and len(service.sync_set.local) > 1:
            # A member that has connected again does not count before its first report, after 5 s.
            # Source: store/ha/autoswitch/AutoSwitchHAService.java#computeConfirmOffset (5.5.0)
            reported = {one.slave_id for one in ends if one.acknowledged_offset > 0}
            unread = in_sync & (connected - reported)
            confirmed = self._lacked_from(broker, unread, confirmed)
        self.early.counts_without(*of, unread, unread, confirmed, end)

    def _lacked_from(self, broker: Broker, members: Collection[int], confirmed: int) -> int:
        """Return from where one of the members of a group lacks the log of its master.

        That is before what is ``confirmed`` if a member does not count.
        """
        group = self._group(broker.config.broker_name)
        ends = [self._end_of(one) for one in group if own_id_of(one) in members]
        return min([confirmed, *ends])

    def missing_at(self, broker: Broker, what: str) -> Iterator[Violation]:
        """Yield the acknowledged messages that a master lacks."""
        name = broker.config.broker_name
        return self.acknowledged.missing(name, broker.name, what, broker.store)

    # -- looks ----------------------------------------------------------------------------------

    def look_at_routes(self) -> None:
        """Compare the masters in the routes with those of the last look; call this each second."""
        for server in self._core.name_servers:
            self.found += self._routes.look(server.name, server.tables)

    def look(self) -> None:
        """Compare the logs of all groups."""
        if self.promises and self._is_all_ack:
            for name in self._plan.cluster.broker_names:
                self.found += unequal(list(self._copies(name)))
        for node in self._core.brokers:
            self._note_readable(node)

    def _copies(self, broker_name: str) -> Iterator[ReplicaCopy]:
        for broker in self._group(broker_name):
            service = self._service(broker.name)
            if service is not None:
                confirmed = min(service.confirm_offset, broker.store.log.max_offset)
                if not self._plan.strong:
                    for holes in (self.holes, self.early):
                        confirmed = min(confirmed, holes.first(broker.name, confirmed))
                epochs: Sequence[tuple[int, int, int]] = service.epochs.entries
                if not self._plan.strong and broker_name in self._starts:
                    epochs = [self._starts[broker_name].newest(entry) for entry in epochs]
                yield ReplicaCopy(broker.name, broker.store.log, epochs, confirmed)

    def _note_readable(self, node: str) -> None:
        """See that what consumers can read of a master does not become less within its epoch."""
        service, broker = self._service(node), self._core.brokers[node]
        self._look_at_holes(broker)
        if service is None or not service.is_master or broker.state is not NodeState.RUNNING:
            self._readable.pop(node, None)
            return
        follower = service.store.follower
        now = broker.role.epoch, 0 if follower is None else follower.dispatched_to
        self.found += self._beyond(broker, service, now[1])
        epoch, before = self._readable.get(node, (0, 0))
        self._readable[node] = now
        if epoch == now[0] and now[1] < before and node not in self._fallen:
            self._fallen.add(node)
            text = f"{node}, master of epoch {epoch}, went back from {before} to {now[1]}"
            self.found.append(Violation("what can be read stays", text, (node,)))

    def _beyond(
        self, broker: Broker, service: AutoSwitchHAService, readable: int
    ) -> Iterator[Violation]:
        """Yield what a master that the controllers know lets consumers read too early."""
        name, own_id, epoch = broker.config.broker_name, service.own_id, broker.role.epoch
        sync = self._sync_of(name)
        # A role takes the epoch of the new master before its replication ends.
        known = None if sync is None else (sync.master_broker_id, sync.master_epoch)
        if sync is None or known != (own_id, epoch):
            return
        if not self._is_all_ack or broker.name in self._fallen:
            return
        ends = {
            one.name: end
            for one in self._group(name)
            if own_id_of(one) in sync.sync_state_set - {own_id}
            and not self.is_read_early(RecordOrigin(broker.name, epoch, end := self._end_of(one)))
        }

        def msg_at(phy_offset: int) -> str:
            log = broker.store.log
            records = log.records(max(0, log.min_offset), readable)
            behind = (record for at, record in records if at + len(record) > phy_offset)
            message = decode_record(next(behind))
            return message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX) or message.topic

        for found in beyond(broker.name, readable, ends, msg_at):
            self._fallen.add(broker.name)
            yield found

    def _end_of(self, broker: Broker) -> int:
        """Return where a broker's log ends; a broker that is down has none open."""
        return broker.store.log.max_offset if broker.state.is_up else self._ends[broker.name]

    def _sync_of(self, broker_name: str) -> SyncStateInfo | None:
        """Return what the controllers say of a group."""
        controllers = self._core.controllers
        assert controllers is not None, "a watch of replicas without controllers"
        return controllers.group.state.sync_state_infos.get(broker_name)

    # -- inside -----------------------------------------------------------------------------------

    def _epoch_of(self, node: str) -> int:
        return self._core.brokers[node].role.epoch

    def _group(self, broker_name: str) -> Iterable[Broker]:
        return [
            broker
            for broker in self._core.brokers.values()
            if broker.config.broker_name == broker_name
        ]

    def _service(self, node: str) -> AutoSwitchHAService | None:
        """Return the replication of a broker that is up."""
        ha = self._core.brokers[node].ha
        return ha if isinstance(ha, AutoSwitchHAService) else None

    def is_cut_off(self, slave: Broker, master: Broker) -> bool:
        """Return whether a slave can never follow its master, because of a hole of RocketMQ.

        The master has begun its first epoch again, so that no epoch of a slave begins where one of
        its own does. The slave closes each connection.
        Source: store/ha/autoswitch/AutoSwitchHAClient.java#doTruncate (5.5.0)
        """
        starts = self._starts.get(master.config.broker_name)
        own, masters = self._service(slave.name), self._service(master.name)
        if self._plan.strong or starts is None or own is None or masters is None:
            return False
        return starts.began_again(masters.epochs.first) and (
            own.epochs.consistent_point(masters.epochs) < 0
        )

    def is_alone(self, broker_name: str) -> bool:
        """Return whether no slave of a group can ever follow its master; see `is_cut_off`."""
        master = self.master_of(broker_name)
        return master is not None and all(
            self.is_cut_off(one, master) for one in self._group(broker_name) if one is not master
        )

    def master_of(self, broker_name: str) -> Broker | None:
        """Return the running master of the highest epoch; None if there is none."""
        leading = [
            broker
            for broker in self._group(broker_name)
            if broker.state is NodeState.RUNNING
            and (service := self._service(broker.name)) is not None
            and service.is_master
        ]
        return max(leading, key=lambda one: one.role.epoch, default=None)


def own_id_of(broker: Broker) -> int | None:
    """Return the id that controllers gave a broker; None if it has none."""
    if not isinstance(broker, Broker5) or broker.replicas is None:
        return None
    return broker.replicas.own_id
