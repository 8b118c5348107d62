"""The asynchronous push consumer: functions that are awaited, loops, and cancellation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

import fakemq
from fakemq.client import AsyncPushConsumer, MQClientError, ReceivedMessage
from tests.support.consuming_faces import RETRY, consumed
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 2, "refunds": 1}, clock="frozen") as mq:
        yield mq


def consumer(mq: fakemq.Cluster, **options: Any) -> AsyncPushConsumer:
    options = {"subscribe": {"orders": "*"}, "consume_from": "first"} | options
    return AsyncPushConsumer(mq.namesrv_addr, group="billing", **options)


class Seen:
    """Awaits something, and keeps what it consumes."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, message: ReceivedMessage) -> None:
        await anyio.lowlevel.checkpoint()
        self.bodies.append(message.body)


# -- functions --------------------------------------------------------------------------------


async def test_async_function_consumes(mq: fakemq.Cluster) -> None:
    seen = Seen()
    mq.seed("orders", [b"one", b"two", b"three"])
    async with consumer(mq, on_message=seen):
        await eventually_async(lambda: len(seen.bodies) == 3)
    assert sorted(seen.bodies) == [b"one", b"three", b"two"]
    assert consumed(mq)


async def test_plain_function_is_called_in_another_thread(mq: fakemq.Cluster) -> None:
    threads = []
    mq.seed("orders", [b"one"])
    async with consumer(mq, on_message=lambda _: threads.append(threading.get_ident())):
        await eventually_async(lambda: threads)
    assert threads[0] != threading.get_ident()


async def test_raise_sends_back_until_the_message_is_dead(mq: fakemq.Cluster) -> None:
    tries: list[int] = []

    async def fail(message: ReceivedMessage) -> None:
        tries.append(message.reconsume_times)
        raise RuntimeError("cannot charge")

    mq.seed("orders", [b"tea"])
    async with consumer(mq, on_message=fail, max_reconsume_times=2):
        await eventually_async(lambda: tries)
        await anyio.to_thread.run_sync(
            lambda: mq.run_until(lambda: mq.messages("%DLQ%billing"), at_most="2m")
        )
    assert tries == [0, 1, 2]


async def test_each_topic_may_have_its_function(mq: fakemq.Cluster) -> None:
    orders, refunds = Seen(), []
    c = AsyncPushConsumer(mq.namesrv_addr, group="billing", consume_from="first")

    @c.on("orders")
    async def charge(message: ReceivedMessage) -> None:
        await orders(message)

    @c.on("refunds", tags="*")
    def refund(message: ReceivedMessage) -> None:
        refunds.append(message.body)

    mq.seed("orders", [b"order"])
    mq.seed("refunds", [b"refund"])
    async with c:
        await eventually_async(lambda: orders.bodies and refunds)
    assert (orders.bodies, refunds) == ([b"order"], [b"refund"])


async def test_lambda_that_returns_a_coroutine_is_awaited_beside_async_functions(
    mq: fakemq.Cluster,
) -> None:
    orders, refunds = Seen(), Seen()
    c = consumer(mq, on_message=orders)
    c.on("refunds")(lambda message: refunds(message))
    mq.seed("refunds", [b"refund"])
    async with c:
        await eventually_async(lambda: refunds.bodies)


async def test_first_async_function_must_come_before_the_start(mq: fakemq.Cluster) -> None:
    async with consumer(mq, on_message=print) as c:
        with pytest.raises(MQClientError, match="add it before the start"):
            c.on("refunds")(Seen())


async def test_shutdown_within_a_function_returns_and_acknowledges(mq: fakemq.Cluster) -> None:
    async def last(_: ReceivedMessage) -> None:
        await c.shutdown()
        returned.append(True)

    returned: list[bool] = []
    mq.seed("orders", [b"last"])
    c = consumer(mq, on_message=last)
    await c.start()  # the message may come before it returns
    assert await c.wait(timeout_ms=30_000)
    assert returned
    assert consumed(mq)
    await c.shutdown()


async def test_plain_function_ends_the_block_by_an_event(mq: fakemq.Cluster) -> None:
    stop = anyio.Event()
    mq.seed("orders", [b"tea"])
    async with consumer(mq, on_message=lambda _: anyio.from_thread.run_sync(stop.set)):
        await stop.wait()
    assert consumed(mq)


async def test_suspended_consumer_resumes(mq: fakemq.Cluster) -> None:
    seen = Seen()
    async with consumer(mq, on_message=seen) as c:
        c.suspend()
        mq.seed("orders", [b"later"])
        c.resume()
        await eventually_async(lambda: seen.bodies)
        c.subscribe("refunds")
        mq.seed("refunds", [b"refund"])
        await eventually_async(lambda: b"refund" in seen.bodies)
        c.unsubscribe("refunds")


# -- loops ------------------------------------------------------------------------------------


async def test_loop_acknowledges_when_it_asks_for_the_next_message(mq: fakemq.Cluster) -> None:
    bodies = []
    mq.seed("orders", [b"one", b"two", b"three"])
    async with consumer(mq) as c:
        async for message in c:
            bodies.append(message.body)
            if len(bodies) == 3:
                await c.shutdown()  # in the loop's body: ends behind this message
    assert sorted(bodies) == [b"one", b"three", b"two"]
    assert consumed(mq)


async def test_loop_that_breaks_sends_its_message_back(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea"])
    async with consumer(mq) as c:
        async for _ in c:
            break
        await eventually_async(lambda: mq.delayed(RETRY))
        mq.clock.advance_to_next("delay_level")
        async for message in c:
            assert message.reconsume_times == 1
            await c.shutdown()


async def test_loop_that_raises_sends_its_message_back(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea"])

    async def work() -> None:
        async with consumer(mq) as c:
            async for _ in c:
                raise RuntimeError("cannot charge")

    with pytest.raises(RuntimeError, match="cannot charge"):
        await work()
    assert [one.level for one in mq.delayed(RETRY)] == [3]


async def test_loop_may_send_back_by_itself(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea", b"milk"])
    left = 2
    async with consumer(mq) as c:
        async for message in c:
            if message.body == b"tea":
                message.retry_later(4)
            left -= 1
            if not left:
                await c.shutdown()
    assert [one.level for one in mq.delayed(RETRY)] == [4]


async def test_tasks_may_each_have_a_loop(mq: fakemq.Cluster) -> None:
    working: set[int] = set()
    all_work = anyio.Event()
    mq.seed("orders", [b"one", b"two", b"three"])

    async def work(number: int) -> None:
        async for _ in c:
            working.add(number)
            if len(working) == 3:
                all_work.set()
            await all_work.wait()

    async with consumer(mq) as c, anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(work, number)
        await all_work.wait()
        await eventually_async(lambda: c._handover._open == set())
        await c.shutdown()
    assert consumed(mq)


async def test_loop_that_waits_may_be_cancelled(mq: fakemq.Cluster) -> None:
    seen = []
    async with consumer(mq) as c:
        with anyio.move_on_after(0.05):
            async for _ in c:
                raise AssertionError
        mq.seed("orders", [b"tea"])
        async for message in c:
            seen.append(message.body)
            await c.shutdown()
    assert seen == [b"tea"]


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_iterator_ends_with_the_block_of_its_task(
    mq: fakemq.Cluster, is_cancelled: bool
) -> None:
    mq.seed("orders", [b"tea"])
    with anyio.CancelScope() as scope:
        async with consumer(mq) as c:
            messages = aiter(c)
            await anext(messages)
            if is_cancelled:
                scope.cancel()
                await anyio.sleep_forever()
    assert await c.wait(timeout_ms=0)
    assert len(mq.delayed(RETRY)) == (0 if is_cancelled else 1)
    assert not [message async for message in messages]


async def test_loop_over_a_consumer_with_functions_is_refused(mq: fakemq.Cluster) -> None:
    async with consumer(mq, on_message=print) as c:
        with pytest.raises(MQClientError, match="on_message"):
            aiter(c)


# -- cancellation -----------------------------------------------------------------------------


async def test_cancelled_block_leaves_messages_of_functions_to_others(mq: fakemq.Cluster) -> None:
    began = anyio.Event()

    async def stuck(_: ReceivedMessage) -> None:
        began.set()
        await anyio.sleep_forever()

    mq.seed("orders", [b"tea"])
    with anyio.move_on_after(30) as scope:
        async with consumer(mq, on_message=stuck) as c:
            await began.wait()
            scope.cancel()
            await anyio.sleep_forever()
    assert c.state.name == "SHUTDOWN_ALREADY"
    assert not mq.delayed(RETRY)
    assert not mq.group("billing").members()
    seen = Seen()
    async with consumer(mq, on_message=seen):
        await eventually_async(lambda: seen.bodies == [b"tea"])


async def test_cancelled_loop_leaves_its_message_to_others(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"tea"])
    with anyio.move_on_after(30) as scope:
        async with consumer(mq) as c:
            async for _ in c:
                scope.cancel()
                await anyio.sleep_forever()
    assert not mq.delayed(RETRY)
    seen = Seen()
    async with consumer(mq, on_message=seen):
        await eventually_async(lambda: seen.bodies == [b"tea"])


async def test_shutdown_waits_for_functions_that_run(mq: fakemq.Cluster) -> None:
    began, may_end = anyio.Event(), anyio.Event()

    async def slow(_: ReceivedMessage) -> None:
        began.set()
        await may_end.wait()

    mq.seed("orders", [b"slow"])
    async with anyio.create_task_group() as tasks, consumer(mq, on_message=slow) as c:
        await began.wait()
        tasks.start_soon(c.shutdown)
        await eventually_async(lambda: c.state.name == "SHUTDOWN_ALREADY")
        assert not await c.wait(timeout_ms=0)
        may_end.set()
    assert consumed(mq)
