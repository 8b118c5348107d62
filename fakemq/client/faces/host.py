"""Asynchronous carriers in tasks of their own.

A client must outlive the cancellation of the task that uses it, or it could neither commit its
offsets nor leave its groups. So its carrier lives in no task group of the program: on asyncio it is
a task of the loop, on trio a system task. The last face that uses it ends it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

from fakemq.client.carriers.asynchronous import AsyncCarrier

if TYPE_CHECKING:
    import trio.lowlevel

_log = logging.getLogger("fakemq.client")

AsyncFunction: TypeAlias = Callable[..., Coroutine[Any, Any, None]]


class HostedCarrier(AsyncCarrier):
    """An `AsyncCarrier` that enters and leaves its own block, in a task of its own."""

    def __init__(self, *, pool_size: int) -> None:
        super().__init__(pool_size=pool_size)
        self.loop = current_loop()
        self._ready = anyio.Event()
        self._stop = anyio.Event()
        self._ended = anyio.Event()
        self._task: object = None
        self.before_close: Callable[[], None] = _nothing
        """Ends what it carries, of which each part would otherwise log that it has failed."""

    def _spawn(self, group: TaskGroup, function: AsyncFunction, *args: object) -> None:
        """Start a task that Ctrl-C does not end: trio raises KeyboardInterrupt in any task, and
        then in the program's main one, which shuts down."""
        group.start_soon(self.loop.shielded(function), *args)

    async def begin(self) -> None:
        """Let it live, until `end`; return when it can run tasks."""
        if self._task is None:
            self._task = self.loop.spawn(self._live)
        await self._ready.wait()

    async def _live(self) -> None:
        try:
            async with self:
                self._ready.set()
                try:
                    await self._stop.wait()
                finally:
                    self.before_close()
        except Exception:  # on trio it would end the whole program
            _log.exception("the client's carrier failed")
        finally:
            self._ready.set()
            self._ended.set()

    def end_soon(self) -> None:
        """Let it end, with all that it carries."""
        self._stop.set()

    async def end(self) -> None:
        """End it, and wait for that."""
        self._stop.set()
        if self._task is not None:
            await self._ended.wait()


def _nothing() -> None: ...


class AsyncioLoop:
    """The running loop of asyncio."""

    def __init__(self) -> None:
        self.key = asyncio.get_running_loop()

    def spawn(self, function: Callable[[], Coroutine[None, None, None]]) -> object:
        """Run an async function in a task; the caller keeps it, or it may be collected."""
        return self.key.create_task(function())

    def shielded(self, function: AsyncFunction) -> AsyncFunction:
        """Return the function: Ctrl-C cancels the main task alone."""
        return function

    def call_threadsafe(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, from any thread; raise RuntimeError if the loop is over."""
        self.key.call_soon_threadsafe(function)


class TrioLoop:
    """The running loop of trio."""

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        from trio.lowlevel import enable_ki_protection

        self.key = token

        @enable_ki_protection
        async def protected(function: AsyncFunction, *args: object) -> None:
            await function(*args)

        self._protected = protected

    def spawn(self, function: Callable[[], Coroutine[None, None, None]]) -> object:
        """Run an async function in a system task."""
        from trio.lowlevel import spawn_system_task

        return spawn_system_task(function)

    def shielded(self, function: AsyncFunction) -> AsyncFunction:
        """Return an async function in which trio raises no KeyboardInterrupt."""
        return partial(self._protected, function)

    def call_threadsafe(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, from any thread; raise RuntimeError if the loop is over."""
        self.key.run_sync_soon(function)


def current_loop() -> AsyncioLoop | TrioLoop:
    """Return the loop of the present task; raise RuntimeError outside of any."""
    if "trio" in sys.modules:
        from trio.lowlevel import current_trio_token

        with suppress(RuntimeError):
            return TrioLoop(current_trio_token())
    return AsyncioLoop()
