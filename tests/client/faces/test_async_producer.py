"""The asynchronous producer, on asyncio and trio: what its blocking twin does in another way."""

from __future__ import annotations

import anyio
import pytest

import fakemq
from fakemq.client import (
    AsyncProducer,
    LocalTransactionState,
    Message,
    MQClientError,
    RequestTimeoutError,
    SendStatus,
)
from fakemq.protocol.message import MessageExt
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def bodies(mq: fakemq.Cluster) -> list[bytes]:
    return sorted(message.body for message in mq.messages("orders"))


async def test_each_way_of_sending_is_awaited(mq: fakemq.Cluster) -> None:
    async with AsyncProducer(mq.namesrv_addr, group="g") as p:
        r = await p.send("orders", b"body", tags="a", keys="k")
        queue, *_ = await p.queues("orders")
        await p.send_batch([Message("orders", b"batch")], queue=queue)
        assert len(await p.send_batches([Message("orders", b"batches")])) == 1
        await p.send_oneway("orders", b"lost?")
        await eventually_async(lambda: len(bodies(mq)) == 4)
        with pytest.raises(RequestTimeoutError):
            await p.request("orders", b"?", timeout_ms=300)
    stored = next(one for one in mq.messages("orders") if one.body == b"body")
    assert r.status is SendStatus.SEND_OK
    assert (r.broker_name, r.queue_id, r.queue_offset) == (
        *(stored.broker, stored.queue_id, stored.offset),
    )


async def test_many_tasks_share_one_producer(mq: fakemq.Cluster) -> None:
    async with (
        AsyncProducer(mq.namesrv_addr, group="g") as p,
        anyio.create_task_group() as tasks,
    ):
        for number in range(100):
            tasks.start_soon(p.send, "orders", str(number))
    assert len(bodies(mq)) == 100


async def test_transaction_awaits_its_function_or_calls_it(mq: fakemq.Cluster) -> None:
    async def commit(_: Message) -> LocalTransactionState:
        await anyio.lowlevel.checkpoint()
        return LocalTransactionState.COMMIT_MESSAGE

    def rollback(_: Message) -> LocalTransactionState:
        return LocalTransactionState.ROLLBACK_MESSAGE

    async with AsyncProducer(mq.namesrv_addr, group="g") as p:
        await p.send_in_transaction(Message("orders", b"rollback"), rollback)
        sent = await p.send_in_transaction(Message("orders", b"commit"), commit)
        assert sent.state is LocalTransactionState.COMMIT_MESSAGE
        await eventually_async(lambda: bodies(mq) == [b"commit"])


async def test_check_may_be_async(mq: fakemq.Cluster) -> None:
    mq.clock.freeze()

    async def check(_: MessageExt) -> LocalTransactionState:
        return LocalTransactionState.COMMIT_MESSAGE

    async with AsyncProducer(mq.namesrv_addr, group="g", check=check) as p:
        # A broker asks those whose heartbeat it has: the first one comes after a second.
        await eventually_async(lambda: len(mq.journal.find("MemberChanged", group="g")) == 2)
        await p.send_in_transaction(Message("orders", b"tea"), lambda _: None)
        await anyio.to_thread.run_sync(
            lambda: mq.run_until(lambda: bodies(mq) == [b"tea"], at_most="5m")
        )
    mq.clock.unfreeze()


async def test_cancelled_send_leaves_the_producer_usable(mq: fakemq.Cluster) -> None:
    async with AsyncProducer(mq.namesrv_addr, group="g") as p:
        await p.send("orders", b"first")
        for broker in mq.brokers:
            broker.pause()
        with anyio.move_on_after(0.05) as scope:
            await p.send("orders", b"held")
        assert scope.cancelled_caught
        for broker in mq.brokers:
            broker.resume()
        assert (await p.send("orders", b"last")).status is SendStatus.SEND_OK


async def test_cancelled_block_leaves_its_groups(mq: fakemq.Cluster) -> None:
    with anyio.move_on_after(30) as scope:
        async with AsyncProducer(mq.namesrv_addr, group="g") as p:
            await p.send("orders", b"x")
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert p.state.name == "SHUTDOWN_ALREADY"
    assert mq.journal.find("RequestReceived", code="UNREGISTER_CLIENT")


async def test_error_of_the_block_is_raised_as_it_is(mq: fakemq.Cluster) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with AsyncProducer(mq.namesrv_addr, group="g"):
            raise LookupError("mine")


async def test_producer_that_does_not_run_says_what_to_do(mq: fakemq.Cluster) -> None:
    p = AsyncProducer(mq.namesrv_addr, group="g")
    with pytest.raises(MQClientError, match=r"use it in `async with AsyncProducer"):
        await p.send("orders", b"x")
    await p.shutdown()  # nothing to do
    assert await p.start() is p
    with pytest.raises(MQClientError, match="maybe started once"):
        await p.start()
    await p.close()
    await p.close()
    with pytest.raises(MQClientError, match="make another AsyncProducer"):
        await p.send("orders", b"x")


async def test_start_and_shutdown_may_be_of_different_tasks(mq: fakemq.Cluster) -> None:
    p = AsyncProducer(mq.namesrv_addr, group="g")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(p.start)
    assert (await p.send("orders", b"x")).status is SendStatus.SEND_OK
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(p.shutdown)
    assert p.state.name == "SHUTDOWN_ALREADY"


async def test_group_that_cannot_be_fails_the_start(mq: fakemq.Cluster) -> None:
    with pytest.raises(MQClientError, match="producerGroup can not equal DEFAULT_PRODUCER"):
        async with AsyncProducer(mq.namesrv_addr, group="DEFAULT_PRODUCER"):
            pass


async def test_equal_instance_names_share_one_client(mq: fakemq.Cluster) -> None:
    first = AsyncProducer(mq.namesrv_addr, group="a", instance_name="one")
    second = AsyncProducer(mq.namesrv_addr, group="b", instance_name="one")
    await first.start()
    async with second:
        assert first.client_id == second.client_id == "127.0.0.1@one"
        await first.shutdown()  # in another order than they began
        assert (await second.send("orders", b"x")).status is SendStatus.SEND_OK


async def test_dropped_producer_ends_with_a_warning(mq: fakemq.Cluster) -> None:
    with pytest.warns(ResourceWarning, match="AsyncProducer g .* was dropped while it ran"):
        await (await AsyncProducer(mq.namesrv_addr, group="g").start()).send("orders", b"x")
    await eventually_async(lambda: mq.journal.find("RequestReceived", code="UNREGISTER_CLIENT"))
