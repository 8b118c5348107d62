"""The lowest broker of a group that lives, as one of its slaves knows it, and what follows.

A group is the brokers of one name. With ``enableSlaveActingMaster`` the slave with the lowest id
acts as master while the group has none: it delivers what is delayed, checks transactions and
revives popped messages. It takes no messages.

Source: broker/BrokerController.java#updateMinBroker, #onMinBrokerChange, #syncBrokerMemberGroup,
#startService (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.role import MASTER_ID
from fakemq.broker.v5.acting.pre_online import PreOnline
from fakemq.broker.v5.acting.requests import GroupRequests
from fakemq.broker.v5.timetable import Timetable
from fakemq.events.core import BrokerOnline, MinBrokerChanged, failure
from fakemq.later import drive
from fakemq.protocol.hosts import vip_addr_beside

if TYPE_CHECKING:
    from fakemq.broker.v5.acting.node import ActingBroker
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Later, Waits

FIRST_TICK_MS = 1_000

HEARTBEAT = "broker_heartbeat"
MEMBERS = "member_group"


class ActingMasterService:
    """One broker of a group whose slaves may act as masters."""

    def __init__(self, node: NodeContext[BrokerConfig5], broker: ActingBroker) -> None:
        self._node = node
        self._config = node.config
        self._broker = broker
        self._requests = GroupRequests(node, broker)
        self._timetable = Timetable(node.clock, lambda: self._requests.outside)
        self._pre_online = PreOnline(node, broker, self._requests, self._timetable, self.go_online)
        self.min_broker_id = MASTER_ID
        self.min_broker_addr: str | None = None
        self.members: dict[int, str] = {}
        """The addresses of the group by id, as a name server said last."""
        self.alive_replicas = 1
        """How many brokers of the group live, this one included."""
        self._looking: Later[object] | None = None
        """The work of `look`; None before the first one of this life."""
        self._looks_again = False

    @property
    def is_master(self) -> bool:
        return self._config.broker_id == MASTER_ID

    @property
    def isolated(self) -> bool:
        """Whether it waits until the rest of its group knows it, and is in no route until then."""
        return self._broker.registration.isolated

    # -- life ---------------------------------------------------------------------------------

    def hold_back(self) -> None:
        """Be isolated if the config has totalReplicas, and without duties as long as that lasts.

        Call this before the broker starts. A controller isolates its brokers itself.
        """
        self.min_broker_id, self.min_broker_addr, self.members = MASTER_ID, None, {}
        self.alive_replicas = self._config.total_replicas
        if not self._config.has_controller:
            self._broker.registration.isolated = self._config.total_replicas > 1
            self._broker.role.be_lowest(self.is_master and not self.isolated)

    def start(self) -> None:
        """Begin: the broker runs. Source: BrokerController.java#start"""
        every = self._timetable.every
        config = self._config
        every(HEARTBEAT, FIRST_TICK_MS, lambda: config.broker_heartbeat_interval, self._beat)
        every(MEMBERS, FIRST_TICK_MS, lambda: config.sync_broker_member_group_period, self.look)
        if config.has_controller or not self.isolated:
            return
        if config.skip_pre_online:
            self.go_online(config.broker_id if self.is_master else MASTER_ID, None)
        else:
            self._carry_out(self._pre_online.prepare())

    def stop(self) -> None:
        """End: nothing more is asked or taken."""
        self._pre_online.stop()
        self._requests.stop()
        self._timetable.cancel_all()
        self._looking = None

    def reset(self, *, running: bool) -> None:
        """Be as after a start of the whole group: a master has the duties, and none is isolated."""
        self.stop()
        self.hold_back()
        if not self._config.has_controller:
            self._broker.registration.isolated = False
            self._broker.role.be_lowest(self.is_master)
        if running:
            self.start()

    def go_online(self, min_broker_id: int, min_broker_addr: str | None) -> None:
        """Begin to register, and the duties if this is the lowest of its group.

        Source: BrokerController.java#startService
        """
        node = self._node
        self.min_broker_id, self.min_broker_addr = min_broker_id, min_broker_addr
        event = BrokerOnline(node=node.name, min_broker_id=min_broker_id)
        with node.journal.because(node.journal.add(event)):
            self._broker.role.be_lowest(self._config.broker_id == min_broker_id)
            self._broker.registration.isolated = False
            self._broker.register_all()

    # -- which is the lowest -------------------------------------------------------------------

    def _beat(self) -> None:
        if not self.isolated:
            self._requests.beat()

    def look(self) -> Later[object]:
        """Ask which brokers the group has, and follow the answer; return what is done at its end.

        If that is under way, it is done once more afterwards, however often this is called.

        Differs: a notification (905) asks for this. Java believes it, from any peer.
        """
        self._looks_again = True
        if self._looking is None or self._looking.done:
            self._looking = self._carry_out(self._sync_members())
        return self._looking

    def _sync_members(self) -> Waits[None]:
        while self._looks_again:
            self._looks_again = False
            found = yield from self._requests.members()
            if not found:
                continue
            self.members = found
            self.alive_replicas = len(found | {self._config.broker_id: self._broker.addr})
            if not (self.isolated or self.is_master):
                lowest = min(found)
                yield from self._update_min_broker(lowest, found[lowest])

    def _update_min_broker(self, min_broker_id: int, min_broker_addr: str) -> Waits[None]:
        """Take the lowest id of the group. Source: BrokerController.java#updateMinBroker"""
        node, broker = self._node, self._broker
        before_id, before_addr = self.min_broker_id, self.min_broker_addr
        self.min_broker_id, self.min_broker_addr = min_broker_id, min_broker_addr
        if min_broker_id == before_id:
            return
        is_lowest = self._config.broker_id == min_broker_id
        event = MinBrokerChanged(
            node=node.name,
            min_broker_id=min_broker_id,
            min_broker_addr=min_broker_addr,
            acts_as_master=is_lowest,
        )
        with node.journal.because(node.journal.add(event)):
            broker.role.be_lowest(is_lowest)
            if before_id == MASTER_ID:
                self._master_offline(before_addr)
            if min_broker_id == MASTER_ID:
                broker.holds.master_online()
        if min_broker_id == MASTER_ID:
            yield from self._master_online(min_broker_addr)

    def _master_offline(self, addr: str | None) -> None:
        """Leave the master at ``addr``, if it is still the one that this broker follows.

        Source: BrokerController.java#onMasterOffline
        """
        broker = self._broker
        master_addr = broker.registration.master_addr
        if master_addr is None or addr not in (None, master_addr):
            return
        for one in (master_addr, vip_addr_beside(master_addr)):
            session = broker.outbound.session(one)
            if session is not None:
                session.close("the master is offline")
        broker.registration.master_addr = None
        broker.counting.follow(None)

    def _master_online(self, master_addr: str) -> Waits[None]:
        """Source: BrokerController.java#onMasterOnline"""
        info = yield from self._requests.exchange_ha_info(master_addr)
        if info is not None:
            self._broker.counting.learn_master(info.master_ha_address, info.master_flush_offset)

    # -- inside -------------------------------------------------------------------------------

    def _carry_out(self, steps: Waits[object]) -> Later[object]:
        """Do work that waits for others; an exception of it is written as a bug."""
        work = drive(steps)
        work.when_done(lambda: self._note_error(work.value))
        return work

    def _note_error(self, value: object) -> None:
        if isinstance(value, Exception):
            self._node.journal.add(failure(self._node.name, None, value))
