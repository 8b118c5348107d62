"""The thread that carries a client's tasks and sockets, and the threads of functions of users."""

from __future__ import annotations

import logging
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fakemq.client.carrier import Cancellable, Performed
from fakemq.client.carriers.connections import Channel
from fakemq.client.carriers.ownership import closed_error
from fakemq.client.carriers.pool import Job, Pool
from fakemq.client.carriers.selecting import READ, Selecting
from fakemq.client.carriers.sockets import Wire, resolve
from fakemq.client.carriers.turns import carefully
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Task
from fakemq.forked_sockets import close_in_children

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

T = TypeVar("T")
_log = logging.getLogger("fakemq.client")

RESOLVERS = 4
"""How many names are resolved at the same time."""


class Caller(Protocol):
    """A caller in another thread that waits for a task."""

    task: RunningTask[Any] | None

    def finish(self, value: Any, error: BaseException | None) -> None:
        """Take the result or the error; called once."""


class IoThread(Selecting):
    """A `Carrier` on one daemon thread. `start`, `give_up`, `post` and `stop` suit any thread.

    It does not refer to the `ThreadCarrier` around it, so that one that is not used any more can be
    collected, which stops the thread.
    """

    def __init__(
        self,
        name: str,
        *,
        pool_size: int,
        credentials: Credentials | None,
        tls: ClientTls | None,
    ) -> None:
        super().__init__(credentials, tls)
        self.pool = Pool(f"{name}-call", self.post, size=pool_size)
        # Of its own, so that a resolver that hangs does not keep threads from functions of users.
        self._resolvers = Pool(f"{name}-resolve", self.post, size=RESOLVERS)
        self._resolving: dict[Channel, Job] = {}
        self._callers: dict[RunningTask[Any], Caller] = {}
        # Functions for this thread. A function is appended before `_asleep` is read, and `_asleep`
        # is set before the functions are looked at, so none is missed.
        self._inbox: deque[tuple[Callable[..., object], tuple[Any, ...], Caller | None]] = deque()
        self._asleep = False
        self._stopping = False
        self._over = False
        self._wake_end, self._waking_end = socket.socketpair()
        for end in (self._wake_end, self._waking_end):
            end.setblocking(False)
            close_in_children(end)
        self._selector.register(self._wake_end, READ, None)
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    # -- for any thread ---------------------------------------------------------

    def post(
        self, function: Callable[..., object], args: tuple[Any, ...], caller: Caller | None = None
    ) -> None:
        """Call a function on this thread. Once it is over, ``caller`` gets an error instead."""
        self._inbox.append((function, args, caller))
        if self._asleep:
            self._wake()
        if self._over:
            self._refuse()

    def start(self, task: Task[T], caller: Caller) -> None:
        """Run a task for a caller."""
        self.post(self._start, (task, caller), caller)

    def give_up(self, caller: Caller) -> None:
        """Cancel the task of a caller, whose thread may have been interrupted within `start`."""
        self._inbox.append((self._give_up, (caller,), None))
        self._wake()
        if self._over:
            self._refuse()

    def stop(self) -> None:
        """Let the thread end soon. Takes no lock, so that a finalizer may call it."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        self._asleep = False
        with suppress(OSError):  # full: it wakes up; closed: it is over
            self._waking_end.send(b"\0")

    def _refuse(self) -> None:
        while self._inbox:
            try:
                _, _, caller = self._inbox.popleft()
            except IndexError:  # another thread was faster
                return
            if caller is not None:
                caller.finish(None, closed_error())

    def join(self, timeout_s: float) -> None:
        """Wait for the end of this thread and of those of the pools that are within no function."""
        this = threading.current_thread()
        if self.thread is not this:
            self.thread.join(timeout_s)
        for thread in (*self.pool.ends_at_close, *self._resolvers.ends_at_close):
            if thread is not this:
                thread.join(timeout_s)

    # -- the carrier of its tasks -------------------------------------------------

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable:
        """Call a function in a thread of the pool; pass its result or error to ``done``."""
        job = Job(function, args, done)
        self.pool.start(job)
        return job

    # -- the thread ---------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        except BaseException:
            _log.exception("the thread %s failed", self.thread.name)
        finally:
            self._end()

    def _turn(self) -> None:
        wait_ms = self._turns.wait_ms()
        self._asleep = True
        if self._inbox or self._stopping:
            wait_ms = 0
        ready = self._selector.select(None if wait_ms is None else wait_ms / 1000)
        self._asleep = False
        for key, events in ready:
            if key.data is None:
                with suppress(OSError):
                    self._wake_end.recv(4096)
            else:
                self._ready(key.data, events)
        inbox = self._inbox
        for _ in range(len(inbox)):
            function, args, _ = inbox.popleft()
            try:
                function(*args)
            except Exception:
                _log.exception("%r failed", function)
        self._turns.run()

    def _start(self, task: Task[T], caller: Caller) -> None:
        running = caller.task = RunningTask(self, task, self._task_ended)
        self._callers[running] = caller
        running.begin()

    def _task_ended(
        self, running: RunningTask[T], value: T | None, error: BaseException | None
    ) -> None:
        caller = self._callers.pop(running, None)
        if caller is not None:
            caller.task = None
            caller.finish(value, error)

    def _give_up(self, caller: Caller) -> None:
        running, caller.task = caller.task, None
        if running is not None:
            del self._callers[running]
            running.cancel()
            caller.finish(None, CancelledError())

    def _end(self) -> None:
        callers, self._callers = self._callers, {}
        for part in (
            *(running.cancel for running in callers),
            self._turns.close,
            self.pool.close,
            self._resolvers.close,
        ):
            carefully(part)
        for caller in callers.values():
            caller.finish(None, closed_error())
        self._over = True
        self._refuse()
        self._selector.close()
        self._wake_end.close()
        self._waking_end.close()

    # -- the host of its connections ------------------------------------------------

    def _connect_by_name(self, channel: Channel, wire: Wire) -> None:
        def resolved(addresses: object, error: BaseException | None) -> None:
            self._resolving.pop(channel, None)
            wire.connect(addresses if isinstance(addresses, list) else [])

        job = self._resolving[channel] = Job(resolve, (channel.addr,), resolved)
        self._resolvers.start(job)

    def disconnect(self, channel: Channel) -> None:
        """Close the socket of a channel."""
        job = self._resolving.pop(channel, None)
        if job is not None:
            job.cancel()
        super().disconnect(channel)
