"""A clock that runs faster or slower, jumps, and stands again as it stood."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.events import ClockSkewed
from fakemq.journal.journal import Journal
from tests.support.time import ManualTime

WALL_MS = 1_700_000_000_000


@pytest.fixture
def machine() -> ManualTime:
    return ManualTime()


def timer_of(clock: Clock, delay_ms: int, fired: list[int], *, outside: bool = False) -> None:
    clock.call_later(
        delay_ms,
        lambda: fired.append(clock.elapsed_ms()),
        kind="pull_hold",
        owner="n",
        outside=outside,
    )


def test_rate_begins_at_the_current_time(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    machine.passed_ms += 7
    clock.rate = 10
    assert (clock.now_ms(), clock.elapsed_ms()) == (WALL_MS + 7, 7)
    machine.passed_ms += 3
    assert (clock.now_ms(), clock.elapsed_ms()) == (WALL_MS + 37, 37)
    clock.rate = 0.5
    machine.passed_ms += 3
    assert (clock.now_ms(), clock.elapsed_ms()) == (WALL_MS + 38, 38)
    clock.rate = 1
    machine.passed_ms += 3
    assert (clock.now_ms(), clock.elapsed_ms()) == (WALL_MS + 41, 41)
    assert clock.elapsed_ms(outside=True) == 16, "outside peers live in real time"


def test_driver_is_given_the_real_time_until_a_deadline(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    changes: list[int] = []
    fired: list[int] = []
    timer_of(clock, 1005, fired)
    clock.on_change = lambda: changes.append(1)
    clock.rate = 10
    assert (changes, clock.next_due_in_ms()) == ([1], 101)
    machine.passed_ms += 100
    assert (clock.fire_due(), clock.next_due_in_ms()) == ([], 1)
    machine.passed_ms += 1
    clock.fire_due()
    assert fired == [1010], "late, as what real time has made due may be"
    timer_of(clock, 1000, fired, outside=True)
    assert clock.next_due_in_ms() == 1000


@pytest.mark.parametrize("rate", [0.01, 0.3, 1 / 3, 1.7, 3, 9999.9])
def test_wake_up_is_neither_early_nor_late(machine: ManualTime, rate: float) -> None:
    clock = Clock(source=machine)
    for start_ms, delay_ms in ((3, 1), (50, 7), (1, 10_001)):
        clock.rate = 1
        clock.rate = rate
        machine.passed_ms += start_ms
        fired: list[int] = []
        timer_of(clock, delay_ms, fired)
        wait_ms = clock.next_due_in_ms()
        assert wait_ms is not None
        machine.passed_ms += wait_ms - 1
        early = len(clock.fire_due())
        machine.passed_ms += 1
        assert (early, len(clock.fire_due())) == (0, 1)


def test_rounding_errors_do_not_accumulate(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    clock.rate = 1.5
    for _ in range(1000):
        machine.passed_ms += 1
        clock.freeze()
        clock.unfreeze()
    assert clock.elapsed_ms() == 1500
    assert clock.now_ms() == WALL_MS + 1500


def test_frozen_clock_applies_its_rate_when_it_runs(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    clock.rate = 10
    machine.passed_ms += 5
    assert (clock.elapsed_ms(), clock.next_due_in_ms()) == (0, None)
    clock.unfreeze()
    machine.passed_ms += 5
    clock.advance("1s")
    assert clock.elapsed_ms() == 1050
    clock.freeze()
    machine.passed_ms += 5
    clock.unfreeze()
    machine.passed_ms += 5
    assert (clock.rate, clock.elapsed_ms()) == (10, 1100)


def test_reset_restores_the_rate(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    notified = [clock.follows_real_time]
    clock.rate = 10
    clock.rate = 1
    notified.append(clock.follows_real_time)
    assert notified == [True, False], "no producer lived by it"
    clock.rate = 10
    machine.passed_ms += 5
    clock.reset(frozen=False)
    assert (clock.rate, clock.now_ms(), clock.follows_real_time) == (1, WALL_MS + 5, True)
    assert clock.elapsed_ms() == 50, "elapsed time continues"


@pytest.mark.parametrize("rate", [0, -1, 10_001, float("nan"), float("inf"), True, "10"])
def test_invalid_rate_is_refused(machine: ManualTime, rate: float) -> None:
    clock = Clock(source=machine)
    with pytest.raises(ValueError, match=r"^rate=.*: expected how many times .* to 10,000;"):
        clock.rate = rate
    assert (clock.rate, clock.follows_real_time) == (1, True)


def test_moment_takes_no_time_at_any_rate(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    clock.rate = 100
    clock.hold_moment()
    before = clock.now_ms(), clock.elapsed_ms()
    machine.passed_ms += 7
    assert (clock.now_ms(), clock.elapsed_ms()) == before
    clock.release_moment()
    assert (clock.now_ms(), clock.elapsed_ms()) == (before[0] + 700, before[1] + 700)


def test_jump_moves_the_wall_and_not_elapsed_time(machine: ManualTime) -> None:
    for clock in (Clock(source=machine), Clock(frozen=True, source=machine)):
        fired: list[int] = []
        timer_of(clock, 10, fired)
        for at_ms in (WALL_MS + 10**9, 5):
            clock.jump_to(at_ms)
            assert (clock.now_ms(), clock.elapsed_ms(), fired) == (at_ms, 0, [])
        assert clock.fire_due() == []
        clock.advance_ms(10)
        assert (clock.now_ms(), fired) == (15, [10])


def test_restored_clock_has_its_former_state(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    real = clock.state()
    clock.freeze()
    clock.jump_to(5)
    machine.passed_ms += 100
    clock.restore(real)
    assert (clock.frozen, clock.now_ms(), clock.elapsed_ms()) == (False, WALL_MS + 100, 0)
    assert clock.follows_real_time
    clock.rate = 3
    clock.freeze()
    paced = clock.state()
    clock.unfreeze()
    machine.passed_ms += 100
    clock.restore(paced)
    assert (clock.frozen, clock.rate, clock.now_ms()) == (True, 3, WALL_MS + 100)


# -- any sequence -----------------------------------------------------------------------------

RATES = st.sampled_from([1, 2, 10, 0.5, 0.25, 1 / 3, 7.3])
STEPS = st.one_of(
    st.tuples(st.just("machine"), st.integers(0, 5000)),
    st.tuples(st.just("advance"), st.integers(0, 5000)),
    st.tuples(st.just("rate"), RATES),
    st.tuples(st.sampled_from(["freeze", "unfreeze", "fire", "moment"]), st.just(0)),
)


@given(st.booleans(), st.lists(STEPS, max_size=30))
def test_time_never_goes_back_and_the_wall_moves_with_elapsed_time(
    frozen: bool, steps: list[tuple[str, float]]
) -> None:
    machine = ManualTime()
    clock = Clock(frozen=frozen, source=machine)
    timer_of(clock, 1000, [])
    behind_ms, was_ms, was_outside_ms = clock.now_ms(), 0, 0
    exact_ms = Fraction()
    for what, number in steps:
        if what == "machine":
            machine.passed_ms += int(number)
            if not clock.frozen:
                exact_ms += int(number) * Fraction(clock.rate)
        elif what == "advance":
            clock.advance_ms(int(number))
            exact_ms += int(number)
        elif what == "rate":
            clock.rate = number
        elif what == "fire":
            clock.fire_due()
        elif what == "moment":
            clock.hold_moment()
            clock.release_moment()
        else:
            getattr(clock, what)()
        elapsed_ms, outside_ms = clock.elapsed_ms(), clock.elapsed_ms(outside=True)
        assert elapsed_ms >= was_ms
        assert outside_ms >= was_outside_ms
        assert clock.now_ms() - behind_ms == elapsed_ms
        assert abs(elapsed_ms - exact_ms) <= 1, "rounding does not add up"
        was_ms, was_outside_ms = elapsed_ms, outside_ms
    assert was_outside_ms == machine.passed_ms


# -- nodes ------------------------------------------------------------------------------------


def test_skew_moves_one_nodes_wall(machine: ManualTime) -> None:
    clock = Clock(frozen=True, start_at_ms=0, source=machine)
    journal = Journal(clock)
    node, other = NodeClock(clock, "a", journal), NodeClock(clock, "b", journal)
    jumps: list[int] = []
    node.on_jump.append(lambda: jumps.append(node.now_ms()))
    node.skew_ms = -300
    node.skew_ms = -300
    node.skew_ms = 0
    assert jumps == [-300, 0]
    assert (other.now_ms(), node.elapsed_ms()) == (0, 0)
    skews = [(event.node, event.skew_ms) for event in journal.find(ClockSkewed)]
    assert skews == [("a", -300), ("a", 0)]
