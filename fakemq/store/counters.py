"""Counters that remember their totals at past ticks.

Java reads its counters by timers (each second, 10 seconds, 10 minutes, hour, day) and answers
statistics from the samples. Here no timer is needed: the first addition in a new interval first
saves the total of the interval before, and a sample is computed when it is read. An idle counter
costs nothing, and the results are the same.

Source: common/stats/StatsItem.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

Total: TypeAlias = tuple[int, int]
"""The sum of the values added, and the number of additions."""

NOTHING: Final[Total] = (0, 0)


class Grid(NamedTuple):
    """Ticks every ``period_ms``, from tick 0 at ``first_ms``; ``keep`` + 1 are remembered."""

    period_ms: int
    keep: int
    first_ms: int = 0

    def tick(self, now_ms: int) -> int:
        """Return the number of the last tick, -1 before the first."""
        return (now_ms - self.first_ms) // self.period_ms

    def next_ms(self, now_ms: int) -> int:
        """Return when the next tick is."""
        return self.first_ms + (self.tick(now_ms) + 1) * self.period_ms


class CounterSnapshot(NamedTuple):
    """How much was added to a counter: the sum, per second, and per addition.

    Source: common/stats/StatsSnapshot.java (4.9.7)
    """

    sum: int = 0
    tps: float = 0.0
    avgpt: float = 0.0


class _Past:
    """The totals that a counter had at past ticks; one entry for each change."""

    __slots__ = ("_totals", "born", "grid", "tick")

    def __init__(self, grid: Grid, now_ms: int) -> None:
        self.grid = grid
        self.born = self.tick = grid.tick(now_ms)
        self._totals: list[
            tuple[int, Total]
        ] = []  # a list: there are many counters, and a deque takes 600 bytes

    def pass_to(self, now_ms: int, total: Total) -> None:
        """Save ``total`` for the ticks up to ``now_ms``: no addition came between them."""
        tick = self.grid.tick(now_ms)
        if tick == self.tick:
            return
        totals = self._totals
        totals.append((self.tick + 1, total))
        self.tick = tick
        while len(totals) > 1 and totals[1][0] <= tick - self.grid.keep:
            del totals[0]

    def at(self, tick: int, total: Total) -> Total:
        """Return the total at a tick; ``total`` is the present one."""
        if tick > self.tick:
            return total
        return next((then for since, then in reversed(self._totals) if since <= tick), NOTHING)


class Counter:
    """A total, and its past on several grids.

    All times are milliseconds on one axis that never goes back.
    """

    __slots__ = ("_pasts", "next_ms", "times", "value")

    def __init__(self, grids: Sequence[Grid], now_ms: int) -> None:
        self.value = 0
        self.times = 0
        self._pasts = [_Past(grid, now_ms) for grid in grids]
        self.next_ms = now_ms
        """When `pass_to` has to be called before the next addition."""

    def add(self, now_ms: int, value: int, times: int = 1) -> None:
        """Add to the total."""
        if now_ms >= self.next_ms:
            self.pass_to(now_ms)
        self.value += value
        self.times += times

    def pass_to(self, now_ms: int) -> None:
        """Save the total for the ticks up to ``now_ms``: no addition came between them."""
        total = (self.value, self.times)
        for past in self._pasts:
            past.pass_to(now_ms, total)
        self.next_ms = min([past.grid.next_ms(now_ms) for past in self._pasts])

    def tick(self, which: int, now_ms: int) -> int:
        """Return the number of the last tick of one of the grids."""
        return self._pasts[which].grid.tick(now_ms)

    def at(self, which: int, tick: int) -> Total:
        """Return the total at a tick of one of the grids; (0, 0) before the counter existed."""
        return self._pasts[which].at(tick, (self.value, self.times))

    def snapshot(self, which: int, now_ms: int) -> CounterSnapshot:
        """Return what was added between the oldest remembered tick and the last one.

        All fields are 0 before the first tick.

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
