"""The carrier in an event loop, on asyncio and trio."""

from __future__ import annotations

import pytest

from fakemq.client.carriers.asynchronous import AsyncCarrier
from fakemq.client.operation import Operation, ask
from fakemq.client.tasks import Perform, Sleep, Task
from fakemq.protocol.command import RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.scripted_broker import ScriptedBroker
from tests.support.scripted_operation import TIMEOUT_MS

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asking(addr: str) -> Operation[int]:
    response = yield from ask(addr, RemotingCommand(34), TIMEOUT_MS)
    return response.code


async def test_run_returns_the_response_of_a_peer() -> None:
    with ScriptedBroker(scripts.answers) as broker:
        async with AsyncCarrier() as carrier:
            assert await carrier.run(asking(broker.addr)) == 0


async def test_functions_are_awaited_or_called_in_a_thread() -> None:
    async def coroutine(value: int) -> int:
        return value + 1

    def plain(value: int) -> int:
        return value + 2

    def performing() -> Task[list[int]]:
        yield Sleep(1)
        return [(yield Perform(coroutine, (1,))), (yield Perform(plain, (1,)))]

    async with AsyncCarrier() as carrier:
        assert await carrier.run(performing()) == [2, 3]
