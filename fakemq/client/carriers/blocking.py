"""The carrier of blocking programs: a thread for tasks and sockets, others for functions."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar

from fakemq.client.arguments import require_wait
from fakemq.client.carrier import Cancellable, OnRequest, Performed, Reply
from fakemq.client.carriers.ending import TaskEnd
from fakemq.client.carriers.io_thread import IoThread
from fakemq.client.carriers.ownership import OwnProcess, closed_error
from fakemq.client.carriers.pool import DEFAULT_SIZE
from fakemq.client.errors import MQClientError, RemotingTooMuchRequestError
from fakemq.client.operation import Call
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Task
from fakemq.clock.machine_time import MachineTime

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

T = TypeVar("T")

JOIN_S = 5.0
"""How long a close waits for threads that have nothing to do any more."""

_numbers = count(1)


class _Waiter(TaskEnd[T]):
    """A thread that waits for its task, by the cheapest lock there is."""

    __slots__ = ("_lock", "task")

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._lock.acquire()
        self.task: RunningTask[Any] | None = None

    def finish(self, value: T | None, error: BaseException | None) -> None:
        super().finish(value, error)
        self._lock.release()

    def wait(self, timeout_s: float) -> bool:
        return self._lock.acquire(timeout=timeout_s)


class TaskFuture(Future[T]):
    """The future of a task; cancelling one cancels the other."""

    def __init__(self, io: IoThread) -> None:
        super().__init__()
        self.task: RunningTask[Any] | None = None
        self._io = io

    def cancel(self) -> bool:
        """Cancel the task; return False if it is over."""
        if not super().cancel():
            return False
        self._io.give_up(self)
        return True

    def finish(self, value: Any, error: BaseException | None) -> None:
        """Take the result or the error of the task."""
        if not self.set_running_or_notify_cancel():
            return
        if error is None:
            self.set_result(value)
        else:
            self.set_exception(error)


class ThreadCarrier(MachineTime):
    """A `Carrier` for programs with threads: `run` and `submit` suit any of them.

    The tasks, the sockets and everything that a client calls are on one daemon thread; functions
    of users are called in up to ``pool_size`` others. `close` ends all threads, and so does the
    end of the last reference to an object given to `close_with`. A carrier serves the process that
    created it: in a forked child every call raises MQClientError.
    """

    def __init__(
        self,
        *,
        name: str = "fakemq-client",
        pool_size: int = DEFAULT_SIZE,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
    ) -> None:
        self._process = OwnProcess()
        self._io = io = IoThread(
            f"{name}-{next(_numbers)}", pool_size=pool_size, credentials=credentials, tls=tls
        )
        # At the exit of the interpreter, too.
        self._finalizer = weakref.finalize(self, io.stop)

    # -- for any thread ---------------------------------------------------------

    def run(self, task: Task[T], timeout_ms: int | None = None) -> T:
        """Run a task and return its result, or raise its error.

        Raise RemotingTooMuchRequestError after ``timeout_ms``, and MQClientError if the carrier is
        closed. Then, and if Ctrl-C ends the wait, the task is cancelled.
        """
        self._require_usable()
        if timeout_ms is not None:
            require_wait(timeout_ms)
        if self.is_own_thread:
            task.close()
            raise MQClientError(
                "this would wait for the thread that calls it: yield from the task instead"
            )
        waiter: _Waiter[T] = _Waiter()
        try:
            self._io.start(task, waiter)
            in_time = waiter.wait(-1 if timeout_ms is None else timeout_ms / 1000)
        except BaseException:
            self._io.give_up(waiter)
            raise
        if not in_time:
            self._io.give_up(waiter)
            raise RemotingTooMuchRequestError(f"not done within {timeout_ms} ms")
        return waiter.result()

    def submit(
        self, task: Task[T], make_future: Callable[[IoThread], TaskFuture[T]] | None = None
    ) -> Future[T]:
        """Run a task; return the future of its result, or what ``make_future`` makes.

        Cancelling the future cancels the task. Its callbacks are called on the carrier's thread.
        """
        self._require_usable()
        future = TaskFuture[T](self._io) if make_future is None else make_future(self._io)
        try:
            self._io.start(task, future)
        except BaseException:
            self._io.give_up(future)
            raise
        return future

    @property
    def is_own_thread(self) -> bool:
        """Whether the calling thread is the one that carries tasks, which must not wait."""
        return threading.current_thread() is self._io.thread

    def call(self, function: Callable[[], T]) -> T:
        """Call a function on the carrier's thread, where the client may be read and changed."""
        return self.run(_calling(function))

    def close(self) -> None:
        """Cancel all tasks, close all connections, end all threads; do nothing if it is closed.

        A function of the user that still runs is not waited for: its thread ends behind it. In a
        forked child this does nothing.
        """
        if not self._process.is_this:
            self._finalizer.detach()
            return
        self.close_soon()
        self._io.join(JOIN_S)

    def close_soon(self) -> None:
        """Close without waiting for the end of the threads. A finalizer may call it."""
        self._finalizer()

    def close_with(self, owner: object) -> None:
        """Close when ``owner`` is collected. The client itself must not refer to it."""
        weakref.finalize(owner, self._finalizer)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called, by a finalizer perhaps."""
        return not self._finalizer.alive

    def _require_usable(self) -> None:
        self._process.require()
        if not self._finalizer.alive:
            raise closed_error()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<carrier {self._io.thread.name}, {'closed' if self.is_closed else 'open'}>"

    # -- the carrier of a client, on its thread -----------------------------------

    @property
    def on_request(self) -> OnRequest:
        """Takes the requests of brokers."""
        return self._io.on_request

    @on_request.setter
    def on_request(self, on_request: OnRequest) -> None:
        self._io.on_request = on_request

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Cancellable:
        """Call ``callback`` after ``delay_ms``."""
        return self._io.call_later(delay_ms, callback, kind=kind)

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the present call has returned."""
        self._io.soon(callback)

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request; pass its response or error to ``reply``."""
        self._io.request(call, reply)

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable:
        """Call a function in a thread of the pool; pass its result or error to ``done``."""
        return self._io.perform(function, args, done)


def _calling(function: Callable[[], T]) -> Task[T]:
    yield from ()
    return function()
