"""Counters beside a model that samples by timers, as Java does."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from fakemq.store.counters import Counter, CounterSnapshot, Grid

MINUTE, HOUR = Grid(10_000, 6), Grid(600_000, 6)


@dataclass
class Sampled:
    """StatsItem.java with one list of samples: time, times, value."""

    grid: Grid
    value: int = 0
    times: int = 0
    samples: list[tuple[int, int, int]] = field(default_factory=list)

    def sample(self, now_ms: int) -> None:
        if not self.samples:
            self.samples.append((now_ms - self.grid.period_ms, 0, 0))
        self.samples.append((now_ms, self.times, self.value))
        if len(self.samples) > self.grid.keep + 1:
            self.samples.pop(0)

    def snapshot(self) -> CounterSnapshot:
        if not self.samples:
            return CounterSnapshot()
        first, last = self.samples[0], self.samples[-1]
        total = last[2] - first[2]
        times = last[1] - first[1]
        return CounterSnapshot(
            total, total * 1000.0 / (last[0] - first[0]), total / times if times > 0 else 0.0
        )


events = st.lists(
    st.tuples(
        st.integers(0, 200_000),  # milliseconds until
        st.integers(-5, 1000) | st.none(),  # this is added, or somebody looks
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(start_ms=st.integers(0, 100_000), events=events)
def test_counters_equal_a_model_with_timers(
    start_ms: int, events: list[tuple[int, int | None, int]]
) -> None:
    grids = (Grid(10_000, 6), Grid(30_000, 3))
    counter = Counter(grids, start_ms)
    models = [Sampled(grid) for grid in grids]
    now_ms = start_ms
    for wait_ms, value, times in events:
        for model in models:
            period_ms = model.grid.period_ms
            first = now_ms // period_ms + 1
            for tick in range(first, (now_ms + wait_ms) // period_ms + 1):
                model.sample(tick * period_ms)
        now_ms += wait_ms
        if value is not None:
            counter.add(now_ms, value, times)
            for model in models:
                model.value += value
                model.times += times
        for which, model in enumerate(models):
            assert counter.snapshot(which, now_ms) == model.snapshot()


def test_first_sample_has_no_predecessor() -> None:
    counter = Counter((MINUTE,), 3_000)
    counter.add(4_000, 12, 4)
    assert counter.snapshot(0, 9_999) == CounterSnapshot()
    assert counter.snapshot(0, 10_000) == CounterSnapshot(12, 1.2, 3.0)
    assert counter.snapshot(0, 60_000) == CounterSnapshot(12, 0.2, 3.0)
    assert counter.snapshot(0, 70_000) == CounterSnapshot(0, 0.0, 0.0)


def test_counter_without_times_has_no_average() -> None:
    counter = Counter((MINUTE, HOUR), 0)
    counter.add(0, 5, 0)
    assert counter.snapshot(0, 10_000) == CounterSnapshot(5, 0.5, 0.0)
    assert counter.snapshot(1, 10_000) == CounterSnapshot()
    assert counter.snapshot(1, 600_000).sum == 5


def test_totals_at_later_ticks_are_exact() -> None:
    counter = Counter((Grid(100, 1, first_ms=30),), 0)
    counter.add(10, 1)
    counter.add(40, 1)
    assert [counter.tick(0, now_ms) for now_ms in (29, 30, 129, 130)] == [-1, 0, 0, 1]
    assert [counter.at(0, tick)[0] for tick in (-1, 0, 1)] == [0, 1, 2]


def test_old_samples_are_dropped() -> None:
    counter = Counter((Grid(10, 3),), 0)
    for now_ms in range(0, 10_000, 5):
        counter.add(now_ms, 1)
    (past,) = counter._pasts
    assert len(past._totals) <= 5


def test_grids_need_not_be_aligned() -> None:
    """The coarser grid ticks first: what is added after its tick is not counted before."""
    day = Grid(100_000, 1, first_ms=300)
    counter = Counter((Grid(1_000, 10), day), 0)
    counter.add(100, 1)
    counter.add(400, 1)
    assert counter.at(1, day.tick(400)) == (1, 1)
