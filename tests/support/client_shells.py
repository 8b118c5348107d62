"""The carriers of a client over real sockets, with one way to use them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import anyio

from fakemq.client.carrier import OnRequest
from fakemq.client.carriers.asynchronous import AsyncCarrier
from fakemq.client.carriers.blocking import ThreadCarrier
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.operation import Operation, ask
from fakemq.client.tasks import Task
from fakemq.protocol.command import RemotingCommand
from tests.support.scripted_operation import TIMEOUT_MS

Play = Callable[..., list[object]]
"""Takes tasks that run at the same time; returns their results, or their errors."""


def by_threads(*tasks: Task[Any], on_request: OnRequest | None = None) -> list[object]:
    with ThreadCarrier() as carrier:
        if on_request is not None:
            carrier.on_request = on_request
        futures = [carrier.submit(task) for task in tasks]
        return [future.exception() or future.result() for future in futures]


def by_caller(*tasks: Task[Any], on_request: OnRequest | None = None) -> list[object]:
    outcomes: list[object] = [None] * len(tasks)

    def end(number: int) -> Callable[[object, BaseException | None], None]:
        def done(value: object, error: BaseException | None) -> None:
            outcomes[number] = error or value
            left.discard(number)

        return done

    left = set(range(len(tasks)))
    with closing(CallerCarrier()) as carrier:
        if on_request is not None:
            carrier.on_request = on_request
        for number, task in enumerate(tasks):
            carrier.begin(task, end(number))
        while left:
            carrier.turn()
        carrier.flush()
    return outcomes


def by_anyio(backend: str) -> Play:
    def play(*tasks: Task[Any], on_request: OnRequest | None = None) -> list[object]:
        return anyio.run(_play, tasks, on_request, backend=backend)

    return play


async def _play(tasks: Sequence[Task[Any]], on_request: OnRequest | None) -> list[object]:
    outcomes: list[object] = [None] * len(tasks)

    async def one(number: int) -> None:
        try:
            outcomes[number] = await carrier.run(tasks[number])
        except Exception as error:
            outcomes[number] = error

    async with AsyncCarrier() as carrier:
        if on_request is not None:
            carrier.on_request = on_request
        async with anyio.create_task_group() as group:
            for number in range(len(tasks)):
                group.start_soon(one, number)
    return outcomes


SHELLS: dict[str, Play] = {
    "threads": by_threads,
    "caller": by_caller,
    "asyncio": by_anyio("asyncio"),
    "trio": by_anyio("trio"),
}


def asking(
    addr: str, code: int = 34, *, timeout_ms: int = TIMEOUT_MS, body_bytes: int = 0
) -> Operation[int]:
    """Send one request; return the code of its response."""
    response = yield from ask(addr, RemotingCommand(code, body=bytes(body_bytes)), timeout_ms)
    return response.code


def asking_again(addr: str, *, timeout_ms: int = TIMEOUT_MS) -> Operation[list[object]]:
    """Send two requests, the second after the end of the first; return both outcomes."""
    outcomes: list[object] = []
    for limit_ms in (timeout_ms, TIMEOUT_MS):
        try:
            outcomes.append((yield from asking(addr, timeout_ms=limit_ms)))
        except Exception as error:
            outcomes.append(error)
    return outcomes
