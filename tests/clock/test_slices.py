"""Long work: done at once without a loop and while time moves, otherwise in slices."""

from __future__ import annotations

from functools import partial
from itertools import count

import pytest

from fakemq.clock import slices
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import SLICE_MS, Steps


@pytest.fixture(autouse=True)
def time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look at the machine's time show one millisecond more."""
    now_ms = count()
    monkeypatch.setattr(slices, "thread_busy_ms", lambda: next(now_ms))


def steps(done: list[str], name: str, number: int) -> Steps[str]:
    for _ in range(number):
        done.append(name)
        yield
    return name


def driven_clock() -> Clock:
    clock = Clock(frozen=True)
    clock.slices.soon = lambda: None
    return clock


def test_work_is_done_at_once_without_a_loop() -> None:
    done: list[str] = []
    work = NodeClock(Clock(frozen=True), "node").begin(steps(done, "a", 100), peer=1)
    assert work.done
    assert work.result() == "a"
    assert len(done) == 100


def test_short_work_is_done_at_once() -> None:
    work = NodeClock(driven_clock(), "node").begin(steps([], "a", SLICE_MS - 1), peer=1)
    assert work.done


def test_long_work_takes_several_turns() -> None:
    clock, done = driven_clock(), list[str]()
    work = NodeClock(clock, "node").begin(steps(done, "a", 10 * SLICE_MS), peer=1)
    turns = 0
    while not work.done:
        before = len(done)
        clock.slices.take_turn()
        assert len(done) - before <= SLICE_MS
        turns += 1
    assert turns > 5
    assert work.result() == "a"
    assert not clock.slices.waiting


def test_peers_are_served_in_turn_and_the_work_of_one_in_order() -> None:
    clock, done = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    for name in ("a1", "a2", "b1"):
        node.begin(steps(done, name, 3 * SLICE_MS), peer=name[0])
    while clock.slices.waiting:
        clock.slices.take_turn()
    first = {name: done.index(name) for name in done}
    last = {name: len(done) - done[::-1].index(name) for name in done}
    assert first["b1"] < last["a1"] <= first["a2"]


def test_time_moves_when_all_work_is_done() -> None:
    clock, done = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    work = node.begin(steps(done, "before", 100), peer=1)
    in_time = []
    node.call_later(
        10,
        lambda: in_time.append((work.done, node.begin(steps(done, "within", 100), peer=1).done)),
        kind="delay_level",
    )
    clock.advance_ms(10)
    assert in_time == [(True, True)]


def test_work_of_a_paused_node_waits_and_that_of_a_killed_node_ends() -> None:
    clock, done = driven_clock(), list[str]()
    paused, killed = NodeClock(clock, "paused"), NodeClock(clock, "killed")
    ended: list[str] = []
    works = [node.begin(steps(done, node.owner, 100), peer=1) for node in (paused, killed)]
    for work, node in zip(works, (paused, killed), strict=True):
        work.on_done = partial(ended.append, node.owner)
    paused.pause()
    killed.cancel_all()
    clock.slices.finish()
    assert ended == []
    paused.resume()
    clock.slices.finish()
    assert ended == ["paused"]


def test_error_of_work_is_raised_by_its_result() -> None:
    def fails() -> Steps[None]:
        yield
        raise ValueError("too long")

    work = NodeClock(driven_clock(), "node").begin(fails(), peer=1)
    with pytest.raises(ValueError, match="too long"):
        work.result()
