"""Real time, and axes of elapsed time that run with it or stand still.

The only file that reads the machine's clocks, and through ``clock_gettime``, which freezegun
leaves alone.
"""

from __future__ import annotations

import time
from typing import Protocol

from fakemq.timers import Timeline

_clock_gettime_ns = time.clock_gettime_ns
_REALTIME, _MONOTONIC = time.CLOCK_REALTIME, time.CLOCK_MONOTONIC


def real_wall_ms() -> int:
    """The machine's wall time, in milliseconds since the epoch."""
    return _clock_gettime_ns(_REALTIME) // 1_000_000


def real_elapsed_ms() -> int:
    """The machine's monotonic time, in milliseconds."""
    return _clock_gettime_ns(_MONOTONIC) // 1_000_000


class TimeSource(Protocol):
    """Where a clock reads real time; tests pass their own."""

    def wall_ms(self) -> int: ...
    def elapsed_ms(self) -> int: ...


class MachineTime:
    """The machine's own time."""

    wall_ms = staticmethod(real_wall_ms)
    elapsed_ms = staticmethod(real_elapsed_ms)


class Axis:
    """Elapsed time that runs with the source, or stands still, plus what was added by hand."""

    def __init__(self, source: TimeSource, running: bool) -> None:
        self._real_ms = source.elapsed_ms
        self._base_ms = self._real_ms()
        self._passed_ms = 0
        self.at_ms: int | None = None  # the deadline being fired, while time is being walked
        self.running = running
        self.timeline = Timeline()

    def target_ms(self) -> int:
        """Where the axis has arrived, whatever timer is being fired on the way."""
        if self.running:
            return self._passed_ms + self._real_ms() - self._base_ms
        return self._passed_ms

    def elapsed_ms(self) -> int:
        return self.target_ms() if self.at_ms is None else self.at_ms

    def behind_ms(self) -> int:
        """How far the deadline being fired is behind where the axis has arrived."""
        return 0 if self.at_ms is None else self.target_ms() - self.at_ms

    def run(self, running: bool) -> None:
        self._passed_ms = self.target_ms()
        self._base_ms = self._real_ms()
        self.running = running

    def add(self, ms: int) -> None:
        self._passed_ms += ms

    def walk_to(self, at_ms: int | None) -> None:
        self.at_ms = at_ms
