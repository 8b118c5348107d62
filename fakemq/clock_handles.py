"""Handles on a running cluster's clock, for synchronous and asynchronous tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from fakemq import inspection
from fakemq.durations import Duration, Instant, duration_ms, instant_ms
from fakemq.handles import Handle, Running, in_thread
from fakemq.views import Deadline

if TYPE_CHECKING:
    from fakemq.clock import Hold


class ClockView(Handle):
    """The cluster's clock: reading it, and what changes it at once."""

    def now_ms(self) -> int:
        """The cluster's wall time, in milliseconds since the epoch."""
        return self._call(self._core.clock.now_ms)

    def now(self) -> datetime:
        """The cluster's wall time, in UTC."""
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)

    @property
    def frozen(self) -> bool:
        return self._core.clock.frozen

    def freeze(self) -> None:
        """Let time stand still; fires nothing. Peers outside the cluster go on in real time."""
        self._call(lambda: self._core.freeze(True))

    def unfreeze(self) -> None:
        """Let time run on from where it stands; fires nothing by itself."""
        self._call(lambda: self._core.freeze(False))

    def timers(self) -> list[Deadline]:
        """Every pending deadline, soonest first."""
        return self._call(lambda: inspection.timers(self._core))

    def hold(self, why: str) -> ClockHold:
        """A counted block on every automatic movement; ``with mq.clock.hold("why"): ...``."""
        return ClockHold(self._running, self._call(lambda: self._core.clock.hold(why)))

    def _advance(self, duration: Duration, outside_peers: bool) -> list[Deadline]:
        ms = duration_ms(duration, name="advance")
        return self._call(lambda: self._core.advance(ms, outside_peers=outside_peers))

    def _advance_to(self, instant: Instant) -> list[Deadline]:
        at_ms = instant_ms(instant, name="advance_to")
        return self._call(lambda: self._core.advance_to(at_ms))

    def _advance_to_next(self, kind: str) -> list[Deadline]:
        return self._call(lambda: self._core.advance_to_next(kind))

    def __repr__(self) -> str:
        state = "frozen" if self.frozen else "running"
        return f"<clock {state} at {self.now().isoformat(timespec='milliseconds')}>"


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


class ClockHandle(ClockView):
    """The clock of a `Cluster`."""

    def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Deadline]:
        """Move time on and fire what falls due, in order; gives what fired.

        On return all peers living in the cluster are quiet and every byte is with the kernel.
        It never waits for peers outside; their own liveness ages only with ``outside_peers``.
        """
        return self._advance(duration, outside_peers)

    def advance_to(self, instant: Instant) -> list[Deadline]:
        """Advance to a wall time; the past is refused with ValueError."""
        return self._advance_to(instant)

    def advance_to_next(self, kind: str) -> list[Deadline]:
        """Advance to the next pending deadline of a kind; LookupError names what is pending."""
        return self._advance_to_next(kind)


class AsyncClockHandle(ClockView):
    """The clock of an `AsyncCluster`; see `ClockHandle`."""

    async def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Deadline]:
        return await in_thread(lambda: self._advance(duration, outside_peers))

    async def advance_to(self, instant: Instant) -> list[Deadline]:
        return await in_thread(lambda: self._advance_to(instant))

    async def advance_to_next(self, kind: str) -> list[Deadline]:
        return await in_thread(lambda: self._advance_to_next(kind))
