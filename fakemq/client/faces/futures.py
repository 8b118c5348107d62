"""Futures of sends: their callbacks may wait, and a shutdown waits for both."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from fakemq.client.carriers.blocking import TaskFuture, ThreadCarrier
from fakemq.client.carriers.io_thread import IoThread
from fakemq.client.faces.user_threads import UserThreads
from fakemq.client.tasks import Signal, Task, Wait

T = TypeVar("T")
_log = logging.getLogger("fakemq.client")


class Underway:
    """Counts the tasks and callbacks under way. Used on the carrier's thread alone."""

    def __init__(self, carrier: ThreadCarrier, user_threads: UserThreads) -> None:
        self.carrier = carrier
        self.user_threads = user_threads
        self._count = 0
        self._none = Signal()
        self._none.set()

    def begin(self) -> None:
        """Count one more."""
        self._count += 1
        self._none.clear()

    def end(self) -> None:
        """Count one less."""
        self._count -= 1
        if not self._count:
            self._none.set()

    def counted(self, task: Task[T]) -> Task[T]:
        """Run a task that counts, until the callbacks of its future have begun."""
        self.begin()
        try:
            return (yield from task)
        finally:
            self.carrier.soon(self.end)

    def wait(self, timeout_ms: int) -> Task[None]:
        """Wait until nothing is under way."""
        yield Wait(self._none, timeout_ms)


class PooledFuture(TaskFuture[T]):
    """A future that calls its callbacks in the pool of its carrier.

    There they may take their time, and use the client. On the carrier's own thread they would hold
    up all that it carries.
    """

    def __init__(self, underway: Underway, io: IoThread) -> None:
        super().__init__(io)
        self._underway = underway

    def add_done_callback(self, fn: Callable[[Future[T]], Any]) -> None:
        """Call ``fn`` with this future when it is done; at once, in this thread, if it is."""
        underway = self._underway

        def call(_: Future[T]) -> None:
            if not underway.carrier.is_own_thread:
                fn(self)
                return
            underway.begin()
            underway.carrier.perform(perform, (), called)

        def perform() -> None:
            with underway.user_threads.calling():
                fn(self)

        def called(_: object, error: BaseException | None) -> None:
            underway.end()
            if error is not None:
                _log.error("a callback of %s failed", self, exc_info=error)

        super().add_done_callback(call)
