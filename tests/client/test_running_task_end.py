"""How a task is cancelled, and what it does while others call it."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.client.carrier import Reply
from fakemq.client.operation import Call
from fakemq.client.running_task import TaskState
from fakemq.client.tasks import Perform, Signal, Sleep, Task, Wait
from tests.support.scripted_carrier import HELD, ScriptedCarrier
from tests.support.scripted_operation import answer
from tests.support.task_lab import CALL, TaskLab

# -- cancelling --------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [CALL, Sleep(10), Wait(Signal(), 10), Perform(lambda: 1)])
def test_cancelled_task_ends_where_it_waits(step: Any) -> None:
    lab = TaskLab()
    lab.carrier.performs_at_once = False

    def task() -> Task[None]:
        try:
            lab.seen.append((yield step))
        finally:
            lab.seen.append("ended")

    running = lab.start(task())
    lab.tasks.cancel(running)
    lab.tasks.cancel(running)
    for held in lab.carrier.held:
        held.answer(answer())
    lab.carrier.advance(5_000)
    assert (lab.seen, lab.ended) == (["ended"], [])
    assert (running.state, len(lab.tasks)) == (TaskState.OVER, 0)
    assert all(one.cancelled for one in lab.carrier.performing)


def test_cancelled_wait_is_not_woken() -> None:
    lab, signal = TaskLab(), Signal()

    def task() -> Task[None]:
        yield Wait(signal)
        lab.seen.append("woken")

    lab.tasks.cancel(lab.start(task()))
    signal.set()
    assert lab.seen == []


def test_task_that_cancels_itself_ends_at_its_next_step() -> None:
    lab = TaskLab()

    def task() -> Task[None]:
        yield Sleep(1)
        lab.tasks.cancel(running)
        lab.seen.append("still here")
        try:
            yield CALL
        finally:
            lab.seen.append("ended")

    running = lab.start(task())
    lab.carrier.advance(1)
    assert (lab.seen, lab.ended) == (["still here", "ended"], [])
    assert lab.carrier.calls == []


def test_start_of_a_step_may_cancel_the_task() -> None:
    signal, carrier = Signal(), ScriptedCarrier(lambda call: HELD)
    lab = TaskLab(carrier)

    def task() -> Task[None]:
        yield Wait(signal)
        try:
            yield CALL
        finally:
            lab.seen.append("ended")

    running = lab.start(task())

    def cancel(call: Call) -> str:
        lab.tasks.cancel(running)
        return HELD

    carrier.answers = cancel
    signal.set()
    lab.held().answer(answer())
    carrier.settle()
    assert (lab.seen, lab.ended, running.state) == (["ended"], [], TaskState.OVER)


def test_tasks_that_wake_and_cancel_each_other_end_once() -> None:
    lab, signal = TaskLab(), Signal()

    def waits() -> Task[None]:
        yield Wait(signal)
        lab.seen.append("woken")

    def ends_it() -> Task[None]:
        yield Sleep(1)
        signal.set()
        lab.tasks.cancel(first)

    first = lab.start(waits())
    lab.start(ends_it())
    lab.carrier.advance(1)
    assert lab.seen == ["woken"]
    assert lab.ended == [(None, None), (None, None)]


def test_end_that_fails_is_logged_and_the_others_end(caplog: pytest.LogCaptureFixture) -> None:
    lab = TaskLab()

    def task(number: int) -> Task[None]:
        try:
            yield Sleep(1)
        finally:
            lab.seen.append(number)
            if number == 1:
                raise ValueError("in its end")

    for number in range(3):
        lab.start(task(number))
    lab.tasks.cancel_all()
    assert lab.seen == [0, 1, 2]
    assert "the end of the task one failed" in caplog.text
    assert len(lab.tasks) == lab.carrier.pending() == 0


def test_task_that_waits_in_its_end_is_closed_nevertheless(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = TaskLab()

    def task() -> Task[None]:
        try:
            yield Sleep(1)
        finally:
            yield Sleep(2)

    running = lab.start(task())
    lab.tasks.cancel(running)
    lab.carrier.advance(10)
    assert "the end of the task one failed" in caplog.text
    assert (running.state, lab.ended) == (TaskState.OVER, [])


# -- re-entrance -------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["at once", "later"])
def test_second_answer_to_a_request_has_no_effect(first: str) -> None:
    replies: list[Reply] = []

    class Twice(ScriptedCarrier):
        def request(self, call: Call, reply: Reply) -> None:
            replies.append(reply)
            if first == "at once":
                reply(answer(1))
                reply(answer(2))

    lab = TaskLab(Twice(lambda call: HELD))

    def task() -> Task[None]:
        for _ in range(2):
            response = yield CALL
            lab.seen.append(response.code)

    lab.start(task())
    for code, reply in enumerate(list(replies)):
        reply(answer(10 + code))
        reply(answer(20 + code))
    if first == "at once":
        assert lab.seen == [1, 1]
    else:
        assert lab.seen == [10]
        replies[1](answer(30))
        assert lab.seen == [10, 30]


def test_task_may_start_and_wait_for_another() -> None:
    lab = TaskLab()

    def inner(done: Signal) -> Task[None]:
        lab.seen.append("inner")
        yield Sleep(5)
        done.set()

    def outer() -> Task[None]:
        done = Signal()
        lab.tasks.start(inner(done))
        lab.seen.append("outer")
        yield Wait(done)
        lab.seen.append("both")

    lab.start(outer())
    lab.carrier.advance(5)
    assert lab.seen == ["inner", "outer", "both"]


def test_task_reads_its_state_in_its_name() -> None:
    lab = TaskLab()

    def task() -> Task[None]:
        yield Sleep(1)

    running = lab.start(task())
    assert repr(running) == "<task one, WAITING>"
