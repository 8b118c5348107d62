"""The carrier that works in the thread of its caller, and only while a call waits."""

from __future__ import annotations

import selectors
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from fakemq.client.carrier import Cancellable, Performed
from fakemq.client.carriers.connections import CONNECT_TIMEOUT_MS, Channel
from fakemq.client.carriers.ending import TaskEnd
from fakemq.client.carriers.ownership import OwnProcess, closed_error
from fakemq.client.carriers.pool import Job
from fakemq.client.carriers.selecting import Selecting
from fakemq.client.carriers.sockets import Wants, Wire, resolve
from fakemq.client.errors import MQClientError
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Task
from fakemq.clock.machine_time import real_wait_ms

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

T = TypeVar("T")

_READS_BETWEEN_TASKS = 1024
"""How many reads take what arrived between two calls, at most: a peer may never stop sending."""


_READ = Wants.READ  # each look at a member of an Enum takes as long as a short call


class CallerCarrier(Selecting):
    """A `Carrier` without a thread: its tasks, sockets and timers move on while its caller waits.

    Functions of users are called between two turns, so they may use the client, too. Ctrl-C while
    it waits ends the call alone; at any other moment it also closes all connections, whose bytes
    may be half written.
    """

    def __init__(
        self, *, credentials: Credentials | None = None, tls: ClientTls | None = None
    ) -> None:
        super().__init__(credentials, tls)
        self._process = OwnProcess()
        self._running: dict[RunningTask[Any], Callable[[Any, BaseException | None], None]] = {}
        self._jobs: deque[Job] = deque()
        self._closed = False

    # -- for its caller -----------------------------------------------------------

    def run(self, task: Task[T]) -> T:
        """Run a task and return its result, or raise its error.

        Raise MQClientError if the carrier is closed, and in a forked child.
        """
        end: TaskEnd[T] = TaskEnd()
        running = self._taken(task, end.finish)
        try:
            running.begin()
            self._do_due()  # writes its request
            while not end.is_over:
                self.turn()
            self.flush()
        except BaseException:
            self._running.pop(running, None)
            running.cancel()
            raise
        return end.result()

    def begin(self, task: Task[T], done: Callable[[T | None, BaseException | None], None]) -> None:
        """Run a task up to its first wait, and on in later turns; pass its end to ``done``.

        Raise MQClientError if the carrier is closed, and in a forked child.
        """
        self._taken(task, done).begin()
        self._do_due()
        self.flush()

    def _taken(
        self, task: Task[T], done: Callable[[T | None, BaseException | None], None]
    ) -> RunningTask[T]:
        try:
            self._process.require()
            if self._closed:
                raise closed_error()
        except MQClientError:
            task.close()
            raise
        if self._wires:
            self._take_arrived()
        running = RunningTask(self, task, self._task_ended)
        self._running[running] = done
        return running

    def _take_arrived(self) -> None:
        """Take what arrived since the last call: the end of a connection, perhaps."""
        for _ in range(_READS_BETWEEN_TASKS):
            ready = self._selector.select(0)
            if not ready and self._turns.wait_ms() != 0:
                return
            self._do_due(ready, timers=True)

    def _task_ended(
        self, running: RunningTask[T], value: T | None, error: BaseException | None
    ) -> None:
        done = self._running.pop(running, None)
        if done is not None:
            done(value, error)

    def turn(self, timeout_ms: int | None = None) -> bool:
        """Wait up to a time for a socket or a timer, and do what is due; return if bytes moved."""
        wait_ms = 0 if self._jobs else self._turns.wait_ms()
        if timeout_ms is not None and (wait_ms is None or timeout_ms < wait_ms):
            wait_ms = timeout_ms
        if wait_ms and not self._wires:  # not every system can select among no sockets
            real_wait_ms(wait_ms)
            wait_ms = 0
        ready = self._selector.select(None if wait_ms is None else wait_ms / 1000)
        # Bytes that came before a timer was due need no look at the timers.
        self._do_due(ready, timers=not ready or wait_ms == 0)
        while self._jobs:
            self._perform_next()
        return bool(ready)

    def _do_due(
        self, ready: Iterable[tuple[selectors.SelectorKey, int]] = (), *, timers: bool = False
    ) -> None:
        try:
            for key, events in ready:
                self._ready(key.data, events)
            if timers:
                self._turns.run()
            else:
                self._turns.run_callbacks()
        except BaseException:  # Ctrl-C: see the class
            for channel in list(self._wires):
                channel.lost()
            raise

    def _perform_next(self) -> None:
        ended = self._jobs.popleft().call()
        if ended is None:
            return
        done, (value, error) = ended
        done(value, error)
        if error is not None and not isinstance(error, Exception):
            raise error  # Ctrl-C in a function of the user ends the call that waits, too

    def flush(self, timeout_ms: int = CONNECT_TIMEOUT_MS) -> None:
        """Write all that is to be sent, for which a connection may have to open first.

        A peer that does not read for ``timeout_ms`` loses its connection.
        """
        unsent = self._unsent()
        if not unsent:
            return
        until_ms = self.elapsed_ms() + timeout_ms
        while unsent:
            left_ms = until_ms - self.elapsed_ms()
            if left_ms <= 0:
                for channel in unsent:
                    channel.lost()
                return
            self.turn(left_ms)
            unsent = self._unsent()

    def _unsent(self) -> list[Channel]:
        return [
            channel
            for channel, wire in self._wires.items()
            if channel.unsent_bytes or wire.wants is not _READ
        ]

    def poll(self, timeout_ms: int) -> None:
        """Wait up to ``timeout_ms`` for bytes on any connection; answer brokers' requests.

        Return at once if there is no connection. Raise MQClientError in a forked child.
        """
        self._process.require()
        until_ms = self.elapsed_ms() + timeout_ms
        while self._wires and not self.turn(max(0, until_ms - self.elapsed_ms())):
            if self.elapsed_ms() >= until_ms:
                break
        self.flush()

    def leave(self, addr: str) -> None:
        """Close the connection to an address, if there is one, which fails its requests."""
        for channel in list(self._wires):
            if channel.addr == addr:
                channel.lost()

    @property
    def is_usable(self) -> bool:
        """Whether it is open, and no copy by a fork: that has the connections of its parent."""
        return self._process.is_this and not self._closed

    def close(self) -> None:
        """Cancel all tasks and close all connections; do nothing if it is closed.

        In a forked child, whose copies of the connections are closed, this does nothing.
        """
        if not self.is_usable:
            return
        self._closed = True
        while self._running:
            running, _ = self._running.popitem()
            running.cancel()
        self._turns.close()
        self._selector.close()

    def __repr__(self) -> str:
        return f"<carrier in its caller's thread, {'closed' if self._closed else 'open'}>"

    # -- the carrier of its tasks -------------------------------------------------

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable:
        """Call a function after this turn; pass its result or error to ``done``."""
        job = Job(function, args, done)
        self._jobs.append(job)
        return job

    def _connect_by_name(self, channel: Channel, wire: Wire) -> None:
        addresses = []
        with suppress(OSError):
            addresses = resolve(channel.addr)
        wire.connect(addresses)
