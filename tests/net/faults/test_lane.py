"""One direction of a link: whatever it is like, bytes come out in order, once, and never early."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fakemq.clock.clock import Clock
from fakemq.journal.journal import Cause
from fakemq.net.faults.lane import CLEAR, FULL_BYTES, Lane, LaneConditions

SMALL = st.integers(0, 50)
CONDITIONS = st.builds(
    LaneConditions,
    latency_ms=SMALL,
    jitter_ms=SMALL,
    bytes_per_s=st.none() | st.integers(1, 2000),
    slice_bytes=st.none() | st.integers(1, 7),
    blocked=st.booleans(),
)
WRITES = st.lists(st.tuples(st.binary(min_size=1, max_size=40), SMALL), max_size=8)


class Run:
    """A lane on a clock of its own, and when its bytes came out."""

    def __init__(self, ready: Callable[[], bool] = lambda: True) -> None:
        self.clock = Clock(frozen=True)
        self.start_ms = self.clock.elapsed_ms()
        self.out: list[tuple[int, bytes]] = []
        self.causes: list[Cause] = []
        self.moves = 0
        draws = random.Random(1)
        self.lane = Lane(
            self.clock,
            "a → b",
            self._take,
            ready=ready,
            moved=self._move,
            spread=lambda ms: draws.randint(-ms, ms),
        )

    def _take(self, data: bytes, cause: Cause) -> None:
        self.out.append((self.now_ms, data))
        self.causes.append(cause)

    def _move(self) -> None:
        self.moves += 1

    @property
    def now_ms(self) -> int:
        return self.clock.elapsed_ms() - self.start_ms

    @property
    def received(self) -> bytes:
        return b"".join(data for _, data in self.out)


@pytest.fixture
def run() -> Run:
    return Run()


def test_unchanged_lane_has_no_effect(run: Run) -> None:
    run.lane.put(b"one", 7)
    run.lane.put(b"two")
    assert run.out == [(0, b"one"), (0, b"two")]
    assert run.causes == [7, 0]
    assert run.lane.idle
    assert not run.clock.timers()


def test_latency_follows_the_clock(run: Run) -> None:
    run.lane.set(LaneConditions(latency_ms=50))
    run.lane.put(b"a")
    run.clock.advance_ms(20)
    run.lane.put(b"b")
    (timer,) = run.clock.timers()
    assert (timer.kind, timer.owner) == ("link_delivery", "a → b")
    run.clock.advance_ms(49)
    run.clock.advance_ms(1)
    assert run.out == [(50, b"a"), (70, b"b")]


def test_jitter_keeps_the_order(run: Run) -> None:
    run.lane.set(LaneConditions(latency_ms=50, jitter_ms=50))
    for number in range(100):
        run.lane.put(bytes([number]))
        run.clock.advance_ms(1)
    run.clock.advance_ms(200)
    assert run.received == bytes(range(100))
    late_ms = {at_ms - data[0] for at_ms, data in run.out}
    assert min(late_ms) < 50 < max(late_ms) <= 100


def test_bandwidth_spreads_bytes_over_time(run: Run) -> None:
    run.lane.set(LaneConditions(bytes_per_s=1000))
    run.lane.put(bytes(1000))
    run.clock.advance_ms(500)
    assert 450 <= len(run.received) <= 500
    run.lane.put(bytes(1000))
    run.clock.advance_ms(1499)
    assert len(run.received) < 2000
    run.clock.advance_ms(1)
    assert len(run.received) == 2000


def test_narrow_lane_does_not_cut_without_end(run: Run) -> None:
    run.lane.set(LaneConditions(bytes_per_s=1))
    run.lane.put(bytes(1 << 20))
    assert len(run.lane._items) <= 1001


def test_slices_cut_data(run: Run) -> None:
    run.lane.set(LaneConditions(slice_bytes=2))
    run.lane.put(b"abcde")
    assert [data for _, data in run.out] == [b"ab", b"cd", b"e"]


def test_blocked_data_continue_at_once_after_the_block(run: Run) -> None:
    run.lane.set(LaneConditions(blocked=True, latency_ms=10))
    run.lane.put(b"a")
    run.clock.advance_ms(1000)
    ended: list[int] = []
    run.lane.after(lambda: ended.append(len(run.received)))
    assert (run.received, ended) == (b"", [])
    run.lane.set(CLEAR)
    assert (run.received, ended) == (b"a", [1])


def test_removed_latency_holds_nothing_back(run: Run) -> None:
    run.lane.set(LaneConditions(latency_ms=1000))
    run.lane.put(b"a")
    run.lane.set(CLEAR)
    assert run.out == [(0, b"a")]


def test_blocked_receiver_stops_delivery() -> None:
    takes = False
    run = Run(ready=lambda: takes)
    run.lane.put(bytes(FULL_BYTES + 1))
    state = run.lane.full, run.lane.held_bytes, run.lane.idle
    assert state == (True, FULL_BYTES + 1, False)
    takes = True
    run.lane.deliver_due()
    state = run.lane.full, run.lane.held_bytes, run.lane.idle
    assert state == (False, 0, True)


def test_receiver_may_block_between_slices() -> None:
    takes = [True, True, False]
    run = Run(ready=lambda: bool(takes) and takes.pop(0))
    run.lane.set(LaneConditions(slice_bytes=1))
    run.lane.put(b"abc")
    assert (run.received, run.lane.held_bytes) == (b"ab", 1)
    takes.append(True)
    run.lane.deliver_due()
    assert run.received == b"abc"


def test_dropped_data_are_lost_and_leave_no_timer(run: Run) -> None:
    run.lane.set(LaneConditions(latency_ms=5))
    run.lane.put(b"a")
    run.lane.drop()
    assert (run.lane.held_bytes, run.clock.timers()) == (0, [])
    run.clock.advance_ms(10)
    assert run.out == []


@given(CONDITIONS, WRITES)
def test_data_arrive_in_order_complete_and_never_early(
    like: LaneConditions, writes: list[tuple[bytes, int]]
) -> None:
    run = Run()
    run.lane.set(like)
    put_ms: list[int] = []  # of each byte
    for data, pause_ms in writes:
        run.lane.put(data)
        put_ms += [run.now_ms] * len(data)
        run.clock.advance_ms(pause_ms)
    run.clock.advance_ms(1_000_000)
    written = b"".join(data for data, _ in writes)
    assert run.received == (b"" if like.blocked else written)
    least_ms = max(0, like.latency_ms - like.jitter_ms)
    came = 0
    for at_ms, data in run.out:
        assert like.slice_bytes is None or len(data) <= like.slice_bytes
        assert at_ms >= put_ms[came + len(data) - 1] + least_ms
        if like.bytes_per_s is not None and like.slice_bytes is None:
            # From the first byte on, the line brings no more than it can.
            on_line_ms = at_ms - least_ms - put_ms[0]
            assert (came + len(data)) * 1000 <= like.bytes_per_s * on_line_ms
        came += len(data)
    assert run.lane.held_bytes == len(written) - came


class Changing(RuleBasedStateMachine):
    """A lane whose conditions change while bytes are on their way."""

    @initialize()
    def begin(self) -> None:
        self.takes = True
        self.run = Run(ready=lambda: self.takes)
        self.written = b""

    @rule(data=st.binary(min_size=1, max_size=30))
    def put(self, data: bytes) -> None:
        self.written += data
        self.run.lane.put(data)

    @rule(ms=st.integers(0, 100))
    def advance(self, ms: int) -> None:
        self.run.clock.advance_ms(ms)

    @rule(like=CONDITIONS)
    def change(self, like: LaneConditions) -> None:
        self.run.lane.set(like)

    @rule(takes=st.booleans())
    def listen(self, takes: bool) -> None:
        self.takes = takes
        if takes:
            self.run.lane.deliver_due()

    @rule()
    def close(self) -> None:
        """What is done after the bytes comes after all of them, and before later ones."""
        before = len(self.written)
        self.run.lane.after(lambda: self.check(len(self.run.received) == before))

    def check(self, is_right: bool) -> None:
        assert is_right

    @invariant()
    def nothing_is_lost_twice_or_out_of_order(self) -> None:
        received = self.run.received
        assert self.written.startswith(received)
        assert self.run.lane.held_bytes == len(self.written) - len(received)
        assert len(self.run.clock.timers()) <= 1

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.takes = True
            self.run.lane.set(CLEAR)
            self.run.lane.deliver_due()
            assert self.run.received == self.written
            assert self.run.lane.idle


TestChanging = Changing.TestCase
TestChanging.settings = settings(max_examples=30, stateful_step_count=30)
