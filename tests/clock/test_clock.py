"""A cluster's clock: real, frozen and advanced; its timers, nodes, holds and moments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.clock.timers import next_tick_ms
from fakemq.events import HandlerFailed
from fakemq.journal.journal import Journal
from tests.support.time import ManualTime


@pytest.fixture
def machine() -> ManualTime:
    return ManualTime()


def test_real_clock_follows_the_machine_and_an_offset(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    machine.passed_ms += 5
    assert clock.now_ms() == 1_700_000_000_005
    clock.advance("2h")
    assert clock.now_ms() == 1_700_000_000_005 + 7_200_000
    assert clock.elapsed_ms() == 7_200_005
    assert clock.elapsed_ms(outside=True) == 5


def test_frozen_clock_does_not_move(machine: ManualTime) -> None:
    clock = Clock(frozen=True, start_at_ms=1000, source=machine)
    machine.passed_ms += 99
    assert clock.now_ms() == 1000
    assert clock.elapsed_ms() == 0
    assert clock.elapsed_ms(outside=True) == 99
    clock.advance(1.5)
    assert clock.now_ms() == 2500


def test_freezing_and_unfreezing_lose_no_time_and_fire_nothing(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    fired: list[str] = []
    clock.call_later(100, lambda: fired.append("t"), kind="kv_config_print", owner="n")
    machine.passed_ms += 60
    clock.freeze()
    frozen_at_ms = clock.now_ms()
    machine.passed_ms += 1000
    assert clock.now_ms() == frozen_at_ms
    assert clock.fire_due() == []
    clock.unfreeze()
    assert clock.now_ms() == frozen_at_ms
    assert fired == []
    machine.passed_ms += 40
    clock.fire_due()
    assert fired == ["t"]


def test_advance_fires_in_order_at_each_timers_own_time(machine: ManualTime) -> None:
    clock = Clock(frozen=True, start_at_ms=0, source=machine)
    seen: list[tuple[str, int, int]] = []

    def note(name: str) -> None:
        seen.append((name, clock.now_ms(), clock.elapsed_ms()))

    clock.call_later(30, lambda: note("c"), kind="kv_config_print", owner="n")
    clock.call_later(10, lambda: note("a"), kind="kv_config_print", owner="n")
    clock.call_later(10, lambda: note("b"), kind="kv_config_print", owner="n")
    fired = clock.advance(0.02)
    assert seen == [("a", 10, 10), ("b", 10, 10)]
    assert [timer.due_ms for timer in fired] == [10, 10]
    assert clock.now_ms() == 20


def test_timer_set_by_a_timer_fires_in_the_same_advance(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(clock.elapsed_ms())
        clock.call_later(10, tick, kind="kv_config_print", owner="n")

    clock.call_later(10, tick, kind="kv_config_print", owner="n")
    clock.advance(0.035)
    assert ticks == [10, 20, 30]


def test_network_settles_after_every_timer(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    order: list[str] = []
    clock.settle = lambda: order.append("settle")
    for name in "ab":
        clock.call_later(1, partial(order.append, name), kind="kv_config_print", owner="n")
    clock.advance(1)
    assert order == ["a", "settle", "b", "settle"]


def test_liveness_of_an_outside_peer_counts_real_time(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    fired: list[str] = []
    clock.call_later(100, lambda: fired.append("in"), kind="pull_hold", owner="n")
    clock.call_later(100, lambda: fired.append("out"), kind="pull_hold", owner="n", outside=True)
    clock.advance("2h")
    assert fired == ["in"]
    machine.passed_ms += 100
    clock.fire_due()
    assert fired == ["in", "out"]


def test_deadline_of_an_outside_peer_follows_the_clock(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    timer = clock.call_later(5, lambda: None, kind="kv_config_print", owner="n", outside=True)
    assert not timer.outside


def test_outside_peers_age_with_the_cluster_on_request(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    order: list[str] = []
    for at_ms, name, outside in ((10, "in10", False), (5, "out5", True), (15, "out15", True)):
        clock.call_later(
            at_ms, partial(order.append, name), kind="pull_hold", owner="n",
            outside=outside,
        )  # fmt: skip
    clock.advance(0.012, outside_peers=True)
    assert order == ["out5", "in10"]
    assert clock.elapsed_ms(outside=True) == 12


def test_time_does_not_go_back(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    with pytest.raises(ValueError, match="time does not go back"):
        clock.advance(-1)


def test_advancing_from_within_a_timer_is_refused(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)

    def advance() -> None:
        clock.advance(1)

    clock.call_later(1, advance, kind="kv_config_print", owner="n")
    with pytest.raises(RuntimeError, match="within a timer"):
        clock.advance(1)
    assert clock.advance(1) == []  # and the clock still works


def test_next_timer_of_a_kind_is_found(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    clock.call_later(100, lambda: None, kind="kv_config_print", owner="n")
    clock.call_later(400, lambda: None, kind="broker_expiry", owner="n")
    clock.call_later(300, lambda: None, kind="broker_expiry", owner="n")
    assert clock.next_of("broker_expiry").due_ms == 300
    with pytest.raises(LookupError, match=r"no 'pull_hold' .* are: broker_expiry, kv_config_print"):
        clock.next_of("pull_hold")
    clock.advance_ms(400)
    with pytest.raises(LookupError, match=r"pending are: none$"):
        clock.next_of("broker_expiry")


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("broker", "; did you mean broker_expiry[?]"),
        ("txn", "; did you mean txn_check[?]"),
        ("delay", "; did you mean delay_level[?]"),
        ("xyz", ""),
        ("delay_level_4", ""),
    ],
)
def test_unknown_kind_is_refused_with_the_pending_kinds(
    machine: ManualTime, wanted: str, meant: str
) -> None:
    clock = Clock(frozen=True, source=machine)
    for kind in ("broker_expiry", "txn_check", "delay_level_3", "delay_offset_persist"):
        clock.call_later(100, lambda: None, kind=kind, owner="n")
    pending = "broker_expiry, delay_level_3, delay_offset_persist, txn_check"
    with pytest.raises(
        LookupError, match=f"no '{wanted}' is pending; pending are: {pending}{meant}$"
    ):
        clock.next_of(wanted)
    assert clock.next_of("delay_level").kind == clock.next_of("delay_level_3").kind


def test_hold_blocks_automatic_movement_only(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    fired: list[str] = []
    clock.call_later(10, lambda: fired.append("t"), kind="kv_config_print", owner="n")
    with clock.hold("loading fixtures"):
        machine.passed_ms += 20
        assert clock.next_due_in_ms() is None
        clock.fire_due()
        assert fired == []
    assert clock.next_due_in_ms() == 0
    clock.fire_due()
    assert fired == ["t"]


def test_driver_is_notified_of_earlier_deadlines_only(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    changes: list[int] = []
    clock.on_change = lambda: changes.append(1)
    clock.call_later(100, lambda: None, kind="kv_config_print", owner="n")
    clock.call_later(200, lambda: None, kind="kv_config_print", owner="n")
    clock.call_later(50, lambda: None, kind="kv_config_print", owner="n")
    assert len(changes) == 2
    assert clock.next_due_in_ms() == 50


def test_node_has_its_skew_and_loses_its_timers_when_killed(machine: ManualTime) -> None:
    clock = Clock(frozen=True, start_at_ms=0, source=machine)
    node = NodeClock(clock, "broker-a-0")
    fired: list[str] = []
    node.skew_ms = 5000
    assert node.now_ms() == 5000
    node.call_later(10, lambda: fired.append("x"), kind="kv_config_print")
    assert [timer.owner for timer in clock.timers()] == ["broker-a-0"]
    node.cancel_all()
    clock.advance(1)
    assert fired == []
    assert clock.timers() == []


def test_paused_node_fires_late_and_in_order(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    node = NodeClock(clock, "n")
    fired: list[int] = []
    node.call_later(20, lambda: fired.append(20), kind="kv_config_print")
    node.call_later(10, lambda: fired.append(10), kind="kv_config_print")
    node.pause()
    clock.advance(1)
    assert fired == []
    node.resume()
    assert fired == [10, 20]


def test_timer_that_fell_due_while_its_node_was_paused_can_be_cancelled(
    machine: ManualTime,
) -> None:
    clock = Clock(frozen=True, source=machine)
    node = NodeClock(clock, "n")
    fired: list[str] = []
    late = [
        node.call_later(30, lambda: fired.append("cancelled by another"), kind="kv_config_print"),
        node.call_later(10, lambda: fired.append("cancelled before"), kind="kv_config_print"),
    ]
    node.call_later(20, lambda: node.cancel(late[0]), kind="kv_config_print")
    node.pause()
    clock.advance(1)
    node.cancel(late[1])
    node.resume()
    assert fired == []


def test_node_that_is_paused_again_keeps_the_timers_behind(machine: ManualTime) -> None:
    clock = Clock(frozen=True, source=machine)
    node = NodeClock(clock, "n")
    fired: list[int] = []
    node.call_later(10, node.pause, kind="kv_config_print")
    node.call_later(20, lambda: fired.append(20), kind="kv_config_print")
    node.pause()
    clock.advance(1)
    node.resume()
    assert (node.paused, fired) == (True, [])
    node.resume()
    assert (node.paused, fired) == (False, [20])


@pytest.mark.parametrize(
    ("elapsed_ms", "tick_ms"),
    [(0, 5000), (5000, 5000), (5001, 15000), (15000, 15000), (124_999, 125_000)],
)
def test_polling_loop_ticks_on_its_grid(elapsed_ms: int, tick_ms: int) -> None:
    assert next_tick_ms(elapsed_ms, 0, 5000, 10_000) == tick_ms


def test_clock_knows_whether_it_shows_the_machines_time(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    node = NodeClock(clock, "broker-a-0")
    node.skew_ms = 5  # a clock that is wrong in a world that is right
    machine.passed_ms += 5
    notified = [node.follows_real_time]
    for change in (
        clock.freeze,
        clock.unfreeze,  # no time has passed meanwhile
        partial(clock.advance, "1s"),
        partial(clock.reset, frozen=False),
    ):
        change()
        notified.append(node.follows_real_time)
    assert notified == [True, False, True, False, True]
    assert not Clock(source=machine, start_at_ms=0).follows_real_time


def test_failing_timer_is_a_bug_in_the_journal_and_the_rest_fires() -> None:
    clock = Clock(frozen=True)
    journal = Journal(clock)
    node = NodeClock(clock, "broker-a-0", journal)
    fired: list[int] = []
    for due_ms in (10, 20):
        node.call_later(due_ms, lambda: print(1 // 0), kind="rpc_timeout")
        node.call_later(due_ms, lambda: fired.append(clock.elapsed_ms()), kind="rpc_timeout")
    clock.advance_ms(10)
    node.pause()
    clock.advance_ms(10)
    node.resume()
    assert fired == [10, 20]
    assert [(failed.node, failed.code) for failed in journal.find(HandlerFailed)] == [
        ("broker-a-0", None)
    ] * 2


def test_failing_timer_raises_to_the_caller_without_a_journal() -> None:
    clock = Clock(frozen=True)
    NodeClock(clock, "n").call_later(1, lambda: print(1 // 0), kind="rpc_timeout")
    with pytest.raises(ZeroDivisionError):
        clock.advance_ms(1)


# -- moments ----------------------------------------------------------------------------------


def test_moment_takes_no_cluster_time(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    clock.hold_moment()
    before = clock.now_ms(), clock.elapsed_ms()
    machine.passed_ms += 7
    assert (clock.now_ms(), clock.elapsed_ms()) == before
    assert clock.elapsed_ms(outside=True) == 7
    clock.release_moment()
    assert (clock.now_ms(), clock.elapsed_ms()) == (before[0] + 7, before[1] + 7)


def test_end_of_a_moment_calls_what_waits_for_it(machine: ManualTime) -> None:
    clock, called = Clock(source=machine), list[str]()

    def fail() -> None:
        called.append("fails")
        raise ZeroDivisionError

    assert not clock.at_release(lambda: called.append("no moment"))
    clock.hold_moment()
    assert clock.at_release(fail)
    assert clock.at_release(lambda: called.append("later"))
    with pytest.raises(ZeroDivisionError):
        clock.release_moment()
    clock.hold_moment()
    clock.release_moment()
    clock.release_moment()
    assert called == ["fails", "later"]


def test_timer_set_in_a_moment_is_not_late(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    fired: list[int] = []
    clock.hold_moment()
    machine.passed_ms += 7
    clock.call_later(
        10, lambda: fired.append(clock.elapsed_ms()), kind="kv_config_print", owner="n"
    )
    clock.release_moment()
    machine.passed_ms += 2
    assert not clock.fire_due()
    machine.passed_ms += 1
    assert clock.fire_due()
    assert fired == [10]


def test_timer_has_no_other_moment_than_its_own(machine: ManualTime) -> None:
    clock = Clock(source=machine)
    seen: list[tuple[int, int]] = []

    def fire() -> None:
        clock.hold_moment()
        machine.passed_ms += 3
        seen.append((clock.now_ms() - 1_700_000_000_000, clock.elapsed_ms()))
        clock.release_moment()
        seen.append((clock.now_ms() - 1_700_000_000_000, clock.elapsed_ms()))

    clock.call_later(100, fire, kind="kv_config_print", owner="n")
    clock.advance_ms(200)
    assert seen == [(100, 100), (100, 100)]


@pytest.mark.parametrize("move", ["advance", "freeze", "reset"])
def test_moving_the_time_ends_the_moment(machine: ManualTime, move: str) -> None:
    clock = Clock(source=machine)
    clock.hold_moment()
    machine.passed_ms += 7
    moves: dict[str, Callable[[], object]] = {
        "advance": partial(clock.advance_ms, 0),
        "freeze": clock.freeze,
        "reset": partial(clock.reset, frozen=False),
    }
    moves[move]()
    assert clock.elapsed_ms() == 7
