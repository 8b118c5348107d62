"""Faces inside the cluster whose methods are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from types import TracebackType, coroutine
from typing import TYPE_CHECKING, Self, TypeVar

from fakemq.awaited import must_be_awaited
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.base import CoreT
from fakemq.handles.clients.hosting import InsideFace, over
from fakemq.handles.running import in_thread

if TYPE_CHECKING:
    from fakemq.client.tasks import Task

T = TypeVar("T")


@must_be_awaited
class AsyncInside(InsideFace[CoreT], AsyncFace[CoreT]):
    """A face inside the cluster, for asynchronous tests; see `BlockingInside`."""

    async def start(self) -> Self:
        """Return it: it began when it was made."""
        return self

    async def shutdown(self) -> None:
        """Leave the group and end, as `close`."""
        self._leave()

    def close(self) -> Awaitable[None]:  # type: ignore[override]  # it need not be awaited
        """Leave the group and end; do nothing if it has ended. It need not be awaited.

        Brokers that do not answer at once are left without a word, as time does not move.
        """
        self._leave()
        return _nothing()

    async def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait in real time until it has ended, and return whether it has."""
        return await in_thread(lambda: self._wait_for_end(timeout_ms), abandon_on_cancel=True)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()

    async def _run(self, task: Task[T]) -> T:
        outcome = self._carried(task)
        if not outcome.done:
            running = self._running()
            try:
                await in_thread(lambda: running.wait(over(outcome)), abandon_on_cancel=True)
            finally:
                running.call(outcome.abandon)
        return outcome.result()


@coroutine
def _nothing() -> Generator[object, object, None]:
    """Do nothing. Unlike an async function it need not be awaited."""
    yield from ()
