"""One controller: the connections it has, the brokers that live, and, while it leads, elections.

Source: controller/ControllerManager.java, controller/impl/DLedgerController.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from fakemq.clock.timers import LEAST_PERIOD_MS, Timer, is_regular, next_tick_ms, notes_nothing
from fakemq.controller import decide, noted
from fakemq.controller.group import Election
from fakemq.controller.liveness import BrokerIdentityInfo, Liveness
from fakemq.controller.notification import notification_of
from fakemq.dispatch.answers import Parked, Refused, Reply, Thrown, not_supported
from fakemq.dispatch.dispatcher import Dispatcher, VersionedDispatcher
from fakemq.dispatch.node import NodeState
from fakemq.dispatch.outcomes import java_exception
from fakemq.dispatch.registry import Handlers
from fakemq.errors import StoreError
from fakemq.events.controller import MasterElected, ReplicaInactive
from fakemq.events.core import NodeStarted, NodeStopped, Warned
from fakemq.later import Later
from fakemq.net.session import Session
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import HeaderError
from fakemq.protocol.header import Header
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.headers import controller as headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.controller.model import ControllerConfig
    from fakemq.controller.decide import Decision
    from fakemq.controller.group import ControllerGroup
    from fakemq.faults.plan import FaultPlan
    from fakemq.journal.journal import Journal
    from fakemq.net.link import Link
    from fakemq.net.outbound import Outbound
    from fakemq.reference import Reference

HeaderT = TypeVar("HeaderT", bound=Header)

APPEND_TIMEOUT_MS = 5_000
"""How long a request waits for the log of a leader that has lost most of the others."""
MOST_TRIES = 100
"""The most tries of one election: a peer may set electMasterMaxRetryCount to any number."""
NOT_WRITTEN = "the log of the controllers cannot be written"
"""Kind of warning about a disk that refuses what a peer asked for."""


class Controller:
    """A controller of ``group``; its ``outbound`` carries notifications to brokers.

    It can be started again after a stop. Like a new process it then knows no living broker; the
    group keeps the log.
    """

    handlers: ClassVar[Handlers[Any]] = Handlers("fakemq.controller.handlers")
    """What it answers, by request code."""
    outbound: Outbound
    """Its own connections, to brokers; set by its maker."""
    replicates_later = False
    """See `Node.replicates_later`: no send reaches a controller."""

    def __init__(
        self,
        name: str,
        peer_id: str,
        config: ControllerConfig,
        clock: NodeClock,
        journal: Journal,
        faults: FaultPlan,
        reference: Reference,
        group: ControllerGroup,
    ) -> None:
        self.name = name
        self.peer_id = peer_id
        """Its name in the group: ``n0``, or its address for Raft with jRaft."""
        self.config = config.copy()
        self.clock = clock
        self.journal = journal
        self.faults = faults
        self.reference = reference
        self.group = group
        self.addr = ""
        self.state = NodeState.STOPPED
        self.sessions: dict[Session, None] = {}
        self.dispatcher: Dispatcher[Controller] = VersionedDispatcher(
            self, self.handlers, on_unknown=not_supported
        )
        self.liveness = Liveness(name, clock, journal, self._inactive, self._silent)
        self._start_config = config
        self.black_list = config.config_black_list
        """Keys that no request may change: those of the start, as in Java."""
        self._watched: dict[str, None] = {}
        """Groups whose master may be dead: the leader looks at them again and again."""
        self._scan: Timer | None = None
        self._leads_since_ms = 0
        group.members.append(self)

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped since; a paused controller runs, too."""
        return self.state.is_up

    @property
    def leads(self) -> bool:
        """Whether it is the leader of its group, and not paused."""
        return self.group.leader is self and self.state is not NodeState.PAUSED

    # -- life ---------------------------------------------------------------------------------

    def start(self, addr: str) -> None:
        """Start at ``addr`` (``host:port``)."""
        self.addr = addr
        self.liveness.start(self.config.scan_not_active_broker_interval)
        self.state = self.state.then(NodeState.RUNNING)
        self.journal.add(NodeStarted(node=self.name, addr=addr))
        self.group.joined()

    def stop(self, how: str = "stop") -> None:
        """Stop: close connections, forget living brokers; ``how`` goes to the journal."""
        if not self.running:
            return
        self.state = self.state.then(NodeState.STOPPED)
        self.group.left(self, how)
        self._forget()
        self.outbound.close(f"controller {how}")
        for session in list(self.sessions):
            session.close(f"controller {how}")
        self.clock.cancel_all()
        self.journal.add(NodeStopped(node=self.name, how=how))

    def pause(self) -> None:
        """Pause as by SIGSTOP: sockets stay open, nothing is read and no timer fires."""
        if self.state is not NodeState.RUNNING:
            return
        self.state = self.state.then(NodeState.PAUSED)
        self.group.left(self, "pause")
        self.clock.pause()
        self.outbound.pause()
        for session in self.sessions:
            session.pause()
        self.journal.add(NodeStopped(node=self.name, how="pause"))

    def resume(self) -> None:
        """Resume: handle, late, what arrived and what fell due during the pause."""
        if self.state is not NodeState.PAUSED:
            return
        self.state = self.state.then(NodeState.RUNNING)
        with self.journal.because(self.journal.add(NodeStopped(node=self.name, how="resume"))):
            self.group.joined()
            self.outbound.resume()
            for session in list(self.sessions):
                session.resume()
                if self.state is not NodeState.RUNNING:
                    return  # a request met a fault that pauses or kills it
            self.clock.resume()

    def reset(self) -> None:
        """Return to the config of the start; connections stay, and which brokers live."""
        self.config = self._start_config.copy()
        self.liveness.forget_standings()

    def _forget(self) -> None:
        self.reset()
        self.liveness.clear()

    # -- connections --------------------------------------------------------------------------

    def accept(self, link: Link) -> Session:
        """Take a connection."""
        idle_ms = self.config.server_channel_max_idle_time_seconds * 1000
        session = Session(link, self, self.dispatcher.dispatch, idle_ms)
        self.sessions[session] = None
        if self.state is NodeState.PAUSED:
            session.pause()
        return session

    def session_closed(self, session: Session) -> None:
        """Forget a connection, and with it the broker whose first heartbeat came on it."""
        self.clock.drop_of(session)
        if session in self.sessions:  # not one of its own, to a broker
            del self.sessions[session]
            self.liveness.closed(session)

    def client_ids(self, session: Session) -> set[str]:
        """Return nothing: no client registers at a controller."""
        return set()

    # -- requests -----------------------------------------------------------------------------

    def require_leader(self) -> None:
        """Raise Refused at a controller that does not lead."""
        if not self.leads:
            raise Refused(
                ResponseCode5.CONTROLLER_NOT_LEADER, "The controller is not in leader state"
            )

    def thrown(self, error: HeaderError) -> Thrown:
        """Return the answer to an error on the thread that decides: Java wraps it in another."""
        text = java_exception(error, self.reference)
        return Thrown(f"java.util.concurrent.ExecutionException: {text}")

    def carry_out(
        self,
        made: Callable[[], Decision[HeaderT]],
        why: str = "asked",
        then: Callable[[Reply[HeaderT]], None] | None = None,
    ) -> Reply[HeaderT] | Parked[HeaderT]:
        """Answer a request of the state by what ``made`` decides; ``then`` sees the answer.

        Raise Refused at a controller that does not lead, and Thrown if the log cannot be written.
        """
        self.require_leader()
        try:
            decision = made()
        except HeaderError as error:
            raise self.thrown(error) from None
        if (decision.events and not self.group.can_commit) or self.reads_in_vain:
            return self.in_vain()
        try:
            self._commit(decision, why)
        except StoreError as error:
            self.journal.peer_warnings.warn(self.name, NOT_WRITTEN, str(error))
            raise Thrown(str(error)) from None
        if then is not None:
            then(decision.reply)
        return decision.reply

    @property
    def reads_in_vain(self) -> bool:
        """Whether reads go to the log, by processReadEvent, and most of the others are lost."""
        return self.config.process_read_event and not self.group.can_commit

    def in_vain(self) -> Parked[Any]:
        """Return the answer of a leader that has lost most of the others: an error, after 5 s."""
        parked: Parked[Any] = Later()
        error = Thrown("java.util.concurrent.CancellationException, fakemq")
        self.clock.call_later(
            APPEND_TIMEOUT_MS, lambda: parked.resolve(error), kind="controller_append"
        )
        return parked

    def _commit(self, decision: Decision[Any], why: str) -> None:
        if not decision.events:
            return
        events = [noted.event_of(self.name, self.group.state, one, why) for one in decision.events]
        self.group.commit(decision.events)
        for event in events:
            if event is not None:
                self.journal.add(event)
            if isinstance(event, MasterElected):
                election = Election(self.group.clock.now_ms(), event.why)
                self.group.elections[event.broker_name] = election
        for one in decision.events:
            self.watch(one.broker_name)

    # -- elections ----------------------------------------------------------------------------

    def begin_leading(self) -> None:
        """Begin the duties of a leader: groups whose master is dead get another one."""
        self._leads_since_ms = self.clock.elapsed_ms()
        self._watched = dict.fromkeys(self.group.state.sync_state_infos)
        self._arm_scan()

    def end_leading(self) -> None:
        """End the duties of a leader."""
        self._watched.clear()
        self.clock.cancel(self._scan)
        self._scan = None

    def watch(self, broker_name: str) -> None:
        """Look at a group at the next scans, until its master lives, or it has none."""
        sync = self.group.state.sync_state_infos.get(broker_name)
        master = None if sync is None else sync.master_broker_id
        if sync is None or master is None:
            self._watched.pop(broker_name, None)
        elif not self.liveness.is_alive(sync.cluster, broker_name, master):
            self._watched[broker_name] = None
            self._arm_scan()

    def _arm_scan(self) -> None:
        """Set the timer of the next scan, on Java's grid, if there is anything to look at."""
        if not self._watched or self._scan is not None or not self.leads:
            return
        period_ms = max(LEAST_PERIOD_MS, self.config.scan_inactive_master_interval)
        now_ms = self.clock.elapsed_ms()
        due_ms = next_tick_ms(now_ms + 1, self._leads_since_ms, period_ms, period_ms)
        self._scan = self.clock.call_later(
            due_ms - now_ms,
            self._scan_now,
            kind="controller_scan",
            routine=notes_nothing if is_regular(period_ms) else None,
        )

    def _scan_now(self) -> None:
        self._scan = None
        self.clock.carry_out(self._looked_at(), peer=self, count=len(self._watched))

    def _looked_at(self) -> Steps[None]:
        """Elect masters where they are dead.

        Source: controller/impl/DLedgerController.java#scanInactiveMasterAndTriggerReelect (5.5.0)
        """
        for name in list(self._watched):
            if not self.leads:
                return
            group = self.group.state.group(name)
            if group is None or self._is_settled(name, *group):
                self._watched.pop(name, None)
            elif decide.needs_master(name, *group, self.liveness):
                self.elect(name)
            yield
        self._arm_scan()

    def _is_settled(self, name: str, replicas: Any, sync: Any) -> bool:
        master = sync.master_broker_id
        return master is None or self.liveness.is_alive(sync.cluster, name, master)

    def _silent(self, broker_name: str | None) -> None:
        """Let the next scan for dead masters see it: it may come before that for dead brokers."""
        if self.leads and not self.group.is_jraft:  # which has one scan
            self.watch(broker_name or "")

    def _inactive(self, identity: BrokerIdentityInfo, why: str) -> None:
        """Elect another master if the dead broker was one.

        Source: controller/ControllerManager.java#onBrokerInactive (5.5.0)
        """
        _, broker_name, broker_id = identity
        name = broker_name or ""
        event = ReplicaInactive(node=self.name, broker_name=name, broker_id=broker_id, why=why)
        with self.journal.because(self.journal.add(event)):
            group = self.group.state.group(name)
            if self.leads and group is not None and group[1].master_broker_id == broker_id:
                self.elect(name)

    def elect(self, broker_name: str) -> None:
        """Elect a master without a request; try as often as the config says.

        Each try that finds no master ends an epoch.
        Source: controller/ControllerManager.java#triggerElectMaster (5.5.0)
        """
        header = headers.ElectMasterRequestHeader(broker_name=broker_name)
        for _ in range(min(self.config.elect_master_max_retry_count, MOST_TRIES)):
            if not self.group.can_commit:
                self._watched[broker_name] = None
                break
            decision = self.decide_election(header)
            try:
                self._commit(decision, "inactive")
            except StoreError as error:
                self.journal.add(Warned(node=self.name, text=str(error)))
                self._watched[broker_name] = None
                break
            if decision.reply.code == ResponseCode.SUCCESS:
                self.notify(decision.reply)
                return
        self._arm_scan()

    def decide_election(
        self, header: headers.ElectMasterRequestHeader
    ) -> Decision[headers.ElectMasterResponseHeader]:
        """Decide an election by the config, and by the brokers that live."""
        unclean = self.config.enable_elect_unclean_master
        return decide.elect_master(self.group.state, header, self.liveness, unclean=unclean)

    def notify(self, reply: Reply[headers.ElectMasterResponseHeader]) -> None:
        """Notify the living brokers of a group of its new master, one-way; not of a failure.

        Source: controller/ControllerManager.java#notifyBrokerRoleChanged (5.5.0)
        """
        if not self.config.notify_broker_role_changed:
            return
        command, members = notification_of(reply, self.reference.version)
        for broker_id, addr in members.broker_addrs.items():
            name = members.broker_name or ""
            if addr and self.liveness.is_alive(members.cluster, name, broker_id):
                self.outbound.invoke_oneway(addr, command)

    def __repr__(self) -> str:
        role = "leader" if self.leads else "follower"
        return f"<controller {self.name} at {self.addr} {self.state}, {role}>"


handles: Final[Handlers[Controller]] = Controller.handlers
"""The decorator that registers a handler for controllers."""
