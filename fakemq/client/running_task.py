"""Runs tasks over a carrier."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from fakemq.client.carrier import Cancellable, Carrier, Failure
from fakemq.client.errors import RemotingSendRequestError
from fakemq.client.operation import Call
from fakemq.client.tasks import Perform, Sleep, Step, Task, Wait
from fakemq.protocol.command import RemotingCommand

T = TypeVar("T")
_log = logging.getLogger("fakemq.client")


class TaskState(Enum):
    """The state of a task: STEPPING ⇄ WAITING, and from either OVER."""

    STEPPING = auto()
    """Its code runs, or its step is being started."""
    WAITING = auto()
    """A step is under way."""
    OVER = auto()
    """It returned, failed or was cancelled."""


# Once: each look at a member of an Enum takes as long as a short call. Annotated, so that a type
# checker does not take an attribute for unchanged after a comparison.
_STEPPING: TaskState = TaskState.STEPPING
_WAITING: TaskState = TaskState.WAITING
_OVER: TaskState = TaskState.OVER


class RunningTask(Generic[T]):
    """A task that a carrier carries: its generator, and the step that it waits for.

    ``on_end`` is called once when the task has returned or raised, not when it is cancelled.
    """

    __slots__ = (
        "_arrived",
        "_carrier",
        "_number",
        "_on_end",
        "_step",
        "_task",
        "done",
        "name",
        "state",
    )

    def __init__(
        self,
        carrier: Carrier,
        task: Task[T],
        on_end: Callable[[RunningTask[T], T | None, BaseException | None], None],
        name: str = "",
    ) -> None:
        self._carrier = carrier
        self._task = task
        self._on_end = on_end
        self._step: Cancellable | None = None
        self._arrived: tuple[Any, BaseException | None] | None = None
        # Counts steps, so that a result that comes after its step was given up has no effect.
        self._number = 0
        self.name = name
        self.done: Callable[[T | None, BaseException | None], None] | None = None
        """Of its owner: what is called with the result or error, if anything."""
        self.state = _STEPPING

    def begin(self) -> None:
        """Run it up to its first step that waits."""
        self._resume(None, None)

    def cancel(self) -> None:
        """End it where it waits; nothing of it runs but its ``finally`` blocks, which must not
        yield: an error of theirs is logged. A task that cancels itself ends at its next step."""
        was, self.state = self.state, _OVER
        if was is _WAITING:
            self._give_step_up()
            self._close()

    def _give_step_up(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.cancel()

    def _close(self) -> None:
        try:
            self._task.close()
        except Exception:  # the canceller has others to cancel
            _log.exception("the end of the task %s failed", self.name)

    def _resume(self, value: Any, error: BaseException | None) -> None:
        """Resume the generator, and start step after step until one does not end at once.

        An error of the carrier while a step starts is thrown into the generator: otherwise nothing
        would ever resume it.
        """
        task = self._task
        self.state = _STEPPING
        self._step = None
        while True:
            try:
                step = task.send(value) if error is None else task.throw(error)
            except StopIteration as stop:
                self._end(stop.value, None)
                return
            except BaseException as raised:
                self._end(None, raised)
                return
            if self.state is _OVER:  # it has cancelled itself
                self._close()
                return
            self._number += 1
            self._arrived = None
            try:
                arrived = self._start(step)
            except BaseException as raised:
                self._give_step_up()
                arrived = None, _failure(step, raised)
            if self.state is _OVER:  # the start of its step has cancelled it
                self._give_step_up()
                self._close()
                return
            if arrived is None:
                self.state = _WAITING
                return
            value, error = arrived

    def _start(self, step: Step) -> tuple[Any, BaseException | None] | None:
        """Start a step; return its result and error if it ended at once."""
        number = self._number
        if type(step) is Call:
            self._carrier.request(step, lambda response: self._answered(number, response))
        elif type(step) is Sleep:
            self._step = self._carrier.call_later(
                step.ms, lambda: self._done(number, None, None), kind=step.kind
            )
        elif type(step) is Wait:
            self._wait(number, step)
        elif type(step) is Perform:
            self._step = self._carrier.perform(
                step.function, step.args, lambda value, error: self._done(number, value, error)
            )
        else:
            raise TypeError(f"a task yielded {step!r}: expected a Call, Sleep, Wait or Perform")
        return self._arrived

    def _wait(self, number: int, step: Wait) -> None:
        signal = step.signal
        if signal.is_set:
            self._done(number, True, None)
            return
        waiting = _Waiting(self, number, step)
        self._step = waiting
        signal.add_waiter(waiting.woken)
        if step.timeout_ms is not None:
            waiting.timer = self._carrier.call_later(
                step.timeout_ms, waiting.expired, kind=step.kind
            )

    def _answered(self, number: int, response: RemotingCommand | Failure | None) -> None:
        if isinstance(response, Exception):
            self._done(number, None, response)
        elif number == self._number and self.state is _WAITING:
            self._resume(response, None)  # as `_done` does; nearly always
        else:
            self._done(number, response, None)

    def _done(self, number: int, value: Any, error: BaseException | None) -> None:
        if number != self._number or self.state is _OVER:
            return
        if self.state is _STEPPING:
            if self._arrived is None:
                self._arrived = value, error
        else:
            self._resume(value, error)

    def _end(self, value: T | None, error: BaseException | None) -> None:
        if self.state is not _OVER:
            self.state = _OVER
            self._on_end(self, value, error)

    def __repr__(self) -> str:
        return f"<task {self.name or self._task}, {self.state.name}>"


def _failure(step: Step, raised: BaseException) -> BaseException:
    """Return the error of a step that a carrier could not begin.

    A request fails as one that was not sent, so that tasks that repeat requests continue.
    """
    if type(step) is not Call or not isinstance(raised, Exception):
        return raised
    _log.error("the request to %s could not be begun", step.addr, exc_info=raised)
    failure = RemotingSendRequestError(step.addr)
    failure.__cause__ = raised
    return failure


class _Waiting:
    """A task that waits for a signal, perhaps not for ever."""

    __slots__ = ("_number", "_step", "_task", "timer")

    def __init__(self, task: RunningTask[Any], number: int, step: Wait) -> None:
        self._task = task
        self._number = number
        self._step = step
        self.timer: Cancellable | None = None

    def woken(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self._task._done(self._number, True, None)

    def expired(self) -> None:
        self._step.signal.remove_waiter(self.woken)
        self._task._done(self._number, False, None)

    def cancel(self) -> None:
        self._step.signal.remove_waiter(self.woken)
        if self.timer is not None:
            self.timer.cancel()


class Tasks:
    """The running tasks of one client, which end with it."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier
        self._running: dict[RunningTask[Any], None] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(
        self,
        task: Task[T],
        name: str = "",
        done: Callable[[T | None, BaseException | None], None] | None = None,
    ) -> RunningTask[T]:
        """Run a task, at once up to its first wait; return it.

        ``done`` is called with its result or error. Without ``done`` an error is logged: other
        tasks continue.
        """
        running = RunningTask(self.carrier, task, self._ended, name)
        running.done = done
        self._running[running] = None
        running.begin()
        return running

    def _ended(self, running: RunningTask[T], value: T | None, error: BaseException | None) -> None:
        self._running.pop(running, None)
        done, running.done = running.done, None
        if done is not None:
            done(value, error)
        elif error is not None:
            _log.error("the task %s failed", running.name, exc_info=error)

    def cancel(self, running: RunningTask[Any]) -> None:
        """Cancel one task."""
        self._running.pop(running, None)
        running.cancel()

    def cancel_all(self) -> None:
        """Cancel every task, the oldest first."""
        while self._running:
            self.cancel(next(iter(self._running)))
