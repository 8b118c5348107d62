"""The active faults, and the choice of the one that applies to a request, call or link.

A fault is placed at a *point*, a kind of place in the cluster where it can have an effect. Code at
that place describes the present case as a `Scope` and asks which fault applies: the narrowest one
that covers it, and of equally narrow ones the oldest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from fakemq.errors import counted
from fakemq.events.faults import FaultHit, FaultPlaced, FaultRemoved
from fakemq.randomness import Randomness

if TYPE_CHECKING:
    from fakemq.journal.journal import Journal

ActionT = TypeVar("ActionT")
_NEAR_MISSES = 32
"""How many different near misses a fault counts: peers choose codes and names."""


class Point(Generic[ActionT]):
    """A kind of place at which faults have an effect, and the type of their actions."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<point {self.name}>"


class Scope(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The limits of a fault, or the description of a case; None stands for any value.

    ``code`` is that of a request, ``rpc`` the name of an RPC, ``node`` the place, ``peer`` the node
    or address at the other end of a link, ``client`` a client id or a client's address. A case that
    concerns several values has a set of them; for example, a heartbeat has several groups. A fault
    may have several codes.
    """

    code: int | frozenset[int] | None = None
    rpc: str | None = None
    node: str | None = None
    peer: str | None = None
    topic: str | frozenset[str] | None = None
    queue: int | frozenset[int] | None = None
    group: str | frozenset[str] | None = None
    client: str | frozenset[str] | None = None

    def covers(self, happening: Scope) -> bool:
        """Return whether ``happening`` has every value that this scope has."""
        return all(_is_or_has(getattr(happening, name), value) for name, value in self.given())

    def given(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the names and values of the fields that are not None."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None:
                yield name, value

    def concerns(self, node: str) -> bool:
        """Return whether a node is named by the scope, as the place or as an end."""
        return node in (self.node, self.peer)

    @property
    def narrowness(self) -> int:
        """The number of fields that are not None."""
        return sum(1 for _ in self.given())


def _is_or_has(happening: object, value: object) -> bool:
    if isinstance(value, frozenset):
        return happening in value
    return happening == value or (isinstance(happening, frozenset) and value in happening)


class When(msgspec.Struct, frozen=True, gc=False):
    """How often a fault has its effect."""

    times: int | None = 1
    """With how many calls; None for all."""
    on_call: int | None = None
    """With this call only, counted from 1."""
    probability: float | None = None
    """With this probability for each call; None for 1."""

    def __str__(self) -> str:
        if self.on_call is not None:
            return f"on call {self.on_call}"
        often = {None: "always", 1: "once"}.get(self.times, f"{self.times} times")
        return often if self.probability is None else f"{often} with probability {self.probability}"


ONCE = When()
ALWAYS = When(None)


class ActiveFault(Generic[ActionT]):
    """A placed fault, and how often it was hit."""

    def __init__(
        self,
        plan: FaultPlan,
        number: int,
        point: Point[ActionT],
        action: ActionT,
        what: str,
        scope: Scope,
        when: When,
        must_fire: bool,
        on_end: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._on_end = on_end
        self.number = number
        self.point = point
        self.action = action
        self.what = what
        self.scope = scope
        self.when = when
        self.must_fire = must_fire
        """Whether a test fails if the fault has no effect."""
        self.calls = 0
        """How many cases it covered, with or without an effect."""
        self.fired = 0
        """How often it had its effect."""
        self.placed = True
        """Whether it is not removed yet."""
        self.near_misses: Counter[tuple[str, object]] = Counter()
        """How many cases differed from the scope in one field only: the field and their value."""

    def miss(self, happening: Scope) -> None:
        """Count a case that the scope does not cover, if it nearly does."""
        different = [
            (name, getattr(happening, name))
            for name, value in self.scope.given()
            if not _is_or_has(getattr(happening, name), value)
        ]
        if len(different) == 1 and (
            different[0] in self.near_misses or len(self.near_misses) < _NEAR_MISSES
        ):
            self.near_misses[different[0]] += 1

    @property
    def exhausted(self) -> bool:
        """Whether it has had all its effects."""
        if self.when.on_call is not None:
            return self.calls >= self.when.on_call
        return self.when.times is not None and self.fired >= self.when.times

    @property
    def pending(self) -> bool:
        """Whether it may still have an effect."""
        return self.placed and not self.exhausted

    @property
    def unused(self) -> bool:
        """Whether it must have an effect and had none."""
        return self.must_fire and not self.fired

    def hit(self, node: str, on: str) -> int:
        """Write a `FaultHit` at ``node`` to the journal; ``on`` is a text. Return its ``seq``.

        The hit is the cause of what follows: ``with journal.because(fault.hit(...)):``.
        """
        self.fired += 1
        seq = self._plan.journal.add(FaultHit(node=node, fault=self.number, what=self.what, on=on))
        self._plan.settle(self)
        return seq

    def remove(self) -> None:
        """Remove the fault; a second call does nothing."""
        if self.placed:
            self.placed = False
            self._plan.settle(self)
            self._plan.journal.add(
                FaultRemoved(node=self.scope.node or "cluster", fault=self.number, what=self.what)
            )
            self._on_end()

    def __repr__(self) -> str:
        state = "removed" if not self.placed else "spent" if self.exhausted else "pending"
        fired = counted(self.fired, "time")
        return f"<fault {self.number} {self.what}, {self.when}, fired {fired}, {state}>"


class FaultPlan:
    """The faults of one cluster."""

    def __init__(self, journal: Journal, randomness: Randomness | None = None) -> None:
        self.journal = journal
        self._randomness = Randomness(0) if randomness is None else randomness
        self._placed: list[ActiveFault[Any]] = []
        """Every fault since the last `reset`, also the removed ones; oldest first."""
        self._number = 0
        """The number of the newest fault."""
        self._at: dict[Point[Any], list[ActiveFault[Any]]] = {}
        """Point → its pending faults; see `at`."""

    def at(self, point: Point[ActionT]) -> list[ActiveFault[ActionT]]:
        """Return the pending faults at a point: always the same list object, which changes.

        A caller that looks often keeps the list and calls `choose` only if it is not empty.
        """
        return self._at.setdefault(point, [])

    def place(
        self,
        point: Point[ActionT],
        action: ActionT,
        what: str,
        scope: Scope,
        when: When = ONCE,
        *,
        must_fire: bool = True,
        on_end: Callable[[], None] = lambda: None,
    ) -> ActiveFault[ActionT]:
        """Place a fault from now on; ``on_end`` is called when it is removed."""
        self._number += 1
        placed = ActiveFault(
            self, self._number, point, action, what, scope, when, must_fire, on_end
        )
        self._placed.append(placed)
        self.at(point).append(placed)
        self.journal.add(FaultPlaced(node=scope.node or "cluster", fault=placed.number, what=what))
        return placed

    def choose(self, point: Point[ActionT], happening: Scope) -> ActiveFault[ActionT] | None:
        """Return the fault that applies to a case at a point; None if none does.

        The caller then calls `ActiveFault.hit`. The call counts for every fault that covers the
        case, not only for the chosen one.
        """
        chosen: ActiveFault[ActionT] | None = None
        for placed in list(self.at(point)):
            if not placed.scope.covers(happening):
                placed.miss(happening)
                continue
            due = self.call(placed)
            if due and (chosen is None or placed.scope.narrowness > chosen.scope.narrowness):
                chosen = placed
            elif placed.exhausted:
                self.settle(placed)
        return chosen

    def call(self, placed: ActiveFault[Any]) -> bool:
        """Count one call of a fault; return whether the fault has its effect with this call."""
        placed.calls += 1
        return placed.when.on_call in (None, placed.calls) and self._draw(placed)

    def _draw(self, placed: ActiveFault[Any]) -> bool:
        probability = placed.when.probability
        if probability is None:
            return True
        return self._randomness.stream(f"fault {placed.number}").random() < probability

    def settle(self, placed: ActiveFault[Any]) -> None:
        """Remove a fault from its point's list if it is not pending any more."""
        waiting = self.at(placed.point)
        if not placed.pending and placed in waiting:
            waiting.remove(placed)

    def all(self) -> list[ActiveFault[Any]]:
        """Return every fault since the last `reset`, oldest first."""
        return list(self._placed)

    @property
    def pending(self) -> bool:
        """Whether a placed fault can still have an effect."""
        return any(placed.pending for placed in self._placed)

    def remove_at(self, points: Collection[Point[Any]]) -> None:
        """Remove every fault at one of these points."""
        for placed in self.all():
            if placed.point in points:
                placed.remove()

    def clear(self) -> None:
        """Remove every fault. They stay in `all`, and numbers continue."""
        for placed in self._placed:
            placed.remove()

    def reset(self) -> None:
        """Remove every fault and empty `all`; numbers begin at 1 again."""
        self.clear()
        self._placed.clear()
        self._number = 0

    def __repr__(self) -> str:
        return f"<fault plan {[placed for placed in self._placed if placed.pending]}>"
