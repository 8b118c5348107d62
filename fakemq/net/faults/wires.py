"""A connection that faults affect: how each fault acts on its bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fakemq.faults.points import (
    BANDWIDTH,
    CUT,
    HOLD_LINK,
    LATENCY,
    PARTITION,
    RESET,
    SLICE,
    Latency,
)
from fakemq.net.faults.lane import Act, Lane, LaneConditions
from fakemq.net.faults.scopes import Passing

if TYPE_CHECKING:
    from fakemq.clock.clock import Clock
    from fakemq.faults.plan import ActiveFault, FaultPlan, Point
    from fakemq.journal.journal import Cause
    from fakemq.net.faults.lane import OpenLink
    from fakemq.net.faults.scopes import Names
    from fakemq.randomness import Randomness


class WireOwner(Protocol):
    """The plan that made a wire, as the wire uses it."""

    clock: Clock
    plan: FaultPlan
    randomness: Randomness

    def caused_by(self, cause: Cause, act: Act) -> None:
        """Call ``act`` with this cause, if it is not 0."""

    def ask_all(self, wire: FaultyWire) -> None:
        """Offer a connection to every fault that may affect it."""

    def names_of_peer(self, link: OpenLink) -> Names:
        """Return the names of an outside peer, its client ids included."""

    def forget(self, link: OpenLink) -> bool:
        """Drop the wire of a connection; return whether there was one."""

    def unwire(self, link: OpenLink, is_affected: bool) -> None:
        """Remove a connection's idle lanes, unless a fault affects it or may do so later."""


class Direction:
    """One direction of a wire: faults are applied to bytes, then a lane delivers them."""

    def __init__(self, wire: FaultyWire, passing: Passing, lane: Lane) -> None:
        self.passing = passing
        self.lane = lane
        self._wire = wire
        self._passed_bytes: dict[ActiveFault[Any], int] = {}
        """Each fault that cuts → how many bytes it has let through."""

    @property
    def held_bytes(self) -> int:
        return self.lane.held_bytes

    @property
    def full(self) -> bool:
        return self.lane.full

    def deliver_due(self) -> None:
        self.lane.deliver_due()

    def drop(self) -> None:
        self.lane.drop()
        self._wire.unwire_if_idle()

    def put(self, data: bytes) -> None:
        if self._wire.over:
            return
        cause = self._apply_faults()
        if self._wire.acting(RESET, self.passing) is not None:
            self._wire.reset_if_due()
            return
        placed = self._wire.acting(CUT, self.passing)
        if placed is not None:
            passed_bytes = self._passed_bytes.get(placed, 0)
            self._passed_bytes[placed] = passed_bytes + len(data)
            left_bytes = placed.action - passed_bytes
            if len(data) >= left_bytes:
                cause = self._wire.hit(placed)
                self._cut(data[:left_bytes], placed, cause)
                return
        self.lane.put(data, cause)

    def _cut(self, data: bytes, placed: ActiveFault[int], cause: Cause) -> None:
        self._wire.over = True
        self.lane.put(data, cause, partial(self._wire.cut, placed, cause))

    def after(self, act: Act) -> None:
        if not self._wire.over:
            self._apply_faults()
        self.lane.after(act)

    def _apply_faults(self) -> Cause:
        """Apply every active fault. Return the cause to record for bytes delivered late.

        There are two cases: 1. a fault hits the connection for the first time: the hit; 2. later:
        the present cause, or the latest hit if there is none.
        """
        self._wire.recognise()
        journal = self._wire.journal
        last_seq, hit_seq = journal.last_seq, 0
        for point in (SLICE, BANDWIDTH, LATENCY, HOLD_LINK, PARTITION):
            placed = self._wire.acting(point, self.passing)
            if placed is not None:
                hit_seq = max(hit_seq, self._wire.hit(placed))
        self.refresh()
        return hit_seq if hit_seq > last_seq else journal.cause or hit_seq

    def refresh(self) -> None:
        """Set the lane's conditions to those of the active faults."""
        acting = partial(self._wire.acting, passing=self.passing)
        latency, bandwidth, slices = acting(LATENCY), acting(BANDWIDTH), acting(SLICE)
        late = Latency(0, 0) if latency is None else latency.action
        self.lane.set(
            LaneConditions(
                late.latency_ms,
                late.jitter_ms,
                None if bandwidth is None else bandwidth.action,
                None if slices is None else slices.action,
                acting(HOLD_LINK) is not None or acting(PARTITION) is not None,
            )
        )


class FaultyWire:
    """A connection that faults affect: its two directions and the faults."""

    def __init__(self, faults: WireOwner, link: OpenLink, passing: Passing) -> None:
        self._faults = faults
        self.journal = faults.plan.journal
        self._link = link
        self._active: list[ActiveFault[Any]] = []
        """The faults that chose this connection."""
        self._asked: set[ActiveFault[Any]] = set()
        """The faults that had to choose: each connection counts once."""
        self._hits: dict[ActiveFault[Any], int] = {}
        """Fault → the ``seq`` of its `FaultHit`."""
        self._near_names = passing.source
        self.over = False
        """Whether a fault has ended the connection: no more bytes pass."""
        self._language = passing.language
        self._far_names = passing.target
        self._directions: dict[bool, Direction] = {}
        far = link.remote_addr if link.remote_node is None else link.remote_node
        self.text = (link.node, far)
        link.wire(self._make)

    def _make(
        self,
        take: Callable[[bytes], None],
        *,
        outward: bool,
        soon: Callable[[Act], None],
        ready: Callable[[], bool] = lambda: True,
        moved: Act = lambda: None,
    ) -> Direction:
        faults, text = self._faults, self.text if outward else self.text[::-1]

        def deliver(data: bytes, cause: Cause) -> None:
            soon(lambda: faults.caused_by(cause, partial(take, data)))

        def come() -> None:
            moved()
            self.unwire_if_idle()

        lane = Lane(
            faults.clock,
            f"{text[0]} → {text[1]}",
            deliver,
            ready=ready,
            moved=come,
            spread=self._spread,
        )
        direction = Direction(self, self._passing(outward), lane)
        self._directions[outward] = direction
        return direction

    def _passing(self, outward: bool) -> Passing:
        passing = Passing(source=self._near_names, target=self._far_names, language=self._language)
        return passing if outward else passing.back()

    def _spread(self, ms: int) -> int:
        return self._faults.randomness.stream("link jitter").randint(-ms, ms)

    # -- which faults -------------------------------------------------------------------------

    def ask(self, placed: ActiveFault[Any]) -> None:
        """Apply a fault to this connection from now on, if its scope covers it."""
        if placed in self._asked or (
            not placed.scope.covers(self._passing(True))
            and not (placed.scope.covers(self._passing(False)))
        ):
            return
        self._asked.add(placed)
        if self._faults.plan.call(placed):
            self._active.append(placed)

    def recognise(self) -> None:
        """Check whether the peer has sent its client id meanwhile."""
        if not self._link.outside:
            return
        names = self._faults.names_of_peer(self._link)
        if names == self._far_names:
            return
        self._far_names = names
        for outward, direction in self._directions.items():
            direction.passing = self._passing(outward)
        self._faults.ask_all(self)

    def acting(self, point: Point[Any], passing: Passing) -> ActiveFault[Any] | None:
        """Return the fault of a kind that acts on one direction: the narrowest, then the oldest."""
        able = [
            placed
            for placed in self._active
            if placed.point is point and self._may(placed) and placed.scope.covers(passing)
        ]
        return max(able, key=lambda placed: placed.scope.narrowness, default=None)

    @property
    def is_affected(self) -> bool:
        """Whether a fault that chose this connection may still act."""
        return any(map(self._may, self._active))

    def _may(self, placed: ActiveFault[Any]) -> bool:
        times = placed.when.times
        return placed.placed and (placed in self._hits or times is None or placed.fired < times)

    def hit(self, placed: ActiveFault[Any]) -> int:
        """Add a `FaultHit` to the journal, the first time only; return its ``seq``."""
        seq = self._hits.get(placed)
        if seq is None:
            text = " – ".join(self.text)
            seq = self._hits[placed] = placed.hit(self.text[0], text)
        return seq

    # -- its life -----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Set both lanes' conditions to those of the active faults."""
        for direction in list(self._directions.values()):
            direction.refresh()
        self.unwire_if_idle()

    def reset_if_due(self) -> None:
        """Reset the connection if a fault demands it."""
        placed = None if self.over else self.acting(RESET, self._passing(True))
        if placed is not None:
            self._end(placed, self.hit(placed), self._link.reset)

    def cut(self, placed: ActiveFault[Any], cause: Cause) -> None:
        """End the connection, after all bytes before the cut have arrived."""
        self._end(placed, cause, self._link.cut)

    def _end(
        self,
        placed: ActiveFault[Any],
        cause: Cause,
        end: Callable[[str, Callable[[Act], None]], None],
    ) -> None:
        self.over = True
        for direction in self._directions.values():
            direction.lane.drop()
        self._faults.forget(self._link)
        end(placed.what, partial(self._faults.caused_by, cause))

    def unwire_if_idle(self) -> None:
        """Remove the lanes, if no byte is on its way and no fault affects the connection."""
        lanes = [direction.lane for direction in self._directions.values()]
        if len(lanes) == 2 and all(lane.idle for lane in lanes):
            self._faults.unwire(self._link, self.is_affected)
