"""What every family of faults needs to place one, and the handle that each placing returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar

from fakemq.config import checked
from fakemq.errors import ConfigError, did_you_mean
from fakemq.faults.plan import ALWAYS, ActiveFault, Point, Scope, When
from fakemq.handles.running import Handle, Running

if TYPE_CHECKING:
    from fakemq.namesrv.namesrv import NameServer

ActionT = TypeVar("ActionT")
UsuallyT = TypeVar("UsuallyT")


class Often(TypedDict, total=False):
    """How often a fault has its effect; once, where nothing is said."""

    times: int
    """So many times, the first ones."""
    on_call: int
    """The n-th time that it could, counted from 1, and only then."""
    always: bool
    """Until it is removed."""
    probability: float
    """Each time that it could with this probability, drawn from the cluster's seed."""
    must_fire: bool
    """False: a test may leave it unused."""


def when(often: Often) -> When:
    """How often, checked. Raises ConfigError for what makes no sense together.

    TypeError, as for any unknown argument, for what is none of `Often`.
    """
    require_known(often, Often.__annotations__)
    times, on_call = often.get("times"), often.get("on_call")
    probability = often.get("probability")
    always = checked.flag("always", often.get("always", False))
    if sum((times is not None, on_call is not None, always)) > 1:
        raise ConfigError("a fault has one of times=, on_call= and always=True, not several")
    for name, number in (("times", times), ("on_call", on_call)):
        if number is not None:
            checked.whole(name, number, 1)
    if probability is not None:
        checked.share("probability", probability)
    if on_call is None and times is None and (always or probability is not None):
        return When(None, None, probability)
    return When(1 if times is None else times, on_call, probability)


def require_known(options: Iterable[str], known: Collection[str]) -> None:
    """TypeError, as for any unknown argument, for an option of a fault that is not ``known``."""
    for name in options:
        if name not in known:
            raise TypeError(f"a fault has no {name}={did_you_mean(name, known)}")


def when_said(often: Often, usually: UsuallyT) -> When | UsuallyT:
    """As `when`, but ``usually`` where nothing is said of how often."""
    return when(often) if often.keys() - {"must_fire"} else usually


def lasting(often: Often) -> When:
    """As `when`, but until the fault is removed where nothing is said."""
    return when_said(often, ALWAYS)


class Fault(Handle):
    """A fault that was placed; ``remove``, or leaving its ``with`` block, ends it."""

    def __init__(self, running: Running, placed: ActiveFault[Any]) -> None:
        super().__init__(running)
        self._placed = placed
        self.number = placed.number
        self.what = placed.what
        """It in words."""

    @property
    def fired(self) -> int:
        """How often it had its effect."""
        return self._placed.fired

    @property
    def used(self) -> bool:
        """Whether it has ever had an effect."""
        return self.fired > 0

    @property
    def placed(self) -> bool:
        """Whether it has not been removed."""
        return self._placed.placed

    @property
    def pending(self) -> bool:
        """Whether it may still have an effect."""
        return self._placed.pending

    def remove(self) -> None:
        """End the fault; again does nothing."""
        if self.placed:
            self._call(self._placed.remove)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fault) and other._placed is self._placed

    def __hash__(self) -> int:
        return hash(self._placed)

    def __repr__(self) -> str:
        return repr(self._placed)


class FaultPlacing(Handle):
    """What every family of faults has: the way to place one."""

    def _place(
        self,
        point: Point[ActionT],
        action: ActionT,
        what: str,
        scope: Scope,
        when: When,
        *,
        must_fire: bool = True,
        on_end: Callable[[], None] = lambda: None,
    ) -> Fault:
        checked.flag("must_fire", must_fire)

        def place() -> ActiveFault[ActionT]:
            return self._core.faults.place(
                point, action, what, scope, when, must_fire=must_fire, on_end=on_end
            )

        return Fault(self._running, self._call(place))

    def _name_servers(self, namesrv: str | int | None) -> list[NameServer]:
        """The name server of a name, number or address, or all; LookupError if there is none."""
        return self._core.name_servers_called(namesrv)
