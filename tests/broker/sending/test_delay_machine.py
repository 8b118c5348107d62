"""Delay levels, time and restarts in many orders: never early, in order, once unless killed."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakemq.broker.sending.delay import FIRST_DELAY_TIME_MS
from tests.support.broker_lab import BrokerLab
from tests.support.delays import Delays

DELAYS_MS = {1: 1_000, 2: 2_000, 3: 15_000}
PERSIST_MS = 10_000


class DelayLevels(RuleBasedStateMachine):
    """Sends to three levels, some into the future, and a broker that is stopped and killed."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = BrokerLab()
        self.delays = Delays(self.lab, "1s 2s 15s")
        self.start_ms = self.now_ms
        self.started_ms = self.now_ms
        self.due_ms: dict[int, list[int]] = {level: [] for level in DELAYS_MS}
        self.done: dict[int, list[tuple[int, int]]] = {level: [] for level in DELAYS_MS}
        """By level, what was delivered, in order: the message's number and when it came."""
        self.kills_ms: list[int] = []

    @property
    def now_ms(self) -> int:
        return self.lab.clock.now_ms()

    def running(self) -> bool:
        return self.delays.broker.running

    @precondition(running)
    @rule(level=st.integers(1, 3), count=st.integers(1, 3))
    def send(self, level: int, count: int) -> None:
        self.delays.peer = self.lab.peer(self.delays.broker.addr)
        for _ in range(count):
            number = len(self.due_ms[level])
            self.due_ms[level].append(self.now_ms + DELAYS_MS[level])
            self.delays.send(level, b"%d" % number, queue_id=level)

    @rule(ms=st.sampled_from([1, 100, 999, 1_000, 1_001, 2_000, 4_321, 10_000, 15_000]))
    def wait(self, ms: int) -> None:
        self.delays.pass_ms(ms)
        self.take()

    @precondition(running)
    @rule()
    def wait_for_the_next(self) -> None:
        if timers := self.delays.timers():
            self.wait(timers[0][1])

    @precondition(running)
    @rule()
    def stop(self) -> None:
        self.delays.broker.stop()

    @precondition(running)
    @rule()
    def kill(self) -> None:
        self.delays.broker.kill()
        self.kills_ms.append(self.now_ms)

    @precondition(lambda self: not self.running())
    @rule()
    def start(self) -> None:
        self.delays.start()
        self.started_ms = self.now_ms

    def take(self) -> None:
        for level, done in self.done.items():
            messages = self.delays.stored("orders", level)[len(done) :]
            done += [(int(message.body), message.store_timestamp_ms) for message in messages]

    @invariant()
    def nothing_comes_early(self) -> None:
        for level, done in self.done.items():
            assert all(at_ms >= self.due_ms[level][number] for number, at_ms in done)

    @invariant()
    def what_is_due_has_come(self) -> None:
        if self.running():
            if self.now_ms < self.started_ms + FIRST_DELAY_TIME_MS:
                return
            for level, done in self.done.items():
                due = sum(due_ms <= self.now_ms for due_ms in self.due_ms[level])
                assert {number for number, _ in done} == set(range(due))

    @invariant()
    def each_comes_behind_the_one_before_it(self) -> None:
        for done in self.done.values():
            expected, last_ms = 0, self.start_ms
            came_ms: dict[int, int] = {}
            for number, at_ms in done:
                if number != expected:  # once more: its delivery was not persisted
                    assert number < expected
                    assert any(
                        last_ms <= kill_ms <= at_ms and came_ms[number] >= kill_ms - PERSIST_MS
                        for kill_ms in self.kills_ms
                    )
                came_ms[number] = at_ms
                expected, last_ms = number + 1, at_ms

    @invariant()
    def only_what_waits_has_a_deadline(self) -> None:
        waiting = [
            f"delay_level_{level}"
            for level, due in self.due_ms.items()
            if self.running() and len(due) > self.delays.broker.delay.next_offset(level)
        ]
        assert sorted(kind for kind, _ in self.delays.timers()) == waiting

    def teardown(self) -> None:
        self.lab.free()


TestDelayLevels = DelayLevels.TestCase
# Over a second: restarts between two persists are found by few runs only.
TestDelayLevels.settings = settings(deadline=None, max_examples=30, stateful_step_count=30)
