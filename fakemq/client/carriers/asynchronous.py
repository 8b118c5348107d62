"""The carrier of asynchronous programs: anyio, on asyncio and trio."""

from __future__ import annotations

import inspect
import math
import socket
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from fakemq.client.carrier import Cancellable, OnRequest, Performed, Reply
from fakemq.client.carriers.connections import Channel
from fakemq.client.carriers.ending import TaskEnd
from fakemq.client.carriers.loops import TaskGroup, Wake, current_loop
from fakemq.client.carriers.ownership import OwnProcess, closed_error
from fakemq.client.carriers.pool import DEFAULT_SIZE
from fakemq.client.carriers.sockets import Wants, Wire, numeric_address, resolve
from fakemq.client.carriers.turns import Turns, carefully
from fakemq.client.operation import Call
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Task
from fakemq.clock.machine_time import MachineTime
from fakemq.clock.timers import Timer

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

T = TypeVar("T")

RESOLVERS = 4
"""How many names are resolved at the same time."""

_FAR_MS = 1 << 62


class _End(TaskEnd[T]):
    """The end of a task that an asynchronous task waits for."""

    __slots__ = ("wake",)

    def __init__(self) -> None:
        super().__init__()
        self.wake: Wake | None = None

    def finish(self, value: T | None, error: BaseException | None) -> None:
        super().finish(value, error)
        if self.wake is not None:
            self.wake.set()


class _Carried:
    """A wire, the tasks that wait for it, and its sockets that no task waits for any more."""

    __slots__ = ("group", "unused", "wire")

    def __init__(self, wire: Wire, group: TaskGroup) -> None:
        self.wire = wire
        self.group = group
        self.unused: list[socket.socket] = []

    def close_unused(self) -> None:
        while self.unused:
            self.unused.pop().close()


class _Performing:
    """A function of the user under way."""

    __slots__ = ("_args", "_done", "_function", "_limiter", "_scope")

    def __init__(
        self,
        function: Callable[..., object],
        args: tuple[Any, ...],
        done: Performed,
        limiter: anyio.CapacityLimiter,
    ) -> None:
        self._function = function
        self._args = args
        self._done = done
        self._limiter = limiter
        self._scope = anyio.CancelScope()

    def cancel(self) -> None:
        self._scope.cancel()

    async def run(self) -> None:
        with self._scope:
            try:
                value = await self._call()
            except Exception as error:
                self._done(None, error)
            except anyio.get_cancelled_exc_class() as error:
                if self._scope.cancel_called or anyio.current_effective_deadline() == -math.inf:
                    raise
                self._done(None, error)  # the user's function has raised it itself
            else:
                self._done(value, None)

    async def _call(self) -> object:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(*self._args)
        # In a list, because trio takes no coroutine for the result of a thread.
        (value,) = await anyio.to_thread.run_sync(
            lambda: [self._function(*self._args)], abandon_on_cancel=True, limiter=self._limiter
        )
        return await value if inspect.isawaitable(value) else value


class AsyncCarrier(MachineTime):
    """A `Carrier` in an event loop: ``async with AsyncCarrier() as c: await c.run(task)``.

    Everything that a client calls is in the loop. Coroutine functions of users are awaited there,
    other functions are called in up to ``pool_size`` threads. Leave the block in the task that
    entered it: this ends all tasks and closes all connections.
    """

    def __init__(
        self,
        *,
        pool_size: int = DEFAULT_SIZE,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
    ) -> None:
        self._process = OwnProcess()
        self._pool_size = pool_size
        self._turns = Turns(self, credentials, tls)
        self._connections = self._turns.connections
        self._ends: dict[RunningTask[Any], _End[Any]] = {}
        self._carried: dict[Channel, _Carried] = {}
        self._entered = False
        self._closed = False
        self._turning = False
        self._sleeps_until_ms = 0

    async def __aenter__(self) -> Self:
        self._loop = current_loop()
        self._group = self._loop.task_group()
        self._wake = self._loop.wake()
        self._limiter = anyio.CapacityLimiter(self._pool_size)
        # Of its own, so that a resolver that hangs does not keep threads from functions of users.
        self._resolvers = anyio.CapacityLimiter(RESOLVERS)
        # Of the block, so that functions of users do not see variables of one that sends.
        self._context = copy_context()
        await self._group.__aenter__()
        self._entered = True
        self._group.start_soon(self._turn_by_turn)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
        self._group.cancel_scope.cancel()
        # Without the error of the block: the group would raise it again as an ExceptionGroup.
        await self._group.__aexit__(None, None, None)

    def _close(self) -> None:
        self._closed = True
        ends, self._ends = self._ends, {}
        for part in (*(running.cancel for running in ends), self._turns.close):
            carefully(part)
        for end in ends.values():
            end.finish(None, closed_error())

    def call(self, function: Callable[[], T]) -> T:
        """Call a function; the caller is in the loop, where the client may be read and changed."""
        return function()

    async def run(self, task: Task[T]) -> T:
        """Run a task and return its result, or raise its error.

        If the call is cancelled, so is the task. Raise MQClientError outside of the block, and in a
        forked child.
        """
        self._process.require()
        if self._closed or not self._entered:
            task.close()
            raise closed_error()
        end: _End[T] = _End()
        running = self._start(task, end)
        if not end.is_over:
            end.wake = self._loop.wake()
            try:
                await end.wake
            except BaseException:
                self._ends.pop(running, None)
                running.cancel()
                raise
        else:
            # A loop of calls that wait for nothing, such as one-way sends, must not hold up others:
            # neither those of the program, nor the one that writes when the peer has read.
            await anyio.lowlevel.cancel_shielded_checkpoint()
        return end.result()

    def _start(self, task: Task[T], end: _End[T]) -> RunningTask[T]:
        running = RunningTask(self, task, self._task_ended)
        is_alone = not self._ends
        self._ends[running] = end
        if not is_alone:
            # Other calls may start in this turn of the loop, too: their requests share a write.
            running.begin()
            return running
        self._turning = True
        try:
            running.begin()
            self._turns.run()
        finally:
            self._turning = False
        wait_ms = self._turns.wait_ms()
        if wait_ms is not None:
            self.turn_needed(wait_ms)
        return running

    def _task_ended(
        self, running: RunningTask[T], value: T | None, error: BaseException | None
    ) -> None:
        end = self._ends.pop(running, None)
        if end is not None:
            end.finish(value, error)

    @property
    def is_closed(self) -> bool:
        """Whether the block was left."""
        return self._closed

    def __repr__(self) -> str:
        return f"<asynchronous carrier, {'closed' if self._closed else 'open'}>"

    # -- the carrier of a client --------------------------------------------------

    @property
    def on_request(self) -> OnRequest:
        """Takes the requests of brokers."""
        return self._connections.on_request

    @on_request.setter
    def on_request(self, on_request: OnRequest) -> None:
        self._connections.on_request = on_request

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Timer:
        """Call ``callback`` after ``delay_ms``."""
        return self._turns.call_later(delay_ms, callback, kind=kind)

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the present call has returned."""
        self._turns.soon(callback)

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request; pass its response or error to ``reply``."""
        self._connections.request(call, reply)

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable:
        """Call a function in a task of its own; pass its result or error to ``done``."""
        performing = _Performing(function, args, done, self._limiter)
        self._context.run(self._group.start_soon, performing.run)
        return performing

    # -- turns --------------------------------------------------------------------

    def turn_needed(self, delay_ms: int) -> None:
        """Let a turn come in ``delay_ms`` at the latest."""
        if not self._turning and self.elapsed_ms() + delay_ms < self._sleeps_until_ms:
            self._sleeps_until_ms = 0
            self._wake.set()

    async def _turn_by_turn(self) -> None:
        while True:
            self._turning = True
            self._turns.run()
            self._turning = False
            wait_ms = self._turns.wait_ms()
            if wait_ms == 0:
                await anyio.lowlevel.checkpoint()
                continue
            self._wake = self._loop.wake()
            if wait_ms is None:
                self._sleeps_until_ms = _FAR_MS
                await self._wake
            else:
                self._sleeps_until_ms = self.elapsed_ms() + wait_ms
                await self._loop.wait(self._wake, wait_ms)

    # -- the host of its connections ------------------------------------------------

    def connect(self, channel: Channel) -> None:
        """Begin to connect a channel, in a task that then reads it."""
        self._context.run(self._group.start_soon, self._carry, channel)

    def write(self, channel: Channel) -> None:
        """Write what a channel has to send."""
        carried = self._carried.get(channel)
        if carried is not None:
            carried.wire.write()

    def disconnect(self, channel: Channel) -> None:
        """Close the socket of a channel, as soon as no task waits for it."""
        carried = self._carried.pop(channel, None)
        if carried is not None:
            carried.wire.close()
            carried.group.cancel_scope.cancel()

    async def _carry(self, channel: Channel) -> None:
        """Connect a channel and read it until it is closed."""

        def changed(wire: Wire, sock: socket.socket, before: Wants) -> None:
            if wire.wants is Wants.NOTHING:
                carried.unused.append(sock)
            elif wire.wants is Wants.READ_AND_WRITE:
                carried.group.start_soon(self._write_rest, wire, sock)

        group = self._loop.task_group()
        wire = Wire(channel, changed)
        carried = self._carried[channel] = _Carried(wire, group)
        try:
            async with group:
                await self._connect(channel, carried)
                if (sock := wire.socket) is not None:
                    await self._loop.read(sock, wire.receive, partial(_take, wire))
        finally:
            carried.close_unused()
            channel.lost()

    async def _connect(self, channel: Channel, carried: _Carried) -> None:
        wire = carried.wire
        address = numeric_address(channel.addr)
        if address is not None:
            addresses = [address]
        else:
            try:
                addresses = await anyio.to_thread.run_sync(
                    resolve, channel.addr, abandon_on_cancel=True, limiter=self._resolvers
                )
            except OSError:
                addresses = []
        wire.connect(addresses)
        while wire.wants is Wants.CONNECT and (sock := wire.socket) is not None:
            carried.close_unused()
            await anyio.wait_writable(sock)
            wire.connect_ready()

    async def _write_rest(self, wire: Wire, sock: socket.socket) -> None:
        while wire.wants is Wants.READ_AND_WRITE:
            await anyio.wait_writable(sock)
            wire.write()


def _take(wire: Wire, data: bytes) -> bool:
    """Pass what arrived to a channel; return whether there may be more."""
    carefully(partial(wire.take, data))
    return wire.socket is not None
