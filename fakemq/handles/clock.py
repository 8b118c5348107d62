"""Handles on a running cluster's clock, for synchronous and asynchronous tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from fakemq.clock.durations import Duration, Instant, duration_ms, instant_ms
from fakemq.core import deadlines
from fakemq.core.views import Deadline
from fakemq.handles.running import Handle, Running, Wait, moved, waited

if TYPE_CHECKING:
    from fakemq.clock.clock import Hold
    from fakemq.clock.node_clock import NodeClock


class ClockView(Handle):
    """The cluster's clock: reading it, and what changes it at once."""

    def now_ms(self) -> int:
        """The cluster's wall time, in milliseconds since the epoch."""
        return self._call(self._core.clock.now_ms)

    def now(self) -> datetime:
        """The cluster's wall time, in UTC."""
        return _utc(self.now_ms())

    @property
    def frozen(self) -> bool:
        return self._core.clock.frozen

    def freeze(self) -> None:
        """Stop time; fires nothing. Peers outside the cluster keep real time."""
        self._call(lambda: self._core.freeze(True))

    def unfreeze(self) -> None:
        """Let time run on from where it stands; fires nothing by itself."""
        self._call(lambda: self._core.freeze(False))

    @property
    def rate(self) -> float:
        """How many times as fast as real time it runs while it is not frozen; 1 after `reset`.

        Setting it fires nothing; peers outside the cluster keep real time. ValueError for what
        is not above 0 or over 10,000.
        """
        return self._core.clock.rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._call(lambda: self._core.set_rate(rate))

    @property
    def holds(self) -> list[str]:
        """Why what moves by itself is blocked, oldest reason first; empty if it is not."""
        return self._call(lambda: self._core.clock.holds)

    def timers(self) -> list[Deadline]:
        """Every pending deadline, soonest first."""
        return self._call(lambda: deadlines.timers(self._core.clock))

    def hold(self, why: str) -> ClockHold:
        """A counted block on every automatic movement; ``with mq.clock.hold("why"): ...``.

        A clock that runs still shows the time, but fires nothing until the last hold is
        released; then it fires what is late. `advance` and its like still move it.
        """
        return ClockHold(self._running, self._call(lambda: self._core.clock.hold(why)))

    # Each of these takes the wait of an asynchronous caller, which may be cancelled.

    def _advance(
        self, duration: Duration, outside_peers: bool, wait: Wait | None = None
    ) -> list[Deadline]:
        ms = duration_ms(duration, name="advance")
        move = partial(self._core.advance, ms, outside_peers=outside_peers)
        return moved(self._running(), move, wait)

    def _advance_to(
        self, instant: Instant, outside_peers: bool, wait: Wait | None = None
    ) -> list[Deadline]:
        at_ms = instant_ms(instant, name="advance_to")
        move = partial(self._core.advance_to, at_ms, outside_peers=outside_peers)
        return moved(self._running(), move, wait)

    def _advance_to_next(
        self, kind: str, outside_peers: bool, wait: Wait | None = None
    ) -> list[Deadline]:
        move = partial(self._core.advance_to_next, kind, outside_peers=outside_peers)
        return moved(self._running(), move, wait)

    def __repr__(self) -> str:
        state = "frozen" if self.frozen else "running"
        rate = "" if self.rate == 1 else f" {self.rate:g} times as fast"
        held = "".join(f", held: {why}" for why in self.holds)
        return f"<clock {state}{rate} at {self.now().isoformat(timespec='milliseconds')}{held}>"


class ClockHold(Handle):
    """One block on the clock's automatic movement; leaving the block or `release` ends it."""

    def __init__(self, running: Running, hold: Hold) -> None:
        super().__init__(running)
        self._hold = hold
        self.why = hold.why

    def release(self) -> None:
        """End it; again, or after a reset, does nothing."""
        self._call(self._hold.release)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<the clock is held: {self.why}>"


class NodeClockHandle(Handle):
    """The clock as one node sees it: the cluster's, and what the node's is wrong by.

    ``find`` returns the node's clock; it is called on the cluster's thread.
    """

    def __init__(self, running: Running, find: Callable[[], NodeClock]) -> None:
        super().__init__(running)
        self._find = find

    @property
    def skew_ms(self) -> int:
        """How far it is ahead of the cluster's clock; below 0 it is behind."""
        return self._call(lambda: self._find().skew_ms)

    def now_ms(self) -> int:
        """The node's wall time, in milliseconds since the epoch."""
        return self._call(lambda: self._find().now_ms())

    def now(self) -> datetime:
        """The node's wall time, in UTC."""
        return _utc(self.now_ms())

    def skew(self, by: Duration) -> None:
        """Be so far ahead of the cluster's clock, or behind it: ``"+5s"``, ``"-300ms"``, 0.

        It is a jump of this node's wall, and fires nothing; it lasts until the next one or `reset`.
        """
        ms = duration_ms(by, name="skew")

        def skew() -> None:
            self._find().skew_ms = ms

        self._call(skew)

    def __repr__(self) -> str:
        now = self.now().isoformat(timespec="milliseconds")
        return f"<clock of a node at {now}, skewed by {self.skew_ms:+d} ms>"


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


class ClockHandle(ClockView):
    """The clock of a `Cluster`."""

    def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time on and fire what falls due, in order; return what fired.

        On return all peers living in the cluster are quiet and every byte is with the kernel.
        It never waits for peers outside; their own liveness ages only with ``outside_peers``.
        ConfigError for over ten years. `stop`, a cancelled task or Ctrl-C ends it between two
        deadlines, with FakemqError for a caller that still waits; time stays where it was by then.
        """
        return self._advance(duration, outside_peers)

    def advance_to(self, instant: Instant, *, outside_peers: bool = False) -> list[Deadline]:
        """Advance to a wall time; the past is refused with ValueError."""
        return self._advance_to(instant, outside_peers)

    def advance_to_next(self, kind: str, *, outside_peers: bool = False) -> list[Deadline]:
        """Advance to the next pending deadline of a kind; LookupError names what is pending.

        A deadline that watches an outside peer ages all of them; with ``outside_peers`` no other
        counts. One that is put off on the way, as each registration does to ``broker_expiry``,
        does not fire.
        """
        return self._advance_to_next(kind, outside_peers)


class AsyncClockHandle(ClockView):
    """The clock of an `AsyncCluster`; see `ClockHandle`."""

    async def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Deadline]:
        return await waited(partial(self._advance, duration, outside_peers))

    async def advance_to(self, instant: Instant, *, outside_peers: bool = False) -> list[Deadline]:
        return await waited(partial(self._advance_to, instant, outside_peers))

    async def advance_to_next(self, kind: str, *, outside_peers: bool = False) -> list[Deadline]:
        return await waited(partial(self._advance_to_next, kind, outside_peers))
