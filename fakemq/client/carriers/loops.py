"""The loops of events that an asynchronous client runs in: asyncio's and trio's.

anyio hides the difference. What every request needs is done here by the loop's own means, because
those of anyio cost as much as the rest of a short request.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import anyio

if TYPE_CHECKING:
    import socket

    import anyio.abc
    import trio.lowlevel

AsyncFunction: TypeAlias = Callable[..., Coroutine[Any, Any, None]]

Receive: TypeAlias = Callable[[], bytes | None]
"""Returns what arrived, no bytes at the end of a connection, None if nothing did."""
Take: TypeAlias = Callable[[bytes], bool]
"""Takes what arrived; returns whether there may be more."""


class Wake(Awaitable[None], Protocol):
    """Wakes the one task that awaits it."""

    def set(self) -> None:
        """Wake the task, or let it not wait at all; do nothing the second time."""


class AsyncioWake:
    """A `Wake` of asyncio."""

    __slots__ = ("_future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._future: asyncio.Future[None] = loop.create_future()

    def set(self) -> None:
        """Wake the task."""
        if not self._future.done():  # it is cancelled with the task that awaits it
            self._future.set_result(None)

    def __await__(self) -> Generator[Any, None, None]:
        return self._future.__await__()


class TrioWake:
    """A `Wake` of trio."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        """Wake the task."""
        self._event.set()

    def __await__(self) -> Generator[Any, None, None]:
        return self._event.wait().__await__()


class TrioTasks:
    """A task group of trio in whose tasks trio raises no KeyboardInterrupt.

    anyio's group cannot serve: it runs a function in a coroutine of its own, which Ctrl-C reaches.
    """

    def __init__(self) -> None:
        from trio import open_nursery
        from trio.lowlevel import enable_ki_protection

        @enable_ki_protection
        async def protected(function: AsyncFunction, *args: object) -> None:
            await function(*args)

        self._protected = protected
        self._manager = open_nursery(strict_exception_groups=True)

    async def __aenter__(self) -> Self:
        self._nursery = await self._manager.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        # The manager is typed as None; it returns whether the error was that of its own cancelling.
        return await self._manager.__aexit__(kind, error, traceback)  # type: ignore[return-value]

    def start_soon(self, function: AsyncFunction, *args: object) -> None:
        """Start a task."""
        self._nursery.start_soon(self._protected, function, *args)

    @property
    def cancel_scope(self) -> trio.CancelScope:
        """Cancels all tasks."""
        return self._nursery.cancel_scope


class AsyncioLoop:
    """The running loop of asyncio."""

    def __init__(self) -> None:
        self.key = asyncio.get_running_loop()

    def spawn(self, function: Callable[[], Coroutine[None, None, None]]) -> object:
        """Run an async function in a task; the caller keeps it, or it may be collected."""
        return self.key.create_task(function())

    def task_group(self) -> anyio.abc.TaskGroup:
        """Return a group of tasks that Ctrl-C does not end: it cancels the main task alone."""
        return anyio.create_task_group()

    def call_threadsafe(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, from any thread; raise RuntimeError if the loop is over."""
        self.key.call_soon_threadsafe(function)

    def wake(self) -> Wake:
        """Return what wakes a task that awaits it."""
        return AsyncioWake(self.key)

    async def wait(self, wake: Wake, timeout_ms: int) -> None:
        """Await ``wake``, up to a time."""
        timer = self.key.call_later(timeout_ms / 1000, wake.set)
        try:
            await wake
        finally:
            timer.cancel()

    async def read(self, sock: socket.socket, receive: Receive, take: Take) -> None:
        """Receive whenever a socket can be read, and let it be taken, until ``take`` is False."""
        arrived: deque[bytes] = deque()
        wake = self.wake()

        def ready() -> None:
            # Here it is only received: anyio starts no task outside of a task.
            data = receive()
            if data is not None:
                arrived.append(data)
                wake.set()

        try:
            self.key.add_reader(sock, ready)
        except NotImplementedError:  # Windows' default loop
            await _read_by_anyio(sock, receive, take)
            return
        try:
            while True:
                await wake
                wake = self.wake()
                while arrived:
                    if not take(arrived.popleft()):
                        return
        finally:
            self.key.remove_reader(sock)


class TrioLoop:
    """The running loop of trio."""

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self.key = token

    def spawn(self, function: Callable[[], Coroutine[None, None, None]]) -> object:
        """Run an async function in a system task."""
        from trio.lowlevel import spawn_system_task

        return spawn_system_task(function)

    def task_group(self) -> TrioTasks:
        """Return a group of tasks that Ctrl-C does not end.

        trio raises KeyboardInterrupt in any task, if the group does not prevent it.
        """
        return TrioTasks()

    def call_threadsafe(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, from any thread; raise RuntimeError if the loop is over."""
        self.key.run_sync_soon(function)

    def wake(self) -> Wake:
        """Return what wakes a task that awaits it."""
        return TrioWake()

    async def wait(self, wake: Wake, timeout_ms: int) -> None:
        """Await ``wake``, up to a time."""
        with anyio.move_on_after(timeout_ms / 1000):
            await wake

    async def read(self, sock: socket.socket, receive: Receive, take: Take) -> None:
        """Receive whenever a socket can be read, and let it be taken, until ``take`` is False."""
        await _read_by_anyio(sock, receive, take)


async def _read_by_anyio(sock: socket.socket, receive: Receive, take: Take) -> None:
    while True:
        await anyio.wait_readable(sock)
        data = receive()
        if data is not None and not take(data):
            return


Loop: TypeAlias = AsyncioLoop | TrioLoop
TaskGroup: TypeAlias = "anyio.abc.TaskGroup | TrioTasks"


def current_loop() -> Loop:
    """Return the loop of the present task; raise RuntimeError outside of any."""
    if "trio" in sys.modules:
        from trio.lowlevel import current_trio_token

        with suppress(RuntimeError):
            return TrioLoop(current_trio_token())
    return AsyncioLoop()
