"""What a producer of programs with threads does without waiting: sends and requests with futures.

Their callbacks may wait, and a shutdown waits for both.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from fakemq.client.carriers.blocking import TaskFuture, ThreadCarrier
from fakemq.client.carriers.io_thread import IoThread
from fakemq.client.faces.blocking_base import BlockingFace
from fakemq.client.faces.messages import SendOptions, as_message, where_of
from fakemq.client.faces.producer_base import requesting
from fakemq.client.faces.user_threads import UserThreads
from fakemq.client.messages import Message, SendResult
from fakemq.client.producing.producer import ProducerCore
from fakemq.client.tasks import Signal, Task, Wait
from fakemq.protocol.message import MessageExt

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled

T = TypeVar("T")
_log = logging.getLogger("fakemq.client")


class Underway:
    """Counts the tasks and callbacks under way. Used on the carrier's thread alone."""

    def __init__(self, user_threads: UserThreads) -> None:
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

    def counted(self, task: Task[T], carrier: ThreadCarrier) -> Task[T]:
        """Run a task that counts, until the callbacks of its future have begun."""
        self.begin()
        try:
            return (yield from task)
        finally:
            carrier.soon(self.end)

    def wait(self, timeout_ms: int) -> Task[None]:
        """Wait until nothing is under way."""
        yield Wait(self._none, timeout_ms)


class PooledFuture(TaskFuture[T]):
    """A future that calls its callbacks in the pool of its carrier.

    There they may take their time, and use the client. On the carrier's own thread they would hold
    up all that it carries.
    """

    def __init__(self, underway: Underway, carrier: ThreadCarrier, io: IoThread) -> None:
        super().__init__(io)
        self._underway = underway
        self._carrier = carrier

    def add_done_callback(self, fn: Callable[[Future[T]], Any]) -> None:
        """Call ``fn`` with this future when it is done; at once, in this thread, if it is."""
        underway, carrier = self._underway, self._carrier

        def call(_: Future[T]) -> None:
            if not carrier.is_own_thread:
                fn(self)
                return
            underway.begin()
            carrier.perform(perform, (), called)

        def perform() -> None:
            with underway.user_threads.calling():
                fn(self)

        def called(_: object, error: BaseException | None) -> None:
            underway.end()
            if error is not None:
                _log.error("a callback of %s failed", self, exc_info=error)

        super().add_done_callback(call)


class FuturesFace(BlockingFace[ProducerCore]):
    """What a blocking producer does beside an asynchronous one, whose program has tasks for it."""

    def __init__(self, settled: Settled, group: str) -> None:
        super().__init__(settled, group)
        self._underway = Underway(self._user_threads)

    def _end_of(self, core: ProducerCore) -> Callable[[], Task[None]]:
        return partial(_end, core, self._underway)

    def send_async(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> Future[SendResult]:
        """Send without waiting; return the future of the result. The options are those of `send`.

            futures = [producer.send_async("orders", body) for body in bodies]
            results = [future.result() for future in futures]

        Its callbacks are called in other threads, where they may wait. A shutdown waits for both,
        as long as a send may take.
        """
        core = self._running_core()
        message = as_message(message, body, options, "send_async")
        return self._begun(core.send(message, **where_of(options)))

    def request_async(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> Future[MessageExt]:
        """Send a request without waiting; return the future of its reply, as `send_async`."""
        return self._begun(requesting(self._running_core(), message, body, options))

    def _begun(self, task: Task[T]) -> Future[T]:
        life, underway = self._life, self._underway
        assert life is not None, "only a running core makes tasks"
        carrier = life.carrier
        make_future = partial(PooledFuture[T], underway, carrier)
        return carrier.submit(underway.counted(task, carrier), make_future)


def _end(core: ProducerCore, underway: Underway) -> Task[None]:
    yield from underway.wait(core.settings.send_timeout_ms)
    yield from core.shutdown()
