"""The queue of timers: order, cancelling, and what is due."""

from __future__ import annotations

import heapq
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.timers import SWEEP_AT, Domain, Timeline, Timer


def make(due_ms: int, seq: int) -> Timer:
    return Timer(due_ms, seq, lambda: None, "rpc_timeout", "node", Domain.LIVENESS, False)


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=600))
def test_timers_fire_in_deadline_then_insertion_order_without_the_cancelled(
    plan: list[tuple[int, bool]],
) -> None:
    timeline = Timeline()
    kept = []
    for seq, (due_ms, cancelled) in enumerate(plan):
        timer = make(due_ms, seq)
        timeline.push(timer)
        if cancelled:
            timer.cancel()
        else:
            kept.append((due_ms, seq))
    fired = []
    while (timer_ := timeline.pop_due(50)) is not None:
        fired.append((timer_.due_ms, timer_.seq))
    assert fired == sorted(kept)


def test_pop_due_leaves_later_timers() -> None:
    timeline = Timeline()
    timeline.push(make(10, 1))
    assert timeline.pop_due(9) is None
    assert timeline.next_due_ms() == 10


def test_cancelled_timers_do_not_accumulate() -> None:
    timeline = Timeline()
    for seq in range(10_000):
        timer = make(1_000_000, seq)
        timeline.push(timer)
        timer.cancel()
    assert len(timeline._heap) <= 2 * SWEEP_AT


def test_timer_is_taken_once() -> None:
    timer = make(0, 0)
    assert timer.take() is not None
    assert timer.take() is None
    assert not timer.pending


def test_many_cancelled_timers_are_removed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, sweeps = Timeline(), list[int]()
    heapify = heapq.heapify

    def counted(heap: list[Any]) -> None:  # once a sweep
        sweeps.append(1)
        heapify(heap)

    monkeypatch.setattr(heapq, "heapify", counted)
    timers = [make(seq, seq) for seq in range(5_000)]
    for timer in timers:
        timeline.push(timer)
    sweeps.clear()
    for timer in timers[:-1]:
        timer.cancel()
    assert timeline.next_due_ms() == 4_999
    assert len(sweeps) == 1
    assert timeline.pending() == [timers[-1]]
