"""Real time, and axes of elapsed time that run with it or stand still.

The only file that reads the machine's clocks, and through ``clock_gettime``, which freezegun
leaves alone.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, Protocol

from fakemq.clock.timers import Timeline

_clock_gettime_ns = time.clock_gettime_ns
_REALTIME, _MONOTONIC = time.CLOCK_REALTIME, time.CLOCK_MONOTONIC


def real_wall_ms() -> int:
    """The machine's wall time, in milliseconds since the epoch."""
    return _clock_gettime_ns(_REALTIME) // 1_000_000


def real_elapsed_ms() -> int:
    """The machine's monotonic time, in milliseconds."""
    return _clock_gettime_ns(_MONOTONIC) // 1_000_000


def real_wait_ms(time_ms: int) -> None:
    """Wait that many milliseconds, for blocking programs alone."""
    time.sleep(time_ms / 1000)


class TimeSource(Protocol):
    """Where a clock reads real time; tests pass their own."""

    def wall_ms(self) -> int: ...
    def elapsed_ms(self) -> int: ...


class MachineTime:
    """The machine's own time."""

    wall_ms = staticmethod(real_wall_ms)
    elapsed_ms = staticmethod(real_elapsed_ms)


MAX_RATE = 10_000
"""The fastest: an idle cluster has something to do each millisecond then, or nearly."""


def checked_rate(rate: object) -> float:
    """The rate itself; ValueError for what is not above 0, or too fast for a cluster to keep up."""
    if isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate <= MAX_RATE:
        return rate
    raise ValueError(
        f"rate={rate!r}: expected how many times as fast as real time, above 0 and at most"
        f" {MAX_RATE:,}; freeze() stops the clock, advance() jumps"
    )


class Axis:
    """Elapsed time that runs with the source, or stands still, plus what was added by hand.

    While it runs, it is ``rate`` times as fast as the source, counted from one anchor: rounding
    does not add up.
    """

    def __init__(self, source: TimeSource, running: bool) -> None:
        self._real_ms = source.elapsed_ms
        self._base_ms = self._real_ms()
        self._passed_ms = 0
        self._rest_ms = 0.0  # of a millisecond, that had passed at the anchor
        self.at_ms: int | None = None  # the deadline being fired, while time is being walked
        self.running = running
        self.rate: float = 1
        self.timeline = Timeline()

    def target_ms(self) -> int:
        """Where the axis has arrived, whatever timer is being fired on the way."""
        if not self.running:
            return self._passed_ms
        real_ms = self._real_ms() - self._base_ms
        if self.rate != 1:
            real_ms = int(real_ms * self.rate + self._rest_ms)
        return self._passed_ms + real_ms

    def elapsed_ms(self) -> int:
        return self.target_ms() if self.at_ms is None else self.at_ms

    def behind_ms(self) -> int:
        """How far the deadline being fired is behind where the axis has arrived."""
        return 0 if self.at_ms is None else self.target_ms() - self.at_ms

    def real_ms_until(self, at_ms: int) -> int:
        """How much of the source's time passes until a running axis has arrived there."""
        if self.rate == 1:
            return max(0, at_ms - self.target_ms())
        exact_ms = (at_ms - self._passed_ms - self._rest_ms) / self.rate
        return max(0, math.ceil(exact_ms) - (self._real_ms() - self._base_ms))

    def run(self, running: bool, rate: float) -> None:
        """Run so fast from here on, or stand still."""
        now_ms = self._real_ms()
        if self.running and self.rate != 1:
            exact_ms = (now_ms - self._base_ms) * self.rate + self._rest_ms
            self._passed_ms += int(exact_ms)
            self._rest_ms = exact_ms % 1
        elif self.running:
            self._passed_ms += now_ms - self._base_ms
        self._base_ms = now_ms
        self.running, self.rate = running, rate

    def add(self, ms: int) -> None:
        self._passed_ms += ms

    def walk_to(self, at_ms: int | None) -> None:
        self.at_ms = at_ms


class Standing(NamedTuple):
    """How a clock stands: what `Clock.stand` needs to have it stand so again."""

    frozen: bool
    rate: float
    at_ms: int
    """Where its wall was."""
    offset_ms: int
    """How far ahead of the machine's it was."""


class Wall:
    """Wall time on top of an axis.

    While the axis runs as fast as the source, the wall is the source's own and an offset, so that
    a machine's time that is corrected stays right; otherwise it goes with the axis.
    """

    def __init__(self, source: TimeSource, axis: Axis, start_at_ms: int | None) -> None:
        self._real_wall_ms = source.wall_ms
        self._axis = axis
        self._start_at_ms = start_at_ms
        self._ahead_ms = 0  # of the axis, while the wall goes with it
        self.offset_ms = 0
        """How far it is ahead of the source's, while it follows that."""
        self.follows = True
        self.begin()

    def now_ms(self) -> int:
        axis = self._axis
        if not self.follows:
            return axis.elapsed_ms() + self._ahead_ms
        wall_ms = self._real_wall_ms() + self.offset_ms
        return wall_ms if axis.at_ms is None else wall_ms - axis.behind_ms()

    def set(self, at_ms: int) -> None:
        """Be at another time, and go on with the axis as it runs now."""
        self.follows = self._axis.running and self._axis.rate == 1
        self._ahead_ms = at_ms - self._axis.elapsed_ms()
        self.offset_ms = at_ms - self._real_wall_ms()

    def begin(self) -> None:
        """Be where it was in the beginning; who started at "now" starts at now again."""
        self.set(self._real_wall_ms() if self._start_at_ms is None else self._start_at_ms)
        if self._start_at_ms is None:
            self.offset_ms = 0  # whatever time has passed in these lines
