"""Faults of links: which connections a fault affects, and when.

For a fault that covers it, a connection counts as one call. The fault hits it once: with the first
bytes, or the first close, that it holds back, slows down or cuts. A connection has lanes only while
a fault affects it; otherwise its bytes go directly. A partition also hits each connect that it
leaves without an answer.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fakemq.faults.plan import ALWAYS, When
from fakemq.faults.points import LINK_POINTS, PARTITION
from fakemq.net.faults.scopes import (
    AMONG_CONTROLLERS,
    CLIENTS,
    LinkScope,
    Names,
    Passing,
    inside,
    outside,
)
from fakemq.net.faults.wires import FaultyWire
from fakemq.net.outbound import CONNECT_TIMEOUT_MS
from fakemq.net.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fakemq.clock.clock import Clock
    from fakemq.clock.timers import Timer
    from fakemq.faults.plan import ActiveFault, FaultPlan, Point, Scope
    from fakemq.journal.journal import Cause
    from fakemq.net.faults.lane import Act, OpenLink
    from fakemq.net.memory import MemoryNetwork
    from fakemq.net.session import Owner
    from fakemq.randomness import Randomness

ActionT = TypeVar("ActionT")


class LinkedNode(Protocol):
    """A node at one end of links."""

    @property
    def name(self) -> str: ...


class LinkedBroker(LinkedNode, Protocol):
    """A broker at one end of links."""

    @property
    def ha_addr(self) -> str: ...
    def client_ids(self, session: Session) -> set[str]:
        """Return the ids of the clients that registered on a connection by heartbeats."""


class LinkedController(LinkedNode, Protocol):
    """A controller at one end of links."""

    @property
    def addr(self) -> str: ...


class LinkedFront(LinkedNode, Protocol):
    """The gRPC front at one end of links."""

    def client_ids(self, session: Any) -> set[str]:
        """Return the ids of the clients that are known to use a connection."""


class LinkedCluster(Protocol):
    """The cluster whose links a `LinkPlan` affects."""

    @property
    def clock(self) -> Clock: ...
    @property
    def faults(self) -> FaultPlan: ...
    @property
    def randomness(self) -> Randomness: ...
    @property
    def network(self) -> MemoryNetwork: ...
    @property
    def brokers(self) -> Mapping[str, LinkedBroker]: ...
    @property
    def name_servers(self) -> Sequence[LinkedNode]: ...
    @property
    def proxy(self) -> LinkedFront | None: ...

    def controllers_called(self, which: None) -> Iterable[LinkedController]:
        """Return all controllers."""

    def part_controllers(self, one: str, other: str, fault: ActiveFault[Any]) -> None:
        """Let two controllers not reach each other while a fault is placed."""

    def rejoin_controllers(self) -> None:
        """Take note that a fault has ended, which may have separated controllers."""


class LinkPlan:
    """The wires of one cluster, and the connects that a partition left without an answer."""

    def __init__(self, core: LinkedCluster) -> None:
        self._core = core
        self.clock = core.clock
        self.plan = core.faults
        self.randomness = core.randomness
        self._wires: dict[OpenLink, FaultyWire] = {}
        self._dials: list[tuple[Timer, Passing, Act]] = []
        """Each unanswered connect: its time-out, its direction, and what tries it again."""
        core.network.links.faults = self

    def caused_by(self, cause: Cause, act: Act) -> None:
        """Call ``act`` with this cause, if it is not 0."""
        if cause:
            with self.plan.journal.because(cause):
                act()
        else:
            act()

    # -- connections --------------------------------------------------------------------------

    def place(
        self,
        point: Point[ActionT],
        action: ActionT,
        what: str,
        scope: LinkScope,
        when: When | None = ALWAYS,
        *,
        must_fire: bool = True,
    ) -> ActiveFault[ActionT]:
        """Place a fault; it also affects the connections that are open now.

        Without ``when`` it affects as many connections as are open now; if none is, one.
        """
        if when is None:
            when = When(max(1, self._count_open(scope)))
        placed = self.plan.place(
            point,
            action,
            f"{what} {scope}",
            scope,
            when,
            must_fire=must_fire,
            on_end=self._removed,
        )
        if point is PARTITION:
            self._part_controllers(placed)
        for link in self._core.network.links:
            self.opened(link)
        for wire in list(self._wires.values()):
            wire.refresh()
            wire.reset_if_due()
        return placed

    def _part_controllers(self, placed: ActiveFault[Any]) -> None:
        """Let a partition separate controllers."""
        for one, other in parted_controllers(self._core, placed.scope):
            if placed.pending and self.plan.call(placed):
                with self.plan.journal.because(placed.hit(one, f"link to {other}")):
                    self._core.part_controllers(one, other, placed)

    def opened(self, link: OpenLink) -> None:
        faults = self._possible()
        if not faults:
            return
        wire = self._wires.get(link)
        if wire is None:
            passing = self._passing(link)
            covering = any(
                one.scope.covers(passing) or one.scope.covers(passing.back()) for one in faults
            )
            if not covering and not self._may_be_recognised(link):
                return
            wire = self._wires[link] = FaultyWire(self, link, passing)
        self.ask_all(wire)

    def _count_open(self, scope: LinkScope) -> int:
        """Return how many open connections a scope covers."""
        passings = map(self._passing, self._core.network.links)
        return sum(scope.covers(one) or scope.covers(one.back()) for one in passings)

    def ask_all(self, wire: FaultyWire) -> None:
        """Offer a connection to every fault that may affect it."""
        for placed in self._possible():
            wire.ask(placed)
            self.plan.settle(placed)
        wire.refresh()

    def unwire(self, link: OpenLink, is_affected: bool) -> None:
        """Remove a connection's idle lanes, unless a fault affects it or may do so later."""
        if link in self._core.network.links and (is_affected or self._may_be_recognised(link)):
            return
        if self.forget(link):
            link.unwire()

    def affects(self, link: OpenLink) -> bool:
        """Return whether a fault affects a connection now."""
        wire = self._wires.get(link)
        return wire is not None and wire.is_affected

    def forget(self, link: OpenLink) -> bool:
        """Drop the wire of a connection; return whether there was one."""
        return self._wires.pop(link, None) is not None

    def _removed(self) -> None:
        """A fault has ended: deliver what it held back, and make the swallowed connects."""
        self._core.rejoin_controllers()
        for wire in list(self._wires.values()):
            wire.refresh()
        dials, self._dials = self._dials, []
        for timer, passing, again in dials:
            if timer.pending and self._partition(passing) is not None:
                self._dials.append((timer, passing, again))
            elif timer.pending:
                timer.cancel()
                again()

    def end(self) -> None:
        """Remove every fault of links, so that nodes that stop reach each other."""
        self.plan.remove_at(LINK_POINTS)

    def _possible(self) -> list[ActiveFault[Any]]:
        return [placed for point in LINK_POINTS for placed in self.plan.at(point)]

    def _may_be_recognised(self, link: OpenLink) -> bool:
        """Whether a fault is for a client whose connection this may turn out to be."""
        return link.outside and any(
            isinstance(placed.scope, LinkScope) and placed.scope.is_of_client
            for placed in self._possible()
        )

    # -- connects -----------------------------------------------------------------------------

    def swallows(self, source: Owner, addr: str, again: Act, fail: Act) -> bool:
        passing = self._dialling(source, addr)
        placed = self._partition(passing)
        if placed is None:
            return False
        cause = placed.hit(source.name, f"connect to {addr}")
        timer = source.clock.call_later(
            CONNECT_TIMEOUT_MS,
            lambda: self.caused_by(cause, fail),
            kind="connect_timeout",
            outside=not self._core.network.knows(addr),
        )
        self._dials = [dial for dial in self._dials if dial[0].pending]
        self._dials.append((timer, passing, again))
        return True

    def _partition(self, passing: Passing) -> ActiveFault[Any] | None:
        """A partition that keeps a connect, or its answer, from arriving.

        One that chooses among connections lets them be made.
        """
        able = [
            placed
            for placed in self.plan.at(PARTITION)
            if placed.when.on_call is None
            and placed.when.probability is None
            and (placed.scope.covers(passing) or placed.scope.covers(passing.back()))
        ]
        return max(able, key=lambda placed: placed.scope.narrowness, default=None)

    # -- names --------------------------------------------------------------------------------

    def _passing(self, link: OpenLink) -> Passing:
        near = self._names(link.node, link.local_addr)
        if link.remote_node is None:
            far = self.names_of_peer(link)
        else:
            far = self._names(link.remote_node, link.remote_addr)
        session = link.session
        language = "remoting" if session is None else session.language
        return Passing(source=near, target=far, language=language)

    def _names(self, node: str, addr: str) -> Names:
        """Return the names of an end in this process: a node, or a client on a memory link."""
        names = inside(node, addr)
        return names if node in node_names(self._core) else names | {CLIENTS}

    def _dialling(self, source: Owner, addr: str) -> Passing:
        node = self._core.network.node_at(addr)
        far = outside(addr) if node is None else inside(node, addr)
        is_ha = any(broker.ha_addr == addr for broker in self._core.brokers.values())
        return Passing(
            source=self._names(source.name, ""), target=far, language="ha" if is_ha else "remoting"
        )

    def names_of_peer(self, link: OpenLink) -> Names:
        """Return the names of an outside peer, with its client ids once it sent a heartbeat."""
        names, session = outside(link.remote_addr), link.session
        front = self._core.proxy
        if front is not None and link.node == front.name:
            return names if session is None else names | front.client_ids(session)
        broker = self._core.brokers.get(link.node)
        if broker is None or not isinstance(session, Session):
            return names
        return names | broker.client_ids(session)


def parted_controllers(core: LinkedCluster, scope: Scope) -> list[tuple[str, str]]:
    """Return the names of each two controllers that a partition of this scope separates.

    They have no connections here: two count as one.
    """
    parted = []
    for one, other in combinations(core.controllers_called(None), 2):
        ends = inside(one.name, one.addr), inside(other.name, other.addr)
        passing = Passing(source=ends[0], target=ends[1], language=AMONG_CONTROLLERS)
        if scope.covers(passing) or scope.covers(passing.back()):
            parted.append((one.name, other.name))
    return parted


def node_names(core: LinkedCluster) -> set[str]:
    """Return the names of a cluster's nodes."""
    fronts = () if core.proxy is None else (core.proxy.name,)
    controllers = (one.name for one in core.controllers_called(None))
    return {*core.brokers, *(one.name for one in core.name_servers), *controllers, *fronts}


def plan_of(core: LinkedCluster) -> LinkPlan:
    """Return the one plan of a cluster; make it at the first call."""
    faults = core.network.links.faults
    return faults if isinstance(faults, LinkPlan) else LinkPlan(core)
