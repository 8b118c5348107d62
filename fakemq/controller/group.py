"""All controllers of one cluster: what they have in common is one state, one log and one leader.

There is no Raft between them. What anyone can see of it is here: a leader serves as long as it and
most of the others are up; when it goes, another one takes over after a deadline,
``controller_election``; without a leader, requests that need one are refused.

- DLedger: controllers that still name the dead leader do so for the first 6 s (three heartbeats of
  2 s that did not come). The new one serves after 7.0 to 9.2 s, by the cluster's seed.
- jRaft: 1 s (jRaftElectionTimeoutMs), and 1.0 to 2.0 s. Heartbeats are in its log, so the new one
  knows which brokers live.

A leader that has lost most of the others does not know it at first: it answers reads, and a request
that changes something gets code 1 after 5 s. At the deadline it leads no more, and another one does
that reaches most of them. Controllers lose each other by kills, pauses and partitions. A paused
leader that is resumed before the deadline leads on, as the others have elected none.

Source: controller/impl/DLedgerController.java, JRaftController.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fakemq.controller.events import CleanBrokerDataEvent
from fakemq.controller.log import SPARE_LINES
from fakemq.controller.state import State, apply
from fakemq.dispatch.node import NodeState
from fakemq.errors import ConfigError
from fakemq.events.controller import ControllerDeposed, ControllerElected, ReplicasCleaned

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.config.v5.controller.model import ControllerConfig
    from fakemq.controller.events import ControllerEvent, GroupKept
    from fakemq.controller.liveness import BrokerIdentityInfo, LiveBroker, Liveness
    from fakemq.controller.log import EventLog
    from fakemq.faults.plan import ActiveFault
    from fakemq.journal.journal import Journal

NAME = "controllers"
"""The owner of the group's deadlines."""
ELECTION_MS = {False: (7_000, 9_200), True: (1_000, 2_000)}
"""Whether it is jRaft → how long an election takes, at least and at most."""
SILENCE_MS = {False: 6_000, True: 1_000}
"""The same → how long a leader that is gone is still named."""
NOT_REWRITTEN = "the log of the controllers cannot be written anew"
"""Kind of warning about a disk that refuses it; the old log stays in use."""


class Election(NamedTuple):
    """The last election of a group of brokers: when it was, by the cluster's clock, and why."""

    at_ms: int
    why: str
    """As in `MasterElected`."""


class GroupMember(Protocol):
    """A controller, as its group uses it."""

    name: str
    peer_id: str
    addr: str
    state: NodeState
    liveness: Liveness

    def begin_leading(self) -> None:
        """Begin the duties of a leader."""

    def end_leading(self) -> None:
        """End the duties of a leader."""


class ControllerGroup:
    """The controllers of one cluster; ``log`` keeps their events, None for memory only."""

    def __init__(
        self,
        config: ControllerConfig,
        clock: NodeClock,
        journal: Journal,
        randomness: random.Random,
        log: EventLog | None = None,
    ) -> None:
        self.name = config.group or ""
        self.is_jraft = config.is_jraft
        self.clock = clock
        self.members: list[GroupMember] = []
        self.state = State()
        self.elections: dict[str, Election] = {}
        """The last one of each group of brokers, by name; none of before the start."""
        self.leader: GroupMember | None = None
        """The one that serves; it may lack a majority for a while."""
        self.term = 0
        self._journal = journal
        self._randomness = randomness
        self._log = log
        self._election: Timer | None = None
        self._known: dict[BrokerIdentityInfo, LiveBroker] = {}
        """With jRaft, the brokers that the last leader knew."""
        self._last: GroupMember | None = None
        """The last leader: the next one is another one, if it can be."""
        self._believed: dict[str, GroupMember] = {}
        """Controller → the leader that reached it last."""
        self._silent_since_ms: dict[str, int] = {}
        """Controller → since when no leader reaches it."""
        self._parted: dict[frozenset[str], list[ActiveFault[Any]]] = {}
        """Two names → the partitions between them."""

    # -- life ---------------------------------------------------------------------------------

    def open(self) -> None:
        """Read the log; raise ConfigError if it cannot be used."""
        if self._log is None:
            return
        self.state = State()
        for event in self._log.open():
            apply(self.state, event)
        if self._has_grown(self._log):
            try:
                self._rewrite(self._log)
            except ConfigError:
                self._log.close()
                raise

    @property
    def log_bytes(self) -> int | None:
        """The size of the log's file; None without one."""
        return None if self._log is None else self._log.size_bytes

    def elect_first(self) -> None:
        """Let the first controller lead at once, as a cluster is ready when it has started."""
        if self.leader is None and (able := self._able):
            self._lead(able[0])

    def close(self) -> None:
        """Close the log; the controllers are stopped before."""
        self.clock.cancel_all()
        self._election = self.leader = None
        if self._log is not None:
            self._log.close()

    def reset(self) -> None:
        """Let the first controller lead, as at the start; all of them run.

        What brokers have registered stays: a broker that has its id does not apply for one again.
        """
        if self.leader is not None and self.leader is not self.members[0]:
            self._depose("reset")
        self.elect_first()

    def joined(self) -> None:
        """Take note that a controller is up: one that was down, or paused."""
        self._judge()

    def left(self, controller: GroupMember, why: str) -> None:
        """Take note that a controller is down or paused; ``why`` goes to the journal."""
        if controller.state is NodeState.STOPPED:
            self._believed.pop(controller.name, None)
        if controller.state is NodeState.PAUSED and len(self.members) == 1:
            return  # no other can take over: it leads again when it is resumed, as in Java
        # A paused leader is one until the others elect another: resumed before, it leads on.
        if controller is self.leader and controller.state is NodeState.STOPPED:
            self._depose(why)
        self._judge()

    def part(self, one: str, other: str, fault: ActiveFault[Any]) -> None:
        """Let two controllers not reach each other while a fault is placed."""
        self._parted.setdefault(frozenset((one, other)), []).append(fault)
        self._judge()

    def rejoin(self) -> None:
        """Take note that a fault has ended, which may have separated controllers."""
        if self._parted:
            still = {
                pair: [one for one in faults if one.placed] for pair, faults in self._parted.items()
            }
            self._parted = {pair: faults for pair, faults in still.items() if faults}
            self._judge()

    def split_by(self) -> list[ActiveFault[Any]]:
        """Return the faults that leave no controller a majority; none if one has it."""
        return [] if self._able else [one for faults in self._parted.values() for one in faults]

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Forget groups of brokers, by default all of them, as if nothing had been logged.

        Raise StoreError if the log cannot be written.
        """
        self.forgetting(names)()

    def forgetting(self, names: Iterable[str] | None = None) -> Callable[[], None]:
        """Do the same; return what says so in the journal, for a caller that has a cause then."""
        if names is None:
            names = sorted({*self.state.replica_infos, *self.state.sync_state_infos})
        events = [*map(_forgotten, names)]
        self.commit(events)

        def say() -> None:
            for one in events:
                cleaned = ReplicasCleaned(node=NAME, broker_name=one.broker_name, broker_ids=())
                self._journal.add(cleaned)

        return say

    def kept(self) -> tuple[GroupKept, ...]:
        """Return the events that make all groups of brokers as they are."""
        return tuple(map(self.state.kept, self.state.replica_infos))

    def restore(self, groups: Sequence[GroupKept], leader: str | None) -> None:
        """Know these groups alone, and let the controller of this name lead, or one that can.

        Raise StoreError if the log cannot be written.
        """
        others = {*self.state.replica_infos} - {one.broker_name for one in groups}
        self.commit([*map(_forgotten, sorted(others)), *groups])
        self.elections.clear()
        able = self._able
        wanted = [one for one in able if one.name == leader]
        if not wanted and self.leader not in able:
            wanted = able
        if wanted and self.leader is not wanted[0]:
            if self.leader is not None:
                self._depose("restore")
            self._lead(wanted[0])

    def depose(self) -> None:
        """Let the leader lead no more, though it runs: the next one is another one, if it can be.

        Raise LookupError if none leads.
        """
        if self.leader is None:
            raise LookupError("no controller leads now")
        self._depose("deposed")
        self._judge()

    def _reach(self, one: GroupMember, other: GroupMember) -> bool:
        """Return whether two controllers reach each other."""
        between = self._parted.get(frozenset((one.name, other.name)))
        return other.state is NodeState.RUNNING and not between

    def _has_majority(self, controller: GroupMember) -> bool:
        """Return whether a controller is up, and reaches most of them, itself among them."""
        reached = sum(self._reach(controller, other) for other in self.members)
        return controller.state is NodeState.RUNNING and 2 * reached > len(self.members)

    @property
    def _able(self) -> list[GroupMember]:
        """The controllers that most of them would elect."""
        return [*filter(self._has_majority, self.members)]

    def _judge(self) -> None:
        """Begin an election, or the end of a leader without majority, unless it has begun."""
        self._listen()
        leader = self.leader
        wanted = bool(self._able) if leader is None else not self._has_majority(leader)
        if leader is not None and not wanted:
            self.clock.cancel(self._election)
            self._election = None
        elif wanted and self._election is None:
            least_ms, most_ms = ELECTION_MS[self.is_jraft]
            delay_ms = self._randomness.randint(least_ms, most_ms)
            self._election = self.clock.call_later(
                delay_ms, self._decide, kind="controller_election"
            )

    def _decide(self) -> None:
        self._election = None
        if self.leader is not None and not self._has_majority(self.leader):
            is_paused = self.leader.state is NodeState.PAUSED
            self._depose("pause" if is_paused else "no majority")
        if self.leader is None and (able := self._able):
            others = [one for one in able if one is not self._last]
            self._lead(self._randomness.choice(others or able))

    def _listen(self) -> None:
        """Let each controller know the leader that reaches it, or begin to miss one."""
        leader = self.leader
        if leader is not None and leader.state is not NodeState.RUNNING:
            leader = None
        for one in self.members:
            if leader is not None and (one is leader or self._reach(leader, one)):
                self._believed[one.name] = leader
                self._silent_since_ms.pop(one.name, None)
                continue
            self._silent_since_ms.setdefault(one.name, self.clock.elapsed_ms())
            if self._believed.get(one.name) is one and one is not self.leader:
                del self._believed[one.name]  # it knows that it leads no more

    def _lead(self, controller: GroupMember) -> None:
        self.clock.cancel(self._election)
        self._election = None
        self.term += 1
        self.leader = self._last = controller
        self._listen()
        self._journal.add(ControllerElected(node=controller.name, term=self.term))
        if self.is_jraft:
            controller.liveness.take_over(self._known)
        controller.begin_leading()

    def _depose(self, why: str) -> None:
        leader, self.leader = self.leader, None
        assert leader is not None
        self._listen()
        self.clock.cancel(self._election)
        self._election = None
        leader.end_leading()
        if self.is_jraft:
            self._known = leader.liveness.known()
        self._journal.add(ControllerDeposed(node=leader.name, why=why))

    @property
    def peers(self) -> str:
        """All controllers, as CONTROLLER_GET_METADATA_INFO answers them."""
        if self.is_jraft:
            return "".join(f"{one.addr};" for one in self.members)
        return "".join(f"{one.peer_id}:{one.addr};" for one in self.members)

    # -- what controllers answer --------------------------------------------------------------

    def named_leader(self, asked: GroupMember) -> GroupMember | None:
        """Return the controller that ``asked`` believes to be the leader; None for none."""
        since_ms = self._silent_since_ms.get(asked.name)
        if since_ms is not None and self.clock.elapsed_ms() - since_ms >= SILENCE_MS[self.is_jraft]:
            return None
        return self._believed.get(asked.name)

    @property
    def can_commit(self) -> bool:
        """Whether what the leader writes reaches most of the others."""
        return self.leader is not None and self._has_majority(self.leader)

    def commit(self, events: Iterable[ControllerEvent]) -> None:
        """Write events to the log, then apply them; raise StoreError if the log cannot be written.

        The group `can_commit`.
        """
        events = tuple(events)
        log = self._log
        if log is not None:
            log.append(events)
        for event in events:
            apply(self.state, event)
            if event.broker_name not in self.state.sync_state_infos:
                self.elections.pop(event.broker_name, None)
        if log is not None and self._has_grown(log) and log.has_doubled:
            try:
                self._rewrite(log)
            except ConfigError as error:
                log.kept_bytes = log.size_bytes  # the next try is when it has doubled again
                self._journal.peer_warnings.warn(NAME, NOT_REWRITTEN, str(error))

    def _has_grown(self, log: EventLog) -> bool:
        return log.lines > 2 * len(self.state.replica_infos) + SPARE_LINES

    def _rewrite(self, log: EventLog) -> None:
        log.rewrite(self.kept())


def _forgotten(broker_name: str) -> CleanBrokerDataEvent:
    return CleanBrokerDataEvent(broker_name=broker_name, broker_id_set_to_clean=())
