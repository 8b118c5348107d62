"""Asynchronous connections: concurrent requests, time-outs, reconnects."""

from __future__ import annotations

import anyio
import pytest

from fakemq.client.errors import (
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Call, Operation, ask
from fakemq.client.remoting_async import AsyncRemoting
from fakemq.protocol.command import RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.scripted_broker import ScriptedBroker, refused_addr
from tests.support.scripted_operation import TIMEOUT_MS, RequestsSeen

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def call(
    remoting: AsyncRemoting, addr: str, code: int = 34, timeout_ms: int = TIMEOUT_MS
) -> int:
    response = await remoting.call(Call(addr, RemotingCommand(code), timeout_ms))
    assert response is not None
    return response.code


async def test_requests_of_the_broker_are_handled_before_its_answer() -> None:
    seen = RequestsSeen()
    with ScriptedBroker(scripts.asks_before_it_answers) as broker:
        async with AsyncRemoting(seen) as remoting:
            assert await call(remoting, broker.addr) == 7
            # The request that wants an answer was read before the response: it has been sent.
    assert seen == [(broker.addr, scripts.NOTIFY), (broker.addr, scripts.RUNNING_INFO)]


async def test_concurrent_requests_get_their_own_answers() -> None:
    codes: dict[int, int] = {}
    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        async with AsyncRemoting(RequestsSeen()) as remoting, anyio.create_task_group() as tasks:

            async def one(code: int) -> None:
                codes[code] = await call(remoting, broker.addr, code)

            tasks.start_soon(one, 1)
            tasks.start_soon(one, 2)
    assert codes == {1: 1, 2: 2}


async def test_time_out_closes_the_connection() -> None:
    with ScriptedBroker(scripts.stays_silent, scripts.answers) as broker:
        async with AsyncRemoting(RequestsSeen()) as remoting:
            with pytest.raises(RemotingTimeoutError):
                await call(remoting, broker.addr, timeout_ms=30)
            assert await call(remoting, broker.addr) == 0


@pytest.mark.parametrize("script", [scripts.hangs_up, scripts.talks_nonsense])
async def test_lost_connection_fails_the_request_and_is_replaced(script: object) -> None:
    assert callable(script)
    with ScriptedBroker(script, scripts.answers) as broker:
        async with AsyncRemoting(RequestsSeen()) as remoting:
            with pytest.raises(RemotingSendRequestError):
                await call(remoting, broker.addr)
            assert await call(remoting, broker.addr) == 0


async def test_closing_ends_open_requests() -> None:
    failures: list[RemotingError] = []
    with ScriptedBroker(scripts.stays_silent) as broker:
        async with anyio.create_task_group() as tasks, AsyncRemoting(RequestsSeen()) as remoting:

            async def one() -> None:
                try:
                    await call(remoting, broker.addr)
                except RemotingError as error:
                    failures.append(error)

            tasks.start_soon(one)
            await anyio.wait_all_tasks_blocked()
    assert [type(one) for one in failures] == [RemotingSendRequestError]


async def test_failures_are_raised_in_the_operation() -> None:
    def either(*addrs: str) -> Operation[int]:
        for addr in addrs:
            try:
                response = yield from ask(addr, RemotingCommand(34), TIMEOUT_MS)
            except RemotingConnectError:
                continue
            return response.code
        return -1

    with ScriptedBroker(scripts.answers) as broker:
        async with AsyncRemoting(RequestsSeen()) as remoting:
            assert await remoting.run(either(refused_addr(), "nonsense", broker.addr)) == 0
            assert await remoting.run(either(refused_addr())) == -1
