"""Which calls are taken for never awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fakemq.awaited import must_be_awaited
from fakemq.handles.awaiting import watching


@must_be_awaited
class Worker:
    async def work(self) -> str:
        return "done"


def test_call_whose_task_has_not_begun_is_not_blamed_and_is_done() -> None:
    async def begin() -> str:
        with watching() as calls:
            task = asyncio.create_task(Worker().work())
            assert calls.end() == []
        return await task

    assert asyncio.run(begin()) == "done"


def test_call_that_is_dropped_is_blamed_once() -> None:
    work: Callable[[], object] = Worker().work
    with watching() as calls:
        work()
        (text,) = calls.end()
        assert text.startswith("Worker.work() at test_awaiting.py:")
        assert calls.end() == []
