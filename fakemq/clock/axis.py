"""Axes of elapsed time that run with a source or are stopped, and wall time on top of an axis."""

from __future__ import annotations

import math
from typing import NamedTuple

from fakemq.clock.machine_time import TimeSource
from fakemq.clock.timers import Timeline

MAX_RATE = 10_000
"""The highest rate: an idle cluster then has work in nearly every real millisecond."""


def checked_rate(rate: object) -> float:
    """Return the rate; raise ValueError for one that is not above 0, or above `MAX_RATE`."""
    if isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate <= MAX_RATE:
        return rate
    raise ValueError(
        f"rate={rate!r}: expected how many times as fast as real time, above 0 and at most"
        f" {MAX_RATE:,}; freeze() stops the clock, advance() jumps"
    )


class Axis:
    """Elapsed time: what the source has counted while the axis ran, plus what `add` added.

    A running axis is ``rate`` times as fast as the source. The time is computed from one anchor
    (``_base_ms``, ``_passed_ms``, ``_rest_ms``), so rounding errors do not add up.
    """

    def __init__(self, source: TimeSource, running: bool) -> None:
        self._real_ms = source.elapsed_ms
        # The anchor: the source's time at the last change of `running` or `rate` …
        self._base_ms = self._real_ms()
        # … the axis' own time at that moment, in whole milliseconds …
        self._passed_ms = 0
        # … and the fraction of a millisecond beyond it, in [0, 1).
        self._rest_ms = 0.0
        self.at_ms: int | None = None
        """The deadline that is being fired, while `Clock` walks the axis; otherwise None."""
        self.running = running
        self.rate: float = 1
        self.timeline = Timeline()
        """The timers of this axis; their deadlines are in its time."""

    def target_ms(self) -> int:
        """Return the axis' time in milliseconds, without regard to a walk that is under way."""
        if not self.running:
            return self._passed_ms
        real_ms = self._real_ms() - self._base_ms
        if self.rate != 1:
            real_ms = int(real_ms * self.rate + self._rest_ms)
        return self._passed_ms + real_ms

    def elapsed_ms(self) -> int:
        """Return the time that callers see: during a walk, the deadline that is being fired."""
        return self.target_ms() if self.at_ms is None else self.at_ms

    def behind_ms(self) -> int:
        """Return how far the deadline that is being fired is behind `target_ms`."""
        return 0 if self.at_ms is None else self.target_ms() - self.at_ms

    def real_ms_at(self, at_ms: int) -> int:
        """Return the source's time at which a running axis reaches ``at_ms``."""
        left_ms = at_ms - self._passed_ms
        if self.rate != 1:
            left_ms = math.ceil((left_ms - self._rest_ms) / self.rate)
        return self._base_ms + left_ms

    def run(self, running: bool, rate: float) -> None:
        """Run at ``rate`` from now on, or stop. The time itself does not change."""
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
        """Move the time by ``ms``."""
        self._passed_ms += ms


class ClockState(NamedTuple):
    """The state of a clock, as `Clock.state` returns it and `Clock.restore` takes it."""

    frozen: bool
    rate: float
    at_ms: int
    """The wall time, in milliseconds since the epoch."""
    offset_ms: int
    """How far the wall was ahead of the machine's, in milliseconds."""


class Wall:
    """Wall time on top of an axis.

    There are two cases:
    1. The axis runs at rate 1. The wall is the source's wall time plus an offset, so it takes part
       in corrections of the machine's time.
    2. The axis is stopped or has another rate. The wall is the axis' time plus a constant.
    """

    def __init__(self, source: TimeSource, axis: Axis, start_at_ms: int | None) -> None:
        self._real_wall_ms = source.wall_ms
        self._axis = axis
        self._start_at_ms = start_at_ms
        # The constant of case 2: wall time minus the axis' elapsed time.
        self._ahead_ms = 0
        self.offset_ms = 0
        """The offset of case 1: how far the wall is ahead of the source's, in milliseconds."""
        self.follows = True
        """Whether case 1 applies."""
        self.begin()

    def now_ms(self) -> int:
        """Return wall time, in milliseconds since the epoch."""
        axis = self._axis
        if not self.follows:
            return axis.elapsed_ms() + self._ahead_ms
        wall_ms = self._real_wall_ms() + self.offset_ms
        return wall_ms if axis.at_ms is None else wall_ms - axis.behind_ms()

    def set(self, at_ms: int) -> None:
        """Set the wall to ``at_ms``, and choose the case by the axis' present state."""
        self.follows = self._axis.running and self._axis.rate == 1
        self._ahead_ms = at_ms - self._axis.elapsed_ms()
        self.offset_ms = at_ms - self._real_wall_ms()

    def begin(self) -> None:
        """Set the wall to its start value; without one that is the machine's present time."""
        self.set(self._real_wall_ms() if self._start_at_ms is None else self._start_at_ms)
        if self._start_at_ms is None:
            # The source may have moved on within `set`; the wall is exactly the source's.
            self.offset_ms = 0
