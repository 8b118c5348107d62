"""Running totals that remember what they were at past ticks.

Java reads its counters by timers (each second, 10 seconds, 10 minutes, hour, day) and answers
statistics from the samples. Here no timer reads anything: a counter that is added to in a new
interval first writes down what it had come to in the one before, and a sample is computed when
somebody asks for it. An idle counter costs nothing, and the answers are the same.

Source: common/stats/StatsItem.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Total: TypeAlias = tuple[int, int]
"""What has been added up, and in how many times."""

NOTHING: Total = (0, 0)


class Grid(NamedTuple):
    """Ticks each ``period_ms``: number 0 is at ``first_ms``; the last ``keep`` + 1 are known."""

    period_ms: int
    keep: int
    first_ms: int = 0

    def tick(self, now_ms: int) -> int:
        """The number of the last tick, -1 before the first."""
        return (now_ms - self.first_ms) // self.period_ms

    def next_ms(self, now_ms: int) -> int:
        """When the next tick is."""
        return self.first_ms + (self.tick(now_ms) + 1) * self.period_ms


class CounterSnapshot(NamedTuple):
    """What a counter gained over the ticks of a grid: sum, per second, and per time it was added.

    Source: common/stats/StatsSnapshot.java (4.9.7)
    """

    sum: int = 0
    tps: float = 0.0
    avgpt: float = 0.0


class _Past:
    """The totals that a counter had when ticks passed, written down where they changed."""

    __slots__ = ("_totals", "born", "grid", "tick")

    def __init__(self, grid: Grid, now_ms: int) -> None:
        self.grid = grid
        self.born = self.tick = grid.tick(now_ms)
        self._totals: list[tuple[int, Total]] = []  # counters are many, a deque takes 600 bytes

    def pass_to(self, now_ms: int, total: Total) -> None:
        """Time has come to ``now_ms``; the total is still what it was at all ticks on the way."""
        tick = self.grid.tick(now_ms)
        if tick == self.tick:
            return
        totals = self._totals
        totals.append((self.tick + 1, total))
        self.tick = tick
        while len(totals) > 1 and totals[1][0] <= tick - self.grid.keep:
            del totals[0]

    def at(self, tick: int, total: Total) -> Total:
        """The total at a tick; ``total`` is what it is now."""
        if tick > self.tick:
            return total
        return next((then for since, then in reversed(self._totals) if since <= tick), NOTHING)


class Counter:
    """A total, and its past on several grids.

    All times are milliseconds on one axis that never goes back.
    """

    __slots__ = ("_next_ms", "_pasts", "times", "value")

    def __init__(self, grids: Sequence[Grid], now_ms: int) -> None:
        self.value = 0
        self.times = 0
        self._pasts = [_Past(grid, now_ms) for grid in grids]
        self._next_ms = now_ms

    def add(self, now_ms: int, value: int, times: int = 1) -> None:
        """Add to the total."""
        if now_ms >= self._next_ms:
            self._pass_to(now_ms)
        self.value += value
        self.times += times

    def _pass_to(self, now_ms: int) -> None:
        total = (self.value, self.times)
        for past in self._pasts:
            past.pass_to(now_ms, total)
        self._next_ms = min([past.grid.next_ms(now_ms) for past in self._pasts])

    def tick(self, which: int, now_ms: int) -> int:
        """The number of the last tick of one of the grids."""
        return self._pasts[which].grid.tick(now_ms)

    def at(self, which: int, tick: int) -> Total:
        """The total when a tick of one of the grids passed; nothing before it was born."""
        return self._pasts[which].at(tick, (self.value, self.times))

    def snapshot(self, which: int, now_ms: int) -> CounterSnapshot:
        """What was gained from the oldest known tick to the last one; nothing before the first.

        Source: common/stats/StatsItem.java#computeStatsData (4.9.7)
        """
        past, total = self._pasts[which], (self.value, self.times)
        last = past.grid.tick(now_ms)
        first = max(past.born, last - past.grid.keep)
        if last == first:
            return CounterSnapshot()
        (value, times), (value_before, times_before) = past.at(last, total), past.at(first, total)
        value -= value_before
        times -= times_before
        return CounterSnapshot(
            value,
            value * 1000.0 / ((last - first) * past.grid.period_ms),
            value / times if times > 0 else 0.0,
        )
