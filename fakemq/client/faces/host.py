"""Asynchronous carriers in tasks of their own.

A client must outlive the cancellation of the task that uses it, or it could neither commit its
offsets nor leave its groups. So its carrier lives in no task group of the program: on asyncio it is
a task of the loop, on trio a system task. The last face that uses it ends it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from fakemq.client.carriers.asynchronous import AsyncCarrier
from fakemq.client.carriers.loops import current_loop

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

_log = logging.getLogger("fakemq.client")


class HostedCarrier(AsyncCarrier):
    """An `AsyncCarrier` that enters and leaves its own block, in a task of its own."""

    def __init__(
        self,
        *,
        pool_size: int,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
    ) -> None:
        super().__init__(pool_size=pool_size, credentials=credentials, tls=tls)
        self.loop = current_loop()
        self._ready = anyio.Event()
        self._stop = anyio.Event()
        self._ended = anyio.Event()
        self._task: object = None
        self.before_close: Callable[[], None] = _nothing
        """Ends what it carries, of which each part would otherwise log that it has failed."""

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
