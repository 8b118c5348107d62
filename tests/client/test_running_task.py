"""How a task is run: its steps, their errors, and its end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.errors import RemotingSendRequestError, RemotingTimeoutError
from fakemq.client.running_task import TaskState
from fakemq.client.tasks import Perform, Signal, Sleep, Task, Wait
from tests.support.scripted_operation import A, answer
from tests.support.task_lab import CALL, Broken, TaskLab

# -- steps -------------------------------------------------------------------------------------


def test_each_step_resumes_with_its_result() -> None:
    lab, signal = TaskLab(), Signal()

    def task() -> Task[str]:
        lab.seen.append((yield CALL))
        lab.seen.append((yield Sleep(100)))
        lab.seen.append((yield Wait(signal)))
        lab.seen.append((yield Wait(Signal(), 50)))
        lab.seen.append((yield Perform(lambda one: one + 1, (1,))))
        return "done"

    running = lab.start(task())
    response = answer()
    lab.held().answer(response)
    lab.carrier.advance(100)
    signal.set()
    lab.carrier.advance(49)
    assert (lab.seen, running.state) == ([response, None, True], TaskState.WAITING)
    lab.carrier.advance(1)
    assert lab.seen == [response, None, True, False, 2]
    assert lab.ended == [("done", None)]
    assert (running.state, len(lab.tasks)) == (TaskState.OVER, 0)


def test_task_that_waits_for_nothing_ends_at_once() -> None:
    lab = TaskLab()

    def task() -> Task[int]:
        yield from ()
        return 1

    lab.start(task())
    assert lab.ended == [(1, None)]


def test_thousands_of_steps_that_end_at_once_need_no_stack() -> None:
    lab, signal = TaskLab(), Signal()
    signal.set()

    def task() -> Task[None]:
        for _ in range(5_000):
            lab.seen.append((yield Wait(signal)))

    lab.start(task())
    assert lab.seen == [True] * 5_000


def test_error_of_a_request_is_thrown_into_the_task() -> None:
    lab = TaskLab()

    def task() -> Task[str]:
        try:
            yield CALL
        except RemotingTimeoutError as error:
            return error.addr
        return "no error"

    lab.start(task())
    lab.carrier.advance(CALL.timeout_ms)
    assert lab.ended == [(A, None)]


def test_error_of_a_function_is_thrown_into_the_task() -> None:
    lab = TaskLab()

    def fail() -> None:
        raise ValueError("of the user")

    def task() -> Task[None]:
        yield Perform(fail)

    lab.start(task())
    ((value, error),) = lab.ended
    assert (value, str(error)) == (None, "of the user")


def test_signal_that_is_set_before_is_not_waited_for() -> None:
    lab, signal = TaskLab(), Signal()
    signal.set()

    def task() -> Task[bool]:
        return bool((yield Wait(signal, 1_000)))

    lab.start(task())
    assert lab.ended == [(True, None)]
    assert lab.carrier.pending() == 0


def test_signal_that_is_set_in_time_leaves_no_timer() -> None:
    lab, signal = TaskLab(), Signal()

    def task() -> Task[bool]:
        return bool((yield Wait(signal, 1_000)))

    lab.start(task())
    signal.set()
    assert lab.ended == [(True, None)]
    assert lab.carrier.pending() == 0


def test_signal_that_is_set_too_late_has_no_effect() -> None:
    lab, signal = TaskLab(), Signal()

    def task() -> Task[bool]:
        in_time = yield Wait(signal, 1_000)
        yield Sleep(1_000)
        return bool(in_time)

    lab.start(task())
    lab.carrier.advance(1_000)
    signal.set()
    assert lab.ended == []
    lab.carrier.advance(1_000)
    assert lab.ended == [(False, None)]


@given(st.lists(st.integers(0, 20), max_size=8))
def test_sleeping_tasks_continue_in_the_order_of_their_times(delays: list[int]) -> None:
    lab = TaskLab()

    def task(number: int, delay_ms: int) -> Task[None]:
        yield Sleep(delay_ms)
        lab.seen.append((lab.carrier.elapsed_ms(), number))

    for number, delay_ms in enumerate(delays):
        lab.start(task(number, delay_ms))
    lab.carrier.advance(20)
    assert lab.seen == sorted((delay_ms, number) for number, delay_ms in enumerate(delays))


# -- errors of the carrier, and of the task ----------------------------------------------------


STEPS = [Sleep(1), Wait(Signal(), 1), Perform(print)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("answers", [False, True])
def test_carrier_that_cannot_begin_a_step_fails_the_task(step: Any, answers: bool) -> None:
    lab = TaskLab(Broken(answers=answers))

    def task() -> Task[None]:
        try:
            yield step
        finally:
            lab.seen.append("ended")

    running = lab.start(task())
    ((value, error),) = lab.ended
    assert (value, str(error)) == (None, "no thread is left")
    assert (lab.seen, running.state, len(lab.tasks)) == (["ended"], TaskState.OVER, 0)


@pytest.mark.parametrize("answers", [False, True])
def test_carrier_that_cannot_begin_a_request_fails_it_as_one_that_was_not_sent(
    answers: bool, caplog: pytest.LogCaptureFixture
) -> None:
    carrier = Broken(answers=answers)
    lab, signal = TaskLab(carrier), Signal()

    def task() -> Task[None]:
        yield Wait(signal)
        yield CALL

    lab.start(task())
    signal.set()
    ((_, error),) = lab.ended
    assert isinstance(error, RemotingSendRequestError)
    assert error.__cause__ is carrier.error
    assert "could not be begun" in caplog.text


def test_interrupt_while_a_request_begins_ends_the_task_with_it() -> None:
    carrier = Broken()
    carrier.error = KeyboardInterrupt()
    lab = TaskLab(carrier)

    def task() -> Task[None]:
        yield CALL

    lab.start(task())
    assert lab.ended == [(None, carrier.error)]


def test_task_may_continue_after_a_step_that_did_not_begin() -> None:
    lab, signal = TaskLab(Broken()), Signal()

    def task() -> Task[str]:
        try:
            yield Wait(signal, 1_000)
        except OSError:
            lab.seen.append((yield Wait(signal)))
        return "done"

    lab.start(task())
    signal.set()
    assert (lab.seen, lab.ended) == ([True], [("done", None)])


def test_unknown_step_fails_the_task() -> None:
    lab = TaskLab()

    def task() -> Task[None]:
        yield "2h"  # type: ignore[misc]

    lab.start(task())
    ((_, error),) = lab.ended
    assert isinstance(error, TypeError)
    assert "yielded '2h'" in str(error)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_error_of_a_task_is_its_result(error: BaseException) -> None:
    lab = TaskLab()

    def task() -> Task[None]:
        yield Sleep(1)
        raise error

    lab.start(task())
    lab.carrier.advance(1)
    assert lab.ended == [(None, error)]


def test_error_without_a_taker_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    lab = TaskLab()

    def task() -> Task[None]:
        yield Sleep(1)
        raise ValueError("no")

    lab.tasks.start(task(), "heartbeats")
    lab.carrier.advance(1)
    assert "the task heartbeats failed" in caplog.text
    assert len(lab.tasks) == 0
