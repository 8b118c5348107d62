"""A carrier for tests of tasks: virtual time, and requests that a function of the test answers.

carrier = ScriptedCarrier(lambda call: answer())
carrier.run(task)            # to its end, as long as no time has to pass
carrier.advance(20_000)      # fires timers in order, with all that follows from each
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from fakemq.client.carrier import Cancellable, Failure, OnRequest, Performed, Reply
from fakemq.client.errors import RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Task
from fakemq.protocol.command import RemotingCommand
from tests.support.time import START_MS, ManualTime

T = TypeVar("T")

STEPS_AT_ONCE = 100_000
"""The most callbacks while time does not pass: a client that repeats a request without a pause
would fill the memory."""

HELD = "held"
"""What a test's function returns for a request that is not answered now."""

Outcome = RemotingCommand | Failure | str | None


class _Timer:
    def __init__(self, callback: Callable[[], None], kind: str) -> None:
        self.callback: Callable[[], None] | None = callback
        self.kind = kind

    def cancel(self) -> None:
        self.callback = None


class HeldCall:
    """A request that waits for its answer."""

    def __init__(self, call: Call, reply: Reply, carrier: ScriptedCarrier) -> None:
        self.call = call
        self.over = False
        self._reply = reply
        self._carrier = carrier

    def answer(self, outcome: RemotingCommand | Failure | None) -> None:
        """Answer it when the present call has returned; only the first answer counts."""
        if not self.over:
            self.over = True
            self._carrier.soon(lambda: self._reply(outcome))


class HeldPerform:
    """A function of the user that was called for and does not run yet."""

    def __init__(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> None:
        self.function = function
        self.args = args
        self.cancelled = False
        self._done = done

    def run(self) -> None:
        """Run it now; a coroutine, which must not wait for a loop, to its end."""
        try:
            result = self.function(*self.args)
            if isinstance(result, Coroutine):
                result = _result_of(result)
        except BaseException as error:
            self._done(None, error)
        else:
            self._done(result, None)

    def run_unless_cancelled(self) -> None:
        if not self.cancelled:
            self.run()

    def cancel(self) -> None:
        self.cancelled = True


def _result_of(coroutine: Coroutine[object, None, object]) -> object:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError(f"{coroutine} waits for a loop")


class Received(NamedTuple):
    """What a client sent for a broker's request."""

    addr: str
    answer: RemotingCommand


class ScriptedCarrier:
    """Carries the tasks of one client without any transport; see the module.

    ``answers`` is called for each request, and returns its response, an error, or `HELD`: then the
    test answers the last of ``held``, or it times out. A one-way request gets None.
    """

    on_request: OnRequest

    def __init__(self, answers: Callable[[Call], Outcome], time: ManualTime | None = None) -> None:
        self.time = time or ManualTime()
        self.answers = answers
        self.calls: list[Call] = []
        self.held: list[HeldCall] = []
        self.performs_at_once = True
        """Functions of the user run when the present call has returned, while the test waits for
        all that is due. False keeps them in ``performing``, for the test to run."""
        self.performing: list[HeldPerform] = []
        self.received: list[Received] = []
        self._ready: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[int, int, _Timer]] = []
        self._count = 0

    # -- the carrier's part ---------------------------------------------------

    def wall_ms(self) -> int:
        return START_MS + self.time.passed_ms

    def elapsed_ms(self) -> int:
        return self.time.passed_ms

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Cancellable:
        timer = _Timer(callback, kind)
        self._count += 1
        heapq.heappush(self._timers, (self.time.passed_ms + delay_ms, self._count, timer))
        return timer

    def soon(self, callback: Callable[[], None]) -> None:
        self._ready.append(callback)

    def request(self, call: Call, reply: Reply) -> None:
        self.calls.append(call)
        held = HeldCall(call, reply, self)
        outcome = self.answers(call)
        if call.command.is_oneway:
            held.answer(None)
        elif isinstance(outcome, str):
            self.held.append(held)
            self.call_later(call.timeout_ms, lambda: self._time_out(held), kind="rpc_timeout")
        else:
            held.answer(outcome)

    def _time_out(self, held: HeldCall) -> None:
        held.answer(RemotingTimeoutError(held.call.addr, held.call.timeout_ms))

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable | None:
        held = HeldPerform(function, args, done)
        if self.performs_at_once:
            self.soon(held.run_unless_cancelled)
        else:
            self.performing.append(held)
        return held

    # -- the test's part ------------------------------------------------------

    def start(self, task: Task[T]) -> list[tuple[T | None, BaseException | None]]:
        """Run a task as far as it gets now; its result is appended to the returned list."""
        results: list[tuple[T | None, BaseException | None]] = []

        def on_end(_: RunningTask[T], value: T | None, error: BaseException | None) -> None:
            results.append((value, error))

        RunningTask(self, task, on_end).begin()
        self.settle()
        return results

    def run(self, task: Task[T], *, within_ms: int = 0) -> T:
        """Run a task to its end; return its result or raise its error."""
        results = self.start(task)
        if not results and within_ms:
            self.advance(within_ms)
        assert results, f"the task has not ended within {within_ms} ms"
        value, error = results[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # None is a result, too

    def settle(self) -> None:
        """Do everything that is due now."""
        for _ in range(STEPS_AT_ONCE):
            if not self._ready:
                return
            self._ready.popleft()()
        raise AssertionError(f"no end after {STEPS_AT_ONCE} steps without time")

    def advance(self, ms: int) -> None:
        """Let time pass, with everything that happens meanwhile."""
        self.settle()
        until_ms = self.time.passed_ms + ms
        while self._timers and self._timers[0][0] <= until_ms:
            due_ms, _, timer = heapq.heappop(self._timers)
            if timer.callback is not None:
                self.time.passed_ms = max(due_ms, self.time.passed_ms)
                timer.callback()
                self.settle()
        self.time.passed_ms = until_ms

    def pending(self, kind: str | None = None) -> int:
        """Return how many timers are pending."""
        return sum(
            timer.callback is not None and kind in (None, timer.kind)
            for _, _, timer in self._timers
        )

    def perform_next(self) -> None:
        """Run the oldest function that waits, and what follows."""
        self.performing.pop(0).run()
        self.settle()

    def push(self, addr: str, request: RemotingCommand) -> None:
        """Let a broker send the client a request; answers go to ``received``."""
        self.on_request(addr, request, lambda answer: self.received.append(Received(addr, answer)))
        self.settle()

    def codes(self) -> list[int]:
        """Return the codes of all requests until now."""
        return [one.command.code for one in self.calls]
