"""Routine that nothing disturbs is skipped, and the cluster is as if it had been carried out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakemq
from fakemq.client import Client, Message
from fakemq.clock.clock import Clock
from fakemq.clock.timers import CYCLE_MS, SEEN_MS, Timer, is_regular
from fakemq.config.checked import TopicSpec
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.events import (
    BrokerGone,
    InSyncSetTaken,
    LinkClosed,
    MasterElected,
    MetadataSynchronized,
    ReplicaInactive,
    RoleChanged,
    RoutineSkipped,
    SyncStateSetChanged,
    TransactionChecked,
)
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import SILENCE
from tests.support.time import skip_nothing

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Beat:
    """Routine that notes when it was carried out."""

    def __init__(self, clock: Clock, period_ms: int) -> None:
        self._clock = clock
        self._period_ms = period_ms
        self.last_ms = 0
        self.count = 0
        self._wait()

    def _wait(self) -> None:
        self._clock.call_later(
            self._period_ms,
            self._fire,
            kind="heartbeat",
            owner="n",
            routine=self._move,
            grid_ms=self._period_ms if CYCLE_MS % self._period_ms else 0,
        )

    def _fire(self) -> None:
        self.count += 1
        self.last_ms = self._clock.elapsed_ms()
        self._wait()

    def _move(self, ms: int) -> None:
        self.last_ms += ms


def other_work(clock: Clock, delay_ms: int, done: list[int]) -> Timer:
    return clock.call_later(
        delay_ms, lambda: done.append(clock.elapsed_ms()), kind="delay_level_1", owner="n"
    )


@given(
    periods_ms=st.lists(
        st.sampled_from([10_000, 30_000, 60_000, 120_000, 600_000]), min_size=1, max_size=3
    ),
    work_ms=st.lists(st.integers(0, 3 * DAY_MS), max_size=4),
    moves_ms=st.lists(st.integers(0, 2 * DAY_MS), min_size=1, max_size=3),
)
def test_skipped_time_ends_as_time_that_is_not_skipped(
    periods_ms: list[int], work_ms: list[int], moves_ms: list[int]
) -> None:
    def states(*, skip: bool) -> list[object]:
        clock = Clock(frozen=True, start_at_ms=0)
        clock.may_skip = lambda: skip
        beats, done = [Beat(clock, period_ms) for period_ms in periods_ms], list[int]()
        for delay_ms in work_ms:
            other_work(clock, delay_ms, done)
        found = list[object]()
        for ms in moves_ms:
            clock.advance_ms(ms)
            due = sorted((timer.kind, clock.due_in_ms(timer)) for timer in clock.timers())
            found.append((clock.now_ms(), due, list(done), [one.last_ms for one in beats]))
        return found

    assert states(skip=True) == states(skip=False)


def test_skip_leaves_less_than_two_cycles_of_routine() -> None:
    clock = Clock(frozen=True)
    skipped: list[int] = []
    clock.on_skip = skipped.append
    beat = Beat(clock, 10_000)
    assert len(clock.advance("1000d")) == beat.count <= (SEEN_MS + CYCLE_MS) // 10_000
    assert sum(skipped) + beat.count * 10_000 == 1000 * DAY_MS


def test_routine_is_seen_before_it_is_skipped() -> None:
    clock = Clock(frozen=True)
    beat, done = Beat(clock, 10_000), list[int]()
    for at_ms in range(SEEN_MS, DAY_MS, SEEN_MS):
        other_work(clock, at_ms, done)
    clock.advance_ms(DAY_MS)
    assert beat.count == DAY_MS // 10_000
    assert len(done) == DAY_MS // SEEN_MS - 1


def test_time_within_a_skip_does_not_go_back_when_the_advance_ends() -> None:
    clock = Clock(frozen=True, start_at_ms=0)
    beat = Beat(clock, 10_000)
    why = [""]
    clock.why_ended = lambda: why[0]

    def skipped(ms: int) -> None:
        why[0] = "enough"

    clock.on_skip = skipped
    with pytest.raises(fakemq.errors.FakemqError, match="enough"):
        clock.advance("1d")
    assert beat.last_ms <= clock.elapsed_ms() < beat.last_ms + 10_000


@pytest.mark.parametrize(
    ("period_ms", "regular"),
    [(0, False), (7_000, False), (30_000, True), (120_000, False), (2 * CYCLE_MS, False)],
)
def test_period_must_fit_into_what_is_skipped(period_ms: int, regular: bool) -> None:
    assert is_regular(period_ms) is regular


# -- clusters ---------------------------------------------------------------------------------


def core_of(reference: str, *, skip: bool, **options: Any) -> ClusterCore:
    """Return a cluster without a loop."""
    spec = cluster_spec(
        namesrv_port=9876,
        broker_port=10911,
        clock="frozen",
        start_at="2024-02-29T12:00:00Z",
        seed=1,
        reference=reference,
        **options,
    )
    ports = [10911 + 100 * number for number in range(len(spec.broker_configs))]
    addrs = [f"127.0.0.1:{9876 + number}" for number in range(len(spec.namesrv_ports))]
    controllers = [f"127.0.0.1:{9870 + number}" for number in range(len(spec.controllers))]
    core = ClusterCore(spec, addrs, ports, controller_addrs=controllers)
    core.start()
    if not skip:
        core.clock.may_skip = lambda: False
    return core


def state_of(core: ClusterCore) -> object:
    """What is pending, and when each broker registered last.

    When a node looks next whether a connection or a broker is silent makes no difference.
    """
    clock = core.clock
    timers = sorted(
        (one.kind, one.owner, clock.due_in_ms(one))
        for one in clock.timers()
        if one.kind not in ("channel_idle", "broker_expiry", "ha_housekeeping")
    )
    tables = [one.tables.broker_live_table for one in core.name_servers]
    lives = [
        {addr: live.last_update_ms - clock.elapsed_ms() for addr, live in table.items()}
        for table in tables
    ]
    return clock.now_ms() - clock.elapsed_ms(), timers, lives


@pytest.mark.parametrize("reference", ["4.9.7", "5.5.0"])
@pytest.mark.parametrize("options", [{}, {"masters": 2, "namesrvs": 2}], ids=["one", "two"])
def test_idle_cluster_is_as_if_nothing_was_skipped(
    reference: str, options: dict[str, object]
) -> None:
    one, other = (core_of(reference, skip=skip, **options) for skip in (True, False))
    for move in ("17s", "5h", "1ms", "20m59s", "7h"):
        for core in (one, other):
            core.clock.advance(move)
        assert state_of(one) == state_of(other)
    for core in (one, other):
        core.faults.place(SILENCE, None, "silence", Scope(), ALWAYS)
        core.clock.advance("5m")
    assert ends_in(one) == ends_in(other) != []
    assert one.journal.find(RoutineSkipped)
    assert not other.journal.find(RoutineSkipped)


def ends_in(core: ClusterCore) -> list[tuple[str, int]]:
    """Return when connections ended and brokers expired."""
    return [
        (type(one.event).__name__, one.at_ms)
        for one in core.journal
        if isinstance(one.event, LinkClosed | BrokerGone)
    ]


def test_slave_stays_connected() -> None:
    core = core_of("4.9.7", skip=True, slaves=1)
    core.clock.advance("3d")
    assert core.journal.find(RoutineSkipped)
    assert not core.journal.find(LinkClosed)
    assert not core.journal.find(BrokerGone)


CONTROLLED: Any = {"slaves": 2, "controllers": 1}
WHAT_CHANGES = (
    *(MetadataSynchronized, MasterElected, SyncStateSetChanged, ReplicaInactive, RoleChanged),
    *(InSyncSetTaken, LinkClosed, BrokerGone),
)


def changes_in(core: ClusterCore, since_ms: int) -> list[tuple[int, object]]:
    """Return what has changed after a moment, and when; epochs and sets are part of it."""
    return [
        (one.at_ms, one.event)
        for one in core.journal
        if one.at_ms > since_ms and isinstance(one.event, WHAT_CHANGES)
    ]


def test_group_under_a_controller_is_as_if_nothing_was_skipped() -> None:
    one, other = (core_of("5.5.0", skip=skip, **CONTROLLED) for skip in (True, False))

    def after(*moves: str) -> list[tuple[int, object]]:
        """Move both; return what has changed, which is the same in both."""
        began_ms = one.clock.now_ms()
        for move in moves:
            for core in (one, other):
                core.clock.advance(move)
            assert state_of(one) == state_of(other)
        changes = changes_in(one, began_ms)
        assert changes == changes_in(other, began_ms)
        return changes

    until_skipped = "8m"  # 3 minutes that are seen, and a cycle
    after("17s", until_skipped)
    for core in (one, other):
        core.create_topic("refunds", TopicSpec(2))
    assert len(after("13s")) == 2, "both slaves have copied the topic"
    after(until_skipped)
    for core in (one, other):
        core.brokers["broker-a@3"].pause()
    assert after("25s"), "the slave has left the set"
    for core in (one, other):
        core.brokers["broker-a@3"].resume()
    assert after("1m", until_skipped), "the slave has come back"
    for core in (one, other):
        core.brokers["broker-a@1"].pause()
    assert after("15s"), "another master is elected"
    assert [event.ms for event in one.journal.find(RoutineSkipped)] == [CYCLE_MS] * 3
    assert not other.journal.find(RoutineSkipped)


# -- what is not skipped ----------------------------------------------------------------------


@pytest.fixture
def mq() -> fakemq.Cluster:
    return fakemq.Cluster(clock="frozen", topics={"orders": 1}, reference="5.5.0")


def test_three_days_are_one_short_advance(mq: fakemq.Cluster) -> None:
    with mq:
        fired = mq.clock.advance("3d")
        assert len(fired) < 100
        skipped_ms = sum(event.ms for event in mq.journal.find(RoutineSkipped))
        assert 3 * DAY_MS - skipped_ms < SEEN_MS + 2 * CYCLE_MS


def test_timer_of_days_is_delivered_in_its_second(mq: fakemq.Cluster) -> None:
    with mq, Client(mq.namesrv_addr, producer_group="billing") as client:
        at_ms = mq.clock.now_ms() + 2 * DAY_MS
        client.send(Message("orders", b"later", properties={"TIMER_DELIVER_MS": str(at_ms)}))
        mq.clock.advance_to(datetime.fromtimestamp((at_ms - 1) / 1000, UTC))
        assert mq.clock.now_ms() == at_ms - 1
        assert mq.messages("orders") == []
        mq.clock.advance("1001ms")
        assert [one.body for one in mq.messages("orders")] == [b"later"]


@pytest.mark.parametrize("interval_ms", [60_000, SEEN_MS, 280_000])
def test_checks_of_a_transaction_are_not_skipped(interval_ms: int) -> None:
    config = {"transactionCheckInterval": interval_ms}

    def checks(prepare: Callable[[fakemq.Cluster], None]) -> list[int]:
        with fakemq.Cluster(clock="frozen", topics={"orders": 1}, config=config) as cluster:
            cluster.clock.advance("1m")
            prepare(cluster)
            with Client(cluster.namesrv_addr, producer_group="billing") as client:
                client.send(Message("orders", b"half", properties={"TRAN_MSG": "true"}))
            cluster.clock.advance("5h")
            began_ms = cluster.journal.entries(TransactionChecked)[0].at_ms
            found = cluster.journal.entries(TransactionChecked)
            return [entry.at_ms - began_ms for entry in found]

    assert checks(lambda cluster: None) == checks(skip_nothing) != []


def test_placed_fault_keeps_routine_as_it_is(mq: fakemq.Cluster) -> None:
    with mq:
        placed = mq.faults.silence("broker-a")
        mq.clock.advance("1h")
        assert not mq.journal.find(RoutineSkipped)
        assert mq.journal.find(BrokerGone)
        placed.remove()
        mq.clock.advance("1h")
        assert mq.journal.find(RoutineSkipped)


def test_paused_broker_keeps_routine_as_it_is() -> None:
    one, other = (core_of("4.9.7", skip=skip, masters=2) for skip in (True, False))
    for core in (one, other):
        paused = next(iter(core.brokers.values()))
        paused.pause()
        core.clock.advance("1h")
        assert not core.journal.find(RoutineSkipped)
        paused.resume()
        core.clock.advance("1m")
    assert ends_in(one) == ends_in(other) != []
    assert state_of(one) == state_of(other)
    one.clock.advance("1h")
    assert one.journal.find(RoutineSkipped)


def test_set_that_waits_for_the_controller_keeps_routine_as_it_is() -> None:
    core = core_of("5.5.0", skip=True, **CONTROLLED)
    controller = core.controllers_called(0)[0]
    controller.stop()
    core.brokers["broker-a@3"].kill()
    core.clock.advance("9m")
    assert not core.journal.find(RoutineSkipped)
    core.start_controller(controller)
    core.clock.advance("9m")
    assert core.journal.find(RoutineSkipped)
