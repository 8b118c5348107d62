"""Tasks on a carrier whose brokers answer nothing by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakemq.client.carrier import Cancellable, Performed, Reply
from fakemq.client.operation import Call
from fakemq.client.running_task import RunningTask, Tasks
from fakemq.client.tasks import Task
from fakemq.protocol.command import RemotingCommand
from tests.support.scripted_carrier import HELD, HeldCall, ScriptedCarrier
from tests.support.scripted_operation import A, answer

CALL = Call(A, RemotingCommand(1), 3_000)


class TaskLab:
    """``seen`` is for the tasks of a test; ``ended`` are their results and errors."""

    def __init__(self, carrier: ScriptedCarrier | None = None) -> None:
        self.carrier = carrier or ScriptedCarrier(lambda call: HELD)
        self.tasks = Tasks(self.carrier)
        self.seen: list[object] = []
        self.ended: list[tuple[object, BaseException | None]] = []

    def start(self, task: Task[Any]) -> RunningTask[Any]:
        running = self.tasks.start(task, "one", lambda *end: self.ended.append(end))
        self.carrier.settle()
        return running

    def held(self) -> HeldCall:
        """Return the request that the task sent last."""
        return self.carrier.held[-1]


class Broken(ScriptedCarrier):
    """A carrier that begins no step, although it answers some before."""

    def __init__(self, *, answers: bool = False) -> None:
        super().__init__(lambda call: HELD)
        self.error: BaseException = OSError("no thread is left")
        self.answers_before = answers

    def request(self, call: Call, reply: Reply) -> None:
        if self.answers_before:
            reply(answer())
        raise self.error

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Cancellable:
        raise self.error

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable | None:
        if self.answers_before:
            done(1, None)
        raise self.error
