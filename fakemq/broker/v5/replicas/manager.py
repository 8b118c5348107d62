"""A broker under a controller, from its start to its end: its states, its timers, its roles.

The broker is fenced until it is RUNNING: it has an id, and its group has a master. What fails on
the way is tried again after five seconds, for ever. Then the controller's word for a higher epoch
changes the role, whichever way it comes: pushed (1008), fetched (1004), or in an answer (1002,
1003).

Source: broker/controller/ReplicasManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.replicas.controllers import (
    GroupInfo,
    KnownControllers,
    NoAnswer,
    set_of,
)
from fakemq.broker.v5.replicas.identity import Identity
from fakemq.broker.v5.replicas.registering import Registering
from fakemq.broker.v5.replicas.states import TRANSITIONS, ReplicaState, waiting_text
from fakemq.broker.v5.timetable import Timetable
from fakemq.dispatch.node import NodeState
from fakemq.events.core import ReplicaStateChanged, Warned, failure
from fakemq.later import drive
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fakemq.broker.v5.replicas.node import ManagedBroker
    from fakemq.config.keys import BrokerRole
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Later, Waits

RETRY_MS = 5_000
LEADER_TRIES, LEADER_PAUSE_MS = 3, 1_000
REGISTER_TRIES, REGISTER_PAUSE_MS = 5, 1_000
SCAN_MS = 3_000
ADDRESSES_MS = 120_000
FIRST_BEAT_MS = 1_000
FIRST_TICK_MS = 3_000

HEARTBEAT = "controller_heartbeat"
SCAN = "controller_reach"
ADDRESSES = "controller_addresses"
LEADER = "controller_leader"
METADATA = "replica_metadata"
SET_CHECK = "sync_set_check"
START = "replica_start"


class ReplicasManager:
    """One broker of a group that a controller manages."""

    def __init__(self, node: NodeContext[BrokerConfig5], broker: ManagedBroker) -> None:
        self._node = node
        self._config = node.config
        self._broker = broker
        self.identity = Identity(node)
        self.controllers = KnownControllers(node, lambda: broker.outbound)
        self._registering = Registering(node, self.identity, self.controllers)
        self._timetable = Timetable(node.clock, lambda: self.controllers.outside)
        self.state = ReplicaState.SHUTDOWN
        self.master_id: int | None = None
        """The controller's id of the master; None while the broker knows none."""
        self.master_addr = ""
        # What its replication has, too, which may be gone when a last set is reported.
        self.sync_state_set: frozenset[int] = frozenset()
        self.sync_state_set_epoch = 0
        self._wanted_set: frozenset[int] | None = None
        """The set for which the controller is to be asked next."""
        self._is_altering = False
        self._life = 0
        """Counts the ends: what waited before the last one changes nothing after it."""

    # -- what it says of itself ---------------------------------------------------------------

    @property
    def own_id(self) -> int | None:
        """The controller's id of this broker."""
        return self._registering.own_id

    @property
    def last_epoch(self) -> int:
        """The last epoch of the log; -1 if it has none, as Java says."""
        return self._broker.switching.epochs.last_epoch() or -1

    @property
    def max_offset(self) -> int:
        return self._broker.store.max_phy_offset

    @property
    def confirm_offset(self) -> int:
        return self._broker.switching.confirm_offset

    @property
    def master_epoch(self) -> int:
        """The epoch of the master that the controller has named; 0 before the first."""
        return self._broker.role.epoch

    @property
    def is_master(self) -> bool:
        return not self._broker.role.is_slave

    # -- life ---------------------------------------------------------------------------------

    def fence(self) -> None:
        """Have no role and register nowhere, until the controller says more."""
        self._broker.role.fence()
        self._broker.registration.isolated = True

    def start(self) -> None:
        """Begin: the broker is fenced, and answers."""
        self.fence()
        self.master_id, self.master_addr = None, ""
        self.sync_state_set, self.sync_state_set_epoch = frozenset(), 0
        self._wanted_set, self._is_altering = None, False
        self._registering.reset()
        self.controllers.start()
        self._broker.switching.on_set_should_change = self._report_set
        self._enter(ReplicaState.INITIAL)
        every = self._timetable.every
        every(
            *(ADDRESSES, ADDRESSES_MS, lambda: ADDRESSES_MS, self.controllers.follow_config),
            is_noticed=False,
        )
        every(SCAN, SCAN_MS, lambda: SCAN_MS, self.controllers.scan)
        every(HEARTBEAT, FIRST_BEAT_MS, lambda: self._config.broker_heartbeat_interval, self._beat)
        self._carry_out(self._begin())

    def stop(self) -> None:
        """End: nothing more is asked or taken."""
        if self.state is not ReplicaState.SHUTDOWN:
            self._enter(ReplicaState.SHUTDOWN)
            self._life += 1
            self._timetable.cancel_all()
            self.controllers.stop()

    def forget(self) -> None:
        """End, and be a new broker without an id and a role at the next start."""
        self.stop()
        self.identity.forget()
        self.fence()

    def _begin(self) -> Waits[None]:
        """Come to RUNNING, however often it takes, and whatever fails on the way.

        Source: ReplicasManager.java#start
        """
        life, tried = self._life, False
        yield self.controllers.scan()
        while life == self._life:
            try:
                if (yield from self._start_basic_service()):
                    return
            except Exception as error:
                self._note_error(error)
            if life == self._life:
                if not tried:  # ready, and useless: Java says so in its log alone
                    text = waiting_text(self.state, self._config.controller_addr, RETRY_MS)
                    self._node.journal.add(Warned(node=self._node.name, text=text))
                    tried = True
                yield self._timetable.pause(START, RETRY_MS)

    def _start_basic_service(self) -> Waits[bool]:
        """Continue from the present state; return whether the broker runs.

        Source: ReplicasManager.java#startBasicService
        """
        if self.state is ReplicaState.INITIAL:
            if not (yield from self._find_leader()):
                return False
            self._enter(ReplicaState.FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE)
        if self.state is ReplicaState.FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE:
            if not (yield from self._register()):
                return False
            self._enter(ReplicaState.REGISTER_TO_CONTROLLER_DONE)
        if self.state is ReplicaState.REGISTER_TO_CONTROLLER_DONE:
            self.controllers.beat(self)  # the regular ones begin with RUNNING
            if self.master_id is None and not (yield from self._elect()):
                return False
            self._enter(ReplicaState.RUNNING)
        self._timetable.every(
            *(METADATA, FIRST_TICK_MS),
            lambda: self._config.sync_broker_metadata_period,
            lambda: self._carry_out(self._sync_metadata()),
        )
        return True

    def _find_leader(self) -> Waits[bool]:
        for _ in range(LEADER_TRIES):
            if (yield from self.controllers.find_leader()):
                self._timetable.every(
                    *(LEADER, FIRST_TICK_MS),
                    lambda: self._config.sync_controller_metadata_period,
                    lambda: self._carry_out(self.controllers.find_leader()),
                )
                return True
            yield self._timetable.pause(START, LEADER_PAUSE_MS)
        return False

    def _register(self) -> Waits[bool]:
        for _ in range(REGISTER_TRIES):
            found = yield from self._registering.register()
            if found is not None:
                self._take(found)
                return True
            # Others may be asking for the same id.
            pause_ms = self._node.randomness.randrange(REGISTER_PAUSE_MS)
            yield self._timetable.pause(START, pause_ms)
        return False

    def _elect(self) -> Waits[bool]:
        """Ask to be elected; return whether the group has a master now."""
        own_id = self.own_id
        if own_id is None:
            return False
        found = yield from self.controllers.elect_master(own_id)
        if isinstance(found, NoAnswer) or not found.has_master:
            return False
        self._take(found)
        return self.master_id is not None

    # -- ticks --------------------------------------------------------------------------------

    def _beat(self) -> None:
        if self.state is ReplicaState.RUNNING:
            self.controllers.beat(self)

    def _sync_metadata(self) -> Waits[None]:
        """Compare with what the controller says, and follow it.

        Source: ReplicasManager.java#schedulingSyncBrokerMetadata
        """
        found = yield from self.controllers.replica_info()
        if isinstance(found, NoAnswer):
            if found.code == ResponseCode5.CONTROLLER_BROKER_METADATA_NOT_EXIST:
                yield from self._register_again()
        elif found.master_epoch > self.master_epoch and not found.has_master:
            yield from self._elect()
        elif found.master_epoch > self.master_epoch:
            self._take(found)
        elif found.master_epoch == self.master_epoch and self.is_master:
            self._take_set(found.members, found.set_epoch)

    def _register_again(self) -> Waits[None]:
        """Tell a controller that knows nothing of the group, or nothing any more."""
        if self.own_id is not None:
            found = yield from self.controllers.register_broker(self.own_id)
            if isinstance(found, GroupInfo):
                self._take(found)

    # -- roles --------------------------------------------------------------------------------

    def change_broker_role(
        self,
        *,
        master_id: int | None,
        master_addr: str | None,
        master_epoch: int,
        set_epoch: int,
        members: Collection[int],
    ) -> None:
        """Take a role that the controller pushes; an epoch that is not higher changes nothing.

        Raise BodyError for a set that no group can have.
        """
        self._take(GroupInfo(master_id, master_addr, master_epoch, set_epoch, set_of(members)))

    def _take(self, found: GroupInfo) -> None:
        """Be what the controller says, if its epoch is higher; one that fails is tried again.

        Source: ReplicasManager.java#changeBrokerRole, #changeToMaster, #changeToSlave
        """
        own_id, broker = self.own_id, self._broker
        if self.state is ReplicaState.SHUTDOWN or broker.state is not NodeState.RUNNING:
            return
        if own_id is None or found.master_id is None:
            return
        if found.master_epoch <= self.master_epoch or self._is_before_log(found.master_epoch):
            return
        role, before = broker.role, (self.master_id, self.master_addr, self.master_epoch)
        stays = found.master_id == self.master_id
        role.epoch, self.master_id = found.master_epoch, found.master_id
        now_ms = self._node.clock.now_ms()
        broker.topics.data_version = broker.topics.data_version.next(now_ms, found.master_epoch)
        try:
            if found.master_id == own_id:
                self.master_addr = broker.addr
                self._lead(found, stays=stays and self.is_master)
            else:
                self.master_addr = found.master_addr or ""
                self._follow(found.master_id, own_id, stays=stays and not self.is_master)
        except Exception:
            # The epoch counts as news again for the next poll.
            self.master_id, self.master_addr, role.epoch = before
            raise

    def _is_before_log(self, epoch: int) -> bool:
        """Return whether the log has a later epoch: its replication would refuse this one."""
        last = self._broker.switching.epochs.last_epoch()
        if epoch < last:
            text = (
                f"the controllers are at epoch {epoch}, epochFileCheckpoint at {last}: they have"
                " lost their log; delete epochFileCheckpoint too, or the store"
            )
            self._node.journal.peer_warnings.warn(self._node.name, "epochs", text)
        return epoch < last

    def _lead(self, found: GroupInfo, *, stays: bool) -> None:
        broker, replication = self._broker, self._broker.switching
        replication.own_id = found.master_id
        self._take_set(found.members, found.set_epoch)
        if stays:
            replication.change_to_master(found.master_epoch)
            broker.register_all()
        else:
            self._change_role(
                "SYNC_MASTER", 0, lambda: replication.change_to_master(found.master_epoch)
            )
            self._timetable.every(
                *(SET_CHECK, FIRST_TICK_MS),
                lambda: self._config.check_sync_state_set_period,
                replication.check_set,
                routine=replication.check_routine,
            )
        replication.check_set()

    def _follow(self, master_id: int, own_id: int, *, stays: bool) -> None:
        broker, epoch = self._broker, self.master_epoch
        if stays:
            broker.register_all()
            return
        self._timetable.cancel(SET_CHECK)
        self._change_role(
            "SLAVE", own_id, lambda: broker.switching.change_to_slave(epoch, master_id, own_id)
        )

    def _change_role(
        self, role: BrokerRole, broker_id: int, replicate: Callable[[], object]
    ) -> None:
        self._broker.registration.isolated = False
        self._broker.role.become(role, broker_id, replicate)

    # -- the set of replicas in sync ----------------------------------------------------------

    def _take_set(self, members: frozenset[int], set_epoch: int) -> None:
        if set_epoch > self.sync_state_set_epoch:
            self._broker.switching.take_set(members, set_epoch)
            self.sync_state_set, self.sync_state_set_epoch = members, set_epoch

    def _report_set(self, members: frozenset[int]) -> None:
        """Ask the controller for another set; without an answer, the next poll brings it.

        There is one request at a time, as in Java; of the sets that wait, the last one counts.
        """
        if self.own_id is None or self.state is ReplicaState.SHUTDOWN:
            return
        self._wanted_set = members
        if not self._is_altering:
            self._is_altering = True
            self._carry_out(self._alter_sets(self.own_id))

    def _alter_sets(self, own_id: int) -> Waits[None]:
        life = self._life
        try:
            while self.is_master and (wanted := self._wanted_set) is not None:
                self._wanted_set = None
                asked = self.master_epoch
                found = yield from self.controllers.alter_sync_state_set(
                    own_id, asked, wanted, self.sync_state_set_epoch
                )
                # It is the set of that master, and of no other.
                is_same = not self._broker.role.is_slave and self.master_epoch == asked
                if is_same and not isinstance(found, NoAnswer):
                    self._take_set(*found)
        finally:
            if life == self._life:
                self._is_altering = False

    # -- inside -------------------------------------------------------------------------------

    def _carry_out(self, steps: Waits[object]) -> Later[object]:
        """Do work that waits for controllers; an exception of it is written as a bug."""
        work = drive(steps)
        work.when_done(lambda: self._note_error(work.value))
        return work

    def _note_error(self, value: object) -> None:
        if isinstance(value, Exception):
            self._node.journal.add(failure(self._node.name, None, value))

    def _enter(self, state: ReplicaState) -> None:
        assert state in TRANSITIONS[self.state], (self.state, state)
        self.state = state
        self._node.journal.add(ReplicaStateChanged(node=self._node.name, state=state.value))
