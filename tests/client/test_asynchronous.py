"""The asynchronous face, end to end against the cluster, on both backends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import anyio
import pytest

import fakemq
from fakemq.client import (
    AsyncClient,
    AsyncProducer,
    AsyncPushConsumer,
    Client,
    Message,
    PullResult,
    PullStatus,
)
from fakemq.events import PullHeld

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        yield mq


async def test_held_pull_is_woken_by_a_send_on_the_same_connection(mq: fakemq.Cluster) -> None:
    mq.reset()
    results: list[PullResult] = []
    async with AsyncClient(mq.namesrv_addr) as client:
        queue = (await client.subscribe_queues("orders"))[0]

        async def pull() -> None:
            results.append(await client.pull(queue, 0, suspend_ms=15_000))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pull)
            await anyio.to_thread.run_sync(lambda: mq.wait_for(lambda: mq.journal.find(PullHeld)))
            await client.send(Message("orders", "x"), queue=queue)
    assert [one.body for one in results[0].messages] == [b"x"]
    assert results[0].status is PullStatus.FOUND


async def test_many_sends_share_one_connection(mq: fakemq.Cluster) -> None:
    mq.reset()
    async with AsyncClient(mq.namesrv_addr) as client:

        async def send(number: int) -> None:
            await client.send(Message("orders", str(number)))

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(send, number)
    assert {one.body for one in mq.messages("orders")} == {b"%d" % one for one in range(50)}


async def test_closed_client_is_no_member(mq: fakemq.Cluster) -> None:
    mq.reset()
    async with AsyncClient(mq.namesrv_addr, consumer_group="billing") as client:
        await client.subscribe("orders")
        await client.heartbeat()
        assert [one.client_id for one in mq.group("billing").members()] == [
            client.instance.client_id
        ]
    assert mq.group("billing").members() == []


def test_both_clients_have_the_same_methods() -> None:
    def offered(face: type) -> set[str]:
        return {name for name in dir(face) if not name.startswith("_")}

    assert offered(Client) - offered(AsyncClient) == {"channel", "close", "parallel", "poll"}
    assert offered(AsyncClient) <= offered(Client)


def test_frameworks_see_that_methods_are_awaited() -> None:
    for method in (AsyncProducer.send, AsyncPushConsumer.start, AsyncClient.send):
        assert asyncio.iscoroutinefunction(method)
