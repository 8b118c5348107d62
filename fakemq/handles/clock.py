"""Handles on a running cluster's clock, for synchronous and asynchronous tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from fakemq.awaited import must_be_awaited
from fakemq.clock.durations import Duration, Instant, duration_ms, instant_ms, wall_ms
from fakemq.config.checked import flag
from fakemq.core import views
from fakemq.core.views import Deadline
from fakemq.handles.running import Handle, LongCall, Running, moved, waited
from fakemq.handles.values import Listing

if TYPE_CHECKING:
    from fakemq.clock.clock import Hold
    from fakemq.clock.node_clock import NodeClock


class ClockView(Handle):
    """The cluster's clock: methods that read it, and methods that change it at once."""

    def now_ms(self) -> int:
        """Return the cluster's wall time, in milliseconds since the epoch."""
        return self._call(self._core.clock.now_ms)

    def now(self) -> datetime:
        """Return the cluster's wall time, in UTC."""
        return _utc(self.now_ms())

    @property
    def frozen(self) -> bool:
        """Whether time is stopped, so that only `advance` and similar calls move it."""
        return self._core.clock.frozen

    def freeze(self) -> None:
        """Stop time; no timer fires. Peers outside the cluster keep real time."""
        self._call(lambda: self._core.freeze(True))

    def unfreeze(self) -> None:
        """Let time run from its present value; the call itself fires no timer."""
        self._call(lambda: self._core.freeze(False))

    @property
    def rate(self) -> float:
        """How many times as fast as real time an unfrozen clock runs; 1 after `reset`.

        Setting it fires no timer; peers outside the cluster keep real time. Raise ValueError for a
        rate that is below 0.0001 or over 10,000.
        """
        return self._core.clock.rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._call(lambda: self._core.set_rate(rate))

    @property
    def holds(self) -> list[str]:
        """The reasons of all holds on automatic movement, oldest first; empty without a hold."""
        return self._call(lambda: self._core.clock.holds)

    def timers(self) -> list[Deadline]:
        """Return every pending deadline, soonest first."""
        return Listing(self._call(lambda: views.pending_deadlines(self._core.clock)))

    def hold(self, why: str) -> ClockHold:
        """Block every automatic movement until released: ``with mq.clock.hold("why"): ...``.

        Holds are counted. While one exists, a running clock still shows the time but fires no
        timer; when the last one is released, the late timers fire. `advance` and similar calls
        still work.
        """
        return ClockHold(self._running, self._call(lambda: self._core.clock.hold(why)))

    # The next three take the wait of an asynchronous caller, because its task may be cancelled.

    def _advance(
        self, duration: Duration, outside_peers: bool, wait: LongCall | None = None
    ) -> list[Deadline]:
        flag("outside_peers", outside_peers)
        ms = duration_ms(duration, name="advance")
        move = partial(self._core.advance, ms, outside_peers=outside_peers)
        return Listing(moved(self._running(), move, wait))

    def _advance_to(
        self, instant: Instant, outside_peers: bool, wait: LongCall | None = None
    ) -> list[Deadline]:
        flag("outside_peers", outside_peers)
        at_ms = instant_ms(instant, name="advance_to")
        move = partial(self._core.advance_to, at_ms, outside_peers=outside_peers)
        return Listing(moved(self._running(), move, wait))

    def _advance_to_next(
        self, kind: str, outside_peers: bool, wait: LongCall | None = None
    ) -> list[Deadline]:
        flag("outside_peers", outside_peers)
        move = partial(self._core.advance_to_next, kind, outside_peers=outside_peers)
        return Listing(moved(self._running(), move, wait))

    def __repr__(self) -> str:
        state = "frozen" if self.frozen else "running"
        rate = "" if self.rate == 1 else f" {self.rate:g} times as fast"
        held = "".join(f", held: {why}" for why in self.holds)
        return f"<clock {state}{rate} at {self.now().isoformat(timespec='milliseconds')}{held}>"


class ClockHold(Handle):
    """One block on the clock's automatic movement; `release` or the end of ``with`` ends it."""

    def __init__(self, running: Running, hold: Hold) -> None:
        super().__init__(running)
        self._hold = hold
        self.why = hold.why

    def release(self) -> None:
        """End the block; do nothing if it has ended, or the cluster was reset."""
        self._call(self._hold.release)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<the clock is held: {self.why}>"


class NodeClockHandle(Handle):
    """The clock as one node sees it: the cluster's clock plus the node's skew.

    ``find`` returns the node's clock; it is called on the cluster's thread.
    """

    def __init__(self, running: Running, find: Callable[[], NodeClock]) -> None:
        super().__init__(running)
        self._find = find

    @property
    def skew_ms(self) -> int:
        """How many milliseconds it is ahead of the cluster's clock; negative if it is behind."""
        return self._call(lambda: self._find().skew_ms)

    def now_ms(self) -> int:
        """Return the node's wall time, in milliseconds since the epoch."""
        return self._call(lambda: self._find().now_ms())

    def now(self) -> datetime:
        """Return the node's wall time, in UTC."""
        return _utc(self.now_ms())

    def skew(self, by: Duration) -> None:
        """Set the node's clock ahead of the cluster's (``"+5s"``), behind it (``"-300ms"``), or
        equal (0).

        This is a jump of the node's wall time and fires no timer. It lasts until the next call or
        `reset`. Raise ConfigError if the node's time would be outside the years 2 to 9998.
        """
        ms = duration_ms(by, name="skew")

        def skew() -> None:
            clock = self._find()
            wall_ms(clock.now_ms() - clock.skew_ms + ms, name="the node's wall time, in ms")
            clock.skew_ms = ms

        self._call(skew)

    def __repr__(self) -> str:
        now = self.now().isoformat(timespec="milliseconds")
        return f"<clock of a node at {now}, skewed by {self.skew_ms:+d} ms>"


def _utc(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


class ClockHandle(ClockView):
    """The clock of a `Cluster`."""

    def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward by a duration such as ``"11s"``; return the deadlines that fired, in
        order.

        On return all peers inside the cluster are quiet, and the kernel has every byte that was
        sent. The call does not wait for peers outside; their timeouts count the moved time only
        with ``outside_peers=True``.

        Raise ConfigError for more than ten years. `stop`, a cancelled task or Ctrl-C ends the call
        between two deadlines; time keeps the value reached then, and a caller that still waits gets
        FakemqError.
        """
        return self._advance(duration, outside_peers)

    def advance_to(self, instant: Instant, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward to a wall time, as `advance`; ValueError for a time in the past."""
        return self._advance_to(instant, outside_peers)

    def advance_to_next(self, kind: str, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward to the next pending deadline of a kind, such as ``"broker_expiry"``.

        Return the deadlines that fired. A check of transactions that sleeps is moved to its end. A
        deadline that is postponed on the way does not fire: each
        registration of a broker postpones its ``broker_expiry``. If the deadline watches an outside
        peer, the timeouts of all outside peers count the moved time; with ``outside_peers=True``
        only such deadlines are considered. Raise LookupError, with the pending kinds, if none of
        this kind is pending.
        """
        return self._advance_to_next(kind, outside_peers)


@must_be_awaited
class AsyncClockHandle(ClockView):
    """The clock of an `AsyncCluster`; arguments, results and errors are those of `ClockHandle`."""

    async def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward, as `ClockHandle.advance`."""
        return await waited(partial(self._advance, duration, outside_peers))

    async def advance_to(self, instant: Instant, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward to a wall time, as `ClockHandle.advance_to`."""
        return await waited(partial(self._advance_to, instant, outside_peers))

    async def advance_to_next(self, kind: str, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time forward to a deadline, as `ClockHandle.advance_to_next`."""
        return await waited(partial(self._advance_to_next, kind, outside_peers))
