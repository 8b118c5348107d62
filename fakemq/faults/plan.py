"""Which faults are active, and which of them applies to what happens now.

A fault is placed at a *point*, a kind of place in the cluster where it can have an effect. Code at
that place describes what is about to happen as a `Scope` and asks which fault applies: the
narrowest that covers it, then the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from fakemq.events.faults import FaultHit, FaultPlaced, FaultRemoved
from fakemq.randomness import Randomness

if TYPE_CHECKING:
    from fakemq.journal.journal import Journal

ActionT = TypeVar("ActionT")


class Point(Generic[ActionT]):
    """A kind of place at which faults have an effect, and what it takes to say which effect."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<point {self.name}>"


class Scope(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a fault is limited to, or what is happening; None says nothing about it.

    ``code`` is a request's, ``node`` where it happens, ``peer`` the node or address at the other
    end of a link, ``client`` a client id or a client's address. What is happening may concern
    several at once, as a heartbeat does groups: then it has a set of them. A fault may be of
    several codes.
    """

    code: int | frozenset[int] | None = None
    node: str | None = None
    peer: str | None = None
    topic: str | frozenset[str] | None = None
    queue: int | frozenset[int] | None = None
    group: str | frozenset[str] | None = None
    client: str | frozenset[str] | None = None

    def covers(self, happening: Scope) -> bool:
        """Whether ``happening`` has every value that this scope has."""
        return all(_is_or_has(getattr(happening, name), value) for name, value in self.given())

    def given(self) -> Iterator[tuple[str, Any]]:
        """The names and values of what it says something about."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None:
                yield name, value

    @property
    def narrowness(self) -> int:
        """How many things it says something about."""
        return sum(1 for _ in self.given())


def _is_or_has(happening: object, value: object) -> bool:
    if isinstance(value, frozenset):
        return happening in value
    return happening == value or (isinstance(happening, frozenset) and value in happening)


class When(msgspec.Struct, frozen=True, gc=False):
    """How often a fault has its effect: ``times`` (None: always), or with the ``on_call``-th call.

    Each time only with ``probability``.
    """

    times: int | None = 1
    on_call: int | None = None
    probability: float | None = None

    def __str__(self) -> str:
        if self.on_call is not None:
            return f"on call {self.on_call}"
        often = {None: "always", 1: "once"}.get(self.times, f"{self.times} times")
        return often if self.probability is None else f"{often} with probability {self.probability}"


ONCE = When()
ALWAYS = When(None)


class ActiveFault(Generic[ActionT]):
    """A fault that was placed: how it was placed, and what has become of it."""

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
        """Whether a test fails that leaves it unused."""
        self.calls = 0
        """How much happened that it covers."""
        self.fired = 0
        """How often it had its effect."""
        self.placed = True
        """Whether it has not been removed, by hand or by `FaultPlan.clear`."""

    @property
    def exhausted(self) -> bool:
        """Whether it had its effect as often as it was to."""
        if self.when.on_call is not None:
            return self.calls >= self.when.on_call
        return self.when.times is not None and self.fired >= self.when.times

    @property
    def pending(self) -> bool:
        """Whether it may still have an effect."""
        return self.placed and not self.exhausted

    @property
    def unused(self) -> bool:
        """Whether it was to have an effect and never had."""
        return self.must_fire and not self.fired

    def hit(self, node: str, on: str) -> int:
        """Journal that it has its effect, at ``node`` on what ``on`` says; return the ``seq``.

        The hit is the cause of what follows: ``with journal.because(fault.hit(...)):``.
        """
        self.fired += 1
        seq = self._plan.journal.add(FaultHit(node=node, fault=self.number, what=self.what, on=on))
        self._plan.settle(self)
        return seq

    def remove(self) -> None:
        """End it; again does nothing."""
        if self.placed:
            self.placed = False
            self._plan.settle(self)
            self._plan.journal.add(
                FaultRemoved(node=self.scope.node or "cluster", fault=self.number, what=self.what)
            )
            self._on_end()

    def __repr__(self) -> str:
        state = "removed" if not self.placed else "spent" if self.exhausted else "pending"
        return f"<fault {self.number} {self.what}, {self.when}, fired {self.fired} times, {state}>"


class FaultPlan:
    """Every fault of one cluster."""

    def __init__(self, journal: Journal, randomness: Randomness | None = None) -> None:
        self.journal = journal
        self._randomness = Randomness(0) if randomness is None else randomness
        self._placed: list[ActiveFault[Any]] = []
        self._number = 0
        self._at: dict[Point[Any], list[ActiveFault[Any]]] = {}

    def at(self, point: Point[ActionT]) -> list[ActiveFault[ActionT]]:
        """The faults that may have an effect at a point: always the same list, which changes.

        Callers that look often keep the list: as long as it is empty there is nothing to ask.
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
        """The fault that applies to what happens at a point, which it is to `ActiveFault.hit`.

        Every fault that covers it has had one more call, whichever it is.
        """
        chosen: ActiveFault[ActionT] | None = None
        for placed in list(self.at(point)):
            if not placed.scope.covers(happening):
                continue
            due = self.call(placed)
            if due and (chosen is None or placed.scope.narrowness > chosen.scope.narrowness):
                chosen = placed
            elif placed.exhausted:
                self.settle(placed)
        return chosen

    def call(self, placed: ActiveFault[Any]) -> bool:
        """Count one more time that a fault could have its effect; return whether it has it."""
        placed.calls += 1
        return placed.when.on_call in (None, placed.calls) and self._draw(placed)

    def _draw(self, placed: ActiveFault[Any]) -> bool:
        probability = placed.when.probability
        if probability is None:
            return True
        return self._randomness.stream(f"fault {placed.number}").random() < probability

    def settle(self, placed: ActiveFault[Any]) -> None:
        """Take a fault that is over off its point's list."""
        waiting = self.at(placed.point)
        if not placed.pending and placed in waiting:
            waiting.remove(placed)

    def all(self) -> list[ActiveFault[Any]]:
        """Every fault since the last `reset`, oldest first."""
        return list(self._placed)

    def remove_at(self, points: Collection[Point[Any]]) -> None:
        """Remove every fault that was placed at one of these."""
        for placed in self.all():
            if placed.point in points:
                placed.remove()

    def clear(self) -> None:
        """Remove every fault; unused faults stay listed as such, and the numbering continues."""
        for placed in self._placed:
            placed.remove()

    def reset(self) -> None:
        """Remove every fault and forget all that were; numbers begin at 1 again."""
        self.clear()
        self._placed.clear()
        self._number = 0

    def __repr__(self) -> str:
        return f"<fault plan {[placed for placed in self._placed if placed.pending]}>"
