"""Long work: done at once without a loop and while time moves, otherwise in slices."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

from fakemq.clock import slices
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import FEW_STEPS, SLICE_MS, Steps
from tests.support.slices import count_looks_as_ms, take_turns


@pytest.fixture(autouse=True)
def time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    count_looks_as_ms(monkeypatch)


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
    assert work.outcome.result() == "a"
    assert len(done) == 100


def test_short_work_is_done_at_once() -> None:
    work = NodeClock(driven_clock(), "node").begin(steps([], "a", SLICE_MS - 1), peer=1)
    assert work.done


@pytest.mark.parametrize("way", [NodeClock.begin, NodeClock.carry_out])
def test_few_steps_are_done_at_once_while_other_work_waits(
    way: Callable[..., object],
) -> None:
    clock = driven_clock()
    node = NodeClock(clock, "node")
    node.begin(steps([], "a", 10 * SLICE_MS), peer=1)
    few, many = list[str](), list[str]()
    way(node, steps(few, "few", FEW_STEPS), peer=1, count=FEW_STEPS)
    way(node, steps(many, "many", FEW_STEPS), peer=1, count=FEW_STEPS + 1)
    assert (len(few), len(many)) == (FEW_STEPS, 0)
    take_turns(clock)
    assert len(many) == FEW_STEPS


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
    assert work.outcome.result() == "a"
    assert not clock.slices.waiting


LONG = 10 * slices.LONG_SLICES * SLICE_MS
"""The steps of a long request."""


def begin_long(node: NodeClock, number: int) -> list[list[str]]:
    """Begin a long request of each of many peers; return the steps done of each, which grow."""
    done: list[list[str]] = [[] for _ in range(number)]
    for peer, of_peer in enumerate(done):
        node.begin(steps(of_peer, "a", LONG), peer=peer)
    return done


def test_long_requests_of_many_peers_do_not_all_grow_together() -> None:
    clock = driven_clock()
    node = NodeClock(clock, "node")
    done = begin_long(node, 3 * slices.MOST_LONG)
    most = 0
    while clock.slices.waiting:
        clock.slices.take_turn()
        begun = [len(one) for one in done if slices.LONG_SLICES * SLICE_MS < len(one) < LONG]
        most = max(most, len(begun))
    assert most == slices.MOST_LONG
    assert [len(one) for one in done] == [LONG] * len(done)
    assert node.unfinished_count == 0


def test_short_request_and_own_work_do_not_wait_for_long_requests() -> None:
    clock, own = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    done = begin_long(node, 3 * slices.MOST_LONG)
    for _ in range(3 * len(done) * slices.LONG_SLICES):
        clock.slices.take_turn()
    short = node.begin(steps([], "b", SLICE_MS), peer="short")
    node.carry_out(steps(own, "c", LONG), peer="part")
    while not short.done or len(own) < LONG:
        assert node.unfinished_count > slices.MOST_LONG
        clock.slices.take_turn()
    take_turns(clock)
    assert [len(one) for one in done] == [LONG] * len(done)


@pytest.mark.parametrize("how", ["closed", "paused"])
def test_long_requests_proceed_when_the_peers_before_them_have_gone(how: str) -> None:
    clock = driven_clock()
    node, other = NodeClock(clock, "node"), NodeClock(clock, "other")
    before = begin_long(node, slices.MOST_LONG)
    for _ in range(2 * slices.MOST_LONG * slices.LONG_SLICES):
        clock.slices.take_turn()
    behind = begin_long(other, 3)
    if how == "paused":
        node.pause()
    else:
        for peer in range(len(before)):
            node.drop_of(peer)
    take_turns(clock)
    assert [len(one) for one in behind] == [LONG] * 3
    assert all(len(one) < LONG for one in before)
    if how == "paused":
        node.resume()
        take_turns(clock)
        assert [len(one) for one in before] == [LONG] * len(before)


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


def test_time_moves_when_the_work_of_timers_is_done() -> None:
    clock, done = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    in_time = []

    def begin(name: str) -> None:
        node.carry_out(steps(done, name, 100), peer=node)

    node.call_later(0, lambda: begin("before"), kind="delay_level")
    clock.advance_part(0, [], part_ms=1000)
    assert clock.slices.time_waits
    node.call_later(10, lambda: begin("within"), kind="delay_level")
    node.call_later(10, lambda: in_time.append(len(done)), kind="delay_level")
    clock.advance_ms(10)
    assert in_time == [200]


def test_time_does_not_wait_for_work_of_peers() -> None:
    clock, fired = driven_clock(), list[int]()
    node = NodeClock(clock, "node")
    work = node.begin(endless(), peer="session")
    node.call_later(10, lambda: fired.append(1), kind="delay_level")
    assert clock.advance_part(10, [], part_ms=1000) is None
    node.call_later(10, lambda: fired.append(2), kind="delay_level")
    clock.advance_ms(10)
    assert fired == [1, 2]
    assert not work.done


def test_time_waits_for_work_that_a_timer_has_begun() -> None:
    clock, done, fired = driven_clock(), list[str](), list[int]()
    node = NodeClock(clock, "node")
    node.begin(endless(), peer="session")
    node.call_later(1, lambda: node.carry_out(steps(done, "a", 100), peer=node), kind="delay_level")
    node.call_later(2, lambda: fired.append(len(done)), kind="delay_level")
    left_ms: int | None = 2
    while left_ms is not None:
        left_ms = clock.advance_part(left_ms, [], part_ms=1000)
        clock.slices.take_turn()
    assert fired == [100]


def test_work_of_one_peer_can_be_dropped() -> None:
    clock, done = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    for peer in ("gone", "here", "gone"):
        node.begin(steps(done, peer, 100), peer=peer)
    node.drop_of("gone")
    assert (node.unfinished("gone"), node.unfinished_count) == (0, 1)
    take_turns(clock)
    assert done.count("gone") == SLICE_MS
    assert done.count("here") == 100
    assert node.unfinished_count == 0


@pytest.mark.parametrize("paused", [False, True])
def test_own_work_of_a_node_is_done_when_all_work_ends(paused: bool) -> None:
    clock, done = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    node.carry_out(steps(done, "own", 100), peer=node)
    request = node.begin(endless(), peer="session")
    request.outcome.when_done(lambda: done.append("refused"))
    if paused:
        node.pause()
    node.end_all()
    assert done == ["own"] * 100 + ["refused"]
    assert request.dropped
    assert (node.unfinished_count, clock.slices.waiting) == (0, False)


def test_work_of_a_paused_node_begins_when_it_continues() -> None:
    clock, done, ended = driven_clock(), list[str](), list[str]()
    node = NodeClock(clock, "node")
    node.pause()
    work = node.begin(steps(done, "a", 100), peer=1)
    work.outcome.when_done(lambda: ended.append(work.outcome.result()))
    clock.slices.take_turn()
    assert done == []
    node.resume()
    take_turns(clock)
    assert ended == ["a"]


def test_work_of_a_paused_node_is_done_when_it_continues_without_a_loop() -> None:
    done, ended = list[str](), list[str]()
    node = NodeClock(Clock(frozen=True), "node")
    node.pause()
    work = node.begin(steps(done, "a", 100), peer=1)
    work.outcome.when_done(lambda: ended.append(work.outcome.result()))
    assert done == []
    node.resume()
    assert ended == ["a"]
    assert node.unfinished_count == 0


@pytest.mark.parametrize("at_step", [1, 2 * SLICE_MS])
def test_work_may_pause_its_node(at_step: int) -> None:
    clock, ended = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    work = node.begin(acting(node.pause, at_step), peer=1)
    work.outcome.when_done(lambda: ended.append(work.outcome.result()))
    take_turns(clock)
    assert not work.done
    node.resume()
    take_turns(clock)
    assert ended == ["done"]


@pytest.mark.parametrize("at_step", [1, 2 * SLICE_MS])
def test_work_may_end_its_node(at_step: int) -> None:
    clock, done = driven_clock(), list[str]()
    node = NodeClock(clock, "node")
    work = node.begin(acting(node.cancel_all, at_step), peer=1)
    other = node.begin(steps(done, "other", 100), peer=2)
    work.outcome.when_done(lambda: done.append("answered"))
    take_turns(clock)
    assert work.dropped
    assert "answered" not in done
    assert node.unfinished_count == 0
    assert other.done


def endless() -> Steps[None]:
    while True:
        yield


def acting(act: Callable[[], None], at_step: int) -> Steps[str]:
    for number in range(5 * SLICE_MS):
        if number == at_step:
            act()
        yield
    return "done"


def test_work_of_a_paused_node_waits_and_that_of_a_killed_node_ends() -> None:
    clock, done = driven_clock(), list[str]()
    paused, killed = NodeClock(clock, "paused"), NodeClock(clock, "killed")
    ended: list[str] = []
    works = [node.begin(steps(done, node.owner, 100), peer=1) for node in (paused, killed)]
    for work, node in zip(works, (paused, killed), strict=True):
        work.outcome.when_done(partial(ended.append, node.owner))
    paused.pause()
    killed.cancel_all()
    take_turns(clock)
    assert ended == []
    paused.resume()
    take_turns(clock)
    assert ended == ["paused"]


def test_error_of_work_is_raised_by_its_result() -> None:
    def fails() -> Steps[None]:
        yield
        raise ValueError("too long")

    work = NodeClock(driven_clock(), "node").begin(fails(), peer=1)
    with pytest.raises(ValueError, match="too long"):
        work.outcome.result()


def test_slice_is_longer_than_a_thread_waits_before_it_asks_for_the_interpreter() -> None:
    assert sys.getswitchinterval() * 1000 < SLICE_MS
