"""What the families of faults share: how often a fault acts, placing one, the handle `Fault`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypedDict, TypeVar

from fakemq.config import checked
from fakemq.errors import ArgumentError, ConfigError, counted, did_you_mean, printable
from fakemq.faults.plan import ALWAYS, ONCE, ActiveFault, Point, Scope, When
from fakemq.handles.faults.scopes import FAMILIES, Where
from fakemq.handles.running import Handle, Running
from fakemq.protocol.codes import code_name

if TYPE_CHECKING:
    from fakemq.namesrv.namesrv import NameServer

ActionT = TypeVar("ActionT")
UsuallyT = TypeVar("UsuallyT")
AtOnce: TypeAlias = tuple[str, list[tuple[str, str, Callable[[], object]]]]
"""A fault in words, and its effects: at which node, on what, and the change, which cannot fail."""


class Often(TypedDict, total=False):
    """How often a fault acts: once, unless one of these says otherwise.

    At most one of ``times``, ``on_call`` and ``always`` may be given. An occasion below is an event
    that the fault covers, such as a request of its code to its node.
    """

    times: int
    """Act on the first ``times`` occasions."""
    on_call: int
    """Act on this occasion only, counted from 1: ``on_call=3`` acts on the third."""
    always: bool
    """Act on every occasion until the fault is removed."""
    probability: float
    """Act on an occasion with this probability (above 0, at most 1), drawn from the cluster's seed.
    Without ``times`` or ``on_call`` it applies to every occasion."""
    must_fire: bool
    """False: a test does not fail if the fault never acts."""


def when(often: Often) -> When:
    """Check how often a fault acts, and return it as a `When`.

    Raise ConfigError for values out of range or in contradiction, TypeError for an unknown key.
    """
    require_known(often, Often.__annotations__)
    times, on_call = often.get("times"), often.get("on_call")
    probability = often.get("probability")
    always = "always" in often and checked.flag("always", often["always"])
    if sum((times is not None, on_call is not None, always)) > 1:
        raise ConfigError("a fault has one of times=, on_call= and always=True, not several")
    for name, number in (("times", times), ("on_call", on_call)):
        if number is not None:
            checked.whole(name, number, 1)
    if probability is not None:
        checked.share("probability", probability)
    # There are two cases:
    # 1. no limit: always=True, or a probability alone, which applies to every occasion;
    # 2. a limit: times= or on_call=, or nothing, which means once.
    if on_call is None and times is None and (always or probability is not None):
        return When(None, None, probability)
    return When(1 if times is None else times, on_call, probability)


def parted(limits: Mapping[str, object], others: Iterable[str] = ()) -> tuple[Where, Often]:
    """Split the limits: where, and how often. TypeError for one that is neither, nor in ``others``.

    Those are left to the caller.
    """
    require_known(limits, [*Where.__annotations__, *Often.__annotations__, *others])
    where = Where(**{n: of for n, of in limits.items() if n in Where.__annotations__})  # type: ignore[typeddict-item]  # checked by `scope`
    often = Often(**{n: of for n, of in limits.items() if n in Often.__annotations__})  # type: ignore[typeddict-item]  # checked by `when`
    return where, often


def require_known(options: Iterable[str], known: Collection[str]) -> None:
    """Raise TypeError, as Python does for an unknown argument, for an option not in ``known``."""
    for name in options:
        if name not in known:
            raise ArgumentError(f"a fault has no {name}={did_you_mean(name, known)}")


def when_said(often: Often, usually: UsuallyT) -> When | UsuallyT:
    """Return `when` of ``often``, or ``usually`` if ``often`` does not say how often."""
    return when(often) if often.keys() - {"must_fire"} else usually


def lasting(often: Often) -> When:
    """Return `when` of ``often``, or `ALWAYS` (until removed) if it does not say how often."""
    return when_said(often, ALWAYS)


class Fault(Handle):
    """A fault that was placed. `remove`, or the end of its ``with`` block, ends it.

    Example: ``with mq.faults.partition("broker-a", "clients"): ...``
    """

    def __init__(self, running: Running, placed: ActiveFault[Any]) -> None:
        super().__init__(running)
        self._placed = placed
        self.number = placed.number
        """Counts the faults of a cluster from 1, in the order of their placing."""
        self.what = placed.what
        """The fault in words, as in the journal: ``"drop PULL_MESSAGE, node=broker-a-0"``."""

    @property
    def fired(self) -> int:
        """How often the fault has acted."""
        return self._placed.fired

    @property
    def used(self) -> bool:
        """Whether the fault has acted at least once."""
        return self.fired > 0

    @property
    def placed(self) -> bool:
        """Whether the fault has not been removed yet."""
        return self._placed.placed

    @property
    def pending(self) -> bool:
        """Whether the fault may still act: not removed, and not used up."""
        return self._placed.pending

    @property
    def missed(self) -> str:
        """Which similar requests came that the fault is not for, in words.

        For example, a fault of SEND_MESSAGE never acts on clients that send by SEND_MESSAGE_V2.
        """

        return self._call(lambda: similar_requests(self._placed))

    def remove(self) -> None:
        """End the fault. A second call does nothing."""
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
    """The base of the families of faults: it can place one in the running cluster."""

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
        """Place a fault at ``point`` and return its handle.

        ``what`` is its text in the journal; ``on_end`` is called when the fault is removed.
        """
        checked.flag("must_fire", must_fire)

        def place() -> ActiveFault[ActionT]:
            return self._core.faults.place(
                point, action, what, scope, when, must_fire=must_fire, on_end=on_end
            )

        return Fault(self._running, self._call(place))

    def _at_once(self, point: Point[None], look: Callable[[], AtOnce]) -> Fault:
        """Place a fault that acts now, in the same call in which ``look`` says what it does.

        An error of ``look`` is raised, and no fault is placed.
        """
        core = self._core

        def place() -> Fault:
            what, effects = look()
            fault = self._place(point, None, what, Scope(), ONCE)
            for node, on, act in effects:
                with core.journal.because(fault._placed.hit(node, on)):
                    act()
            core.network.settle()
            return fault

        return self._call(place)

    def _name_servers(self, namesrv: str | int | None) -> list[NameServer]:
        """Return the name server with a name, number or address, or all for None.

        LookupError if there is none.
        """
        return self._core.name_servers_called(namesrv)


# What a fault that never acted could have acted on, had its limits been a little different.

_SHOWN_AT_MOST = 3


def similar_requests(placed: ActiveFault[Any]) -> str:
    """Return which similar requests came, as the end of a sentence; "" for no fault of requests.

    Example: ``similar requests came: SEND_MESSAGE_V2 3 times ("send" covers all sends)``.
    """
    if placed.scope.code is None and placed.scope.rpc is None:
        return ""
    found: Counter[str] = Counter()
    family = ""
    for (field, value), times in placed.near_misses.items():
        if field == "rpc":
            continue  # RPCs have no kin: a client that sends also asks for routes
        if field != "code":
            found[f"with {field}={_one(value)}"] += times
        elif isinstance(value, int) and (common := _kinship(placed, value)) is not None:
            found[code_name(value)] += times
            family = family or common
    if not found:
        return "no similar request came"
    shown = ", ".join(
        f"{what} {counted(times, 'time')}" for what, times in found.most_common(_SHOWN_AT_MOST)
    )
    hint = f' ("{family}" covers them all)' if family else ""
    return printable(f"similar requests came: {shown}{hint}")


def _kinship(placed: ActiveFault[Any], code: int) -> str | None:
    """Return the family that a code shares with the fault's, "" if only the names are similar.

    None if they have nothing in common.
    """
    codes = placed.scope.code
    wanted = codes if isinstance(codes, frozenset) else {codes}
    for name, members in FAMILIES.items():
        if code in members and wanted.intersection(members):
            return name
    names = sorted(code_name(one) for one in wanted if one is not None)
    return "" if did_you_mean(code_name(code), names, cutoff=0.75, lists=False) else None


def _one(value: object) -> str:
    """Return a value of a case; of several the first ones."""
    if isinstance(value, frozenset):
        several = sorted(map(str, value))
        more = ", …" if len(several) > _SHOWN_AT_MOST else ""
        return " or ".join(several[:_SHOWN_AT_MOST]) + more or "none"
    return "none" if value is None else str(value)
