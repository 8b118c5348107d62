"""Signals, which tasks wait for."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fakemq.client.tasks import Signal


def test_set_wakes_each_waiter_once_in_the_order_of_their_coming() -> None:
    signal, woken = Signal(), list[str]()
    signal.add_waiter(lambda: woken.append("first"))
    signal.add_waiter(lambda: woken.append("second"))
    signal.set()
    signal.set()
    signal.clear()
    signal.set()
    assert woken == ["first", "second"]


def test_waiter_that_is_removed_is_not_woken() -> None:
    signal, woken = Signal(), list[str]()

    def wake() -> None:
        woken.append("no")

    signal.add_waiter(wake)
    signal.remove_waiter(wake)
    signal.remove_waiter(wake)
    signal.set()
    assert woken == []


def test_waiter_may_clear_the_signal_and_wait_again() -> None:
    signal, woken = Signal(), list[int]()

    def wake() -> None:
        woken.append(len(woken))
        signal.clear()
        signal.add_waiter(wake)

    signal.add_waiter(wake)
    signal.set()
    assert woken == [0]
    signal.set()
    assert woken == [0, 1]


class Signalling(RuleBasedStateMachine):
    """A signal beside a model: a flag, and the waiters in order."""

    def __init__(self) -> None:
        super().__init__()
        self.signal = Signal()
        self.is_set = False
        self.waiting: list[int] = []
        self.expected: list[int] = []
        self.woken: list[int] = []
        self.wakes = [self._wake(number) for number in range(3)]

    def _wake(self, number: int) -> Callable[[], None]:
        return lambda: self.woken.append(number)

    @rule()
    def set(self) -> None:
        if not self.is_set:
            self.expected += self.waiting
            self.waiting.clear()
        self.is_set = True
        self.signal.set()

    @rule()
    def clear(self) -> None:
        self.is_set = False
        self.signal.clear()

    @rule(number=st.integers(0, 2))
    def add(self, number: int) -> None:
        if number not in self.waiting:
            self.waiting.append(number)
        self.signal.add_waiter(self.wakes[number])

    @rule(number=st.integers(0, 2))
    def remove(self, number: int) -> None:
        if number in self.waiting:
            self.waiting.remove(number)
        self.signal.remove_waiter(self.wakes[number])

    @invariant()
    def woken_as_expected(self) -> None:
        assert self.woken == self.expected
        assert self.signal.is_set == self.is_set


TestSignalling = Signalling.TestCase
TestSignalling.settings = settings(max_examples=30, stateful_step_count=20)
