"""Loops over an asynchronous push consumer that are dropped."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
import pytest

from fakemq.client.carriers.loops import current_loop
from fakemq.client.consuming.received import RECONSUME_LATER, ConsumeResult
from fakemq.client.faces.async_base import UserTasks
from fakemq.client.faces.async_loops import AsyncHandover, AsyncMessageLoop

MESSAGE: Any = "a message"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_loop_that_another_thread_collects_is_over(anyio_backend: str) -> None:
    handover, user_tasks = AsyncHandover(), UserTasks()
    results: list[ConsumeResult] = []

    async def consume() -> None:
        results.append(await handover.listen([MESSAGE]))

    async with anyio.create_task_group() as group:
        group.start_soon(consume)
        loops = [AsyncMessageLoop(handover, None, user_tasks, current_loop())]
        assert await anext(loops[0]) is MESSAGE
        assert user_tasks.has_this
        await anyio.to_thread.run_sync(loops.clear)
    assert results == [RECONSUME_LATER]
    assert not user_tasks.has_this


@pytest.mark.anyio
async def test_task_with_two_loops_has_a_message_until_both_end() -> None:
    handover, user_tasks = AsyncHandover(), UserTasks()
    first, second = (AsyncMessageLoop(handover, None, user_tasks, current_loop()) for _ in "ab")
    async with anyio.create_task_group() as group:
        for loop in (first, second):
            group.start_soon(handover.listen, [MESSAGE])
            await anext(loop)
        second.end()
        assert user_tasks.has_this
        first.end()
    assert not user_tasks.has_this


def test_loop_that_is_collected_after_its_event_loop_raises_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loops: list[AsyncMessageLoop] = []

    async def main() -> None:
        handover = AsyncHandover()
        async with anyio.create_task_group() as group:
            group.start_soon(handover.listen, [MESSAGE])
            loops.append(AsyncMessageLoop(handover, None, UserTasks(), current_loop()))
            await anext(loops[0])
            group.cancel_scope.cancel()

    unraisable: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    anyio.run(main)
    anyio.run(anyio.to_thread.run_sync, loops.clear)
    assert not unraisable
