"""The asynchronous lite pull consumer, pull consumer and pull schedule, on asyncio and trio.

Their blocking twins are made from them, and have the tests that need no loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

import fakemq
from fakemq.client import (
    AsyncLitePullConsumer,
    AsyncPullConsumer,
    AsyncPullScheduling,
    MessageQueue,
    PullTaskContext,
)
from fakemq.client.faces.async_pulling import AsyncScheduledPulling
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.anyio

LONG_MS = 30_000
REFUNDS = MessageQueue(topic="refunds", broker_name="broker-a", queue_id=0)
Context = PullTaskContext[AsyncScheduledPulling]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 2, "refunds": 1}, clock="frozen") as mq:
        yield mq


def lite(mq: fakemq.Cluster, **options: Any) -> AsyncLitePullConsumer:
    options = {"subscribe": {"refunds": "*"}, "consume_from": "first"} | options
    return AsyncLitePullConsumer(mq.namesrv_addr, group="reports", **options)


async def test_poll_returns_messages(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one"])
    async with lite(mq, auto_commit=False) as c:
        (message,) = await c.poll(timeout_ms=LONG_MS)
        assert message.body == b"one"
        assert await c.poll(timeout_ms=0) == []
        await c.commit()
        await eventually_async(lambda: mq.group("reports").lag("refunds") == 0)
        assert await c.committed(REFUNDS) == 1


async def test_loop_continues_where_its_queue_was_sought(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"0", b"1", b"2", b"3"])
    bodies = []
    async with lite(mq) as c:
        async for message in c:
            bodies.append(message.body)
            if len(bodies) == 2:
                await c.seek(REFUNDS, 0)
            elif len(bodies) == 4:
                break
    assert bodies == [b"0", b"1", b"0", b"1"]
    assert mq.group("reports").lag("refunds") == 3


async def test_poll_that_is_cancelled_when_messages_come_loses_none(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = AsyncLitePullConsumer._run

    async def cancelled(self: AsyncLitePullConsumer, task: Any) -> Any:
        assert await run(self, task)
        raise InterruptedError

    mq.seed("refunds", [b"one"])
    async with lite(mq) as c:
        monkeypatch.setattr(AsyncLitePullConsumer, "_run", cancelled)
        with pytest.raises(InterruptedError):
            await c.poll(timeout_ms=LONG_MS)
        monkeypatch.undo()
        assert [one.body for one in await c.poll(timeout_ms=LONG_MS)] == [b"one"]


async def test_shutdown_ends_polls_and_loops(mq: fakemq.Cluster) -> None:
    ended: list[object] = []

    async def loop() -> None:
        ended.append([message async for message in c])

    async def poll() -> None:
        ended.append(await c.poll(timeout_ms=LONG_MS))

    async with lite(mq) as c, anyio.create_task_group() as tasks:
        tasks.start_soon(loop)
        tasks.start_soon(poll)
        await eventually_async(lambda: mq.journal.find("PullHeld", topic="refunds"))
        await c.shutdown()
    assert ended == [[], []]


async def test_queues_may_be_assigned_and_sought(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"%d" % number for number in range(5)])
    async with lite(mq, subscribe=None) as c:
        (queue,) = await c.fetch_message_queues("refunds")
        c.assign([queue])
        assert c.assignment() == [REFUNDS]
        await c.seek(queue, 4)
        assert [one.body for one in await c.poll(timeout_ms=LONG_MS)] == [b"4"]
        await c.seek_to_begin(queue)
        c.pause([queue])
        c.resume([queue])
        assert (await c.poll(timeout_ms=LONG_MS))[0].body == b"0"
        await c.seek_to_end(queue)
        assert await c.offset_for_timestamp(queue, 0) == 0
        await c.register_topic_message_queue_change_listener("refunds", print)


async def test_topic_is_subscribed_before_and_after_the_start(mq: fakemq.Cluster) -> None:
    c = lite(mq, subscribe=None)
    await c.subscribe("refunds")
    mq.seed("orders", [b"order"])
    async with c:
        await c.subscribe("orders")
        assert [one.body for one in await c.poll(timeout_ms=LONG_MS)] == [b"order"]
        c.unsubscribe("orders")


async def test_queues_are_pulled_and_committed_by_hand(mq: fakemq.Cluster) -> None:
    mq.seed("refunds", [b"one", b"two"])
    async with AsyncPullConsumer(mq.namesrv_addr, group="mirror", topics=["refunds"]) as c:
        (queue,) = c.fetch_message_queues_in_balance("refunds")
        assert await c.fetch_subscribe_message_queues("refunds") == [queue]
        assert not await c.fetch_consume_offset(queue)  # a broker answers 0 for a young queue
        pulled = await c.pull(queue, 0, max_messages=1)
        pulled = await c.pull_block_if_not_found(queue, pulled.next_begin_offset)
        assert [one.body for one in pulled.messages] == [b"two"]
        assert (await c.min_offset(queue), await c.max_offset(queue)) == (0, 2)
        assert await c.search_offset(queue, 0) == 0
        assert await c.send_message_back(pulled.messages[0], 3)
        c.update_consume_offset(queue, 1)
        c.register_topic("orders")
    assert mq.group("mirror").lag("refunds") == 1


async def test_function_is_called_for_each_queue(mq: fakemq.Cluster) -> None:
    bodies: list[bytes] = []
    scheduling = AsyncPullScheduling(mq.namesrv_addr, group="mirror")

    @scheduling.on("orders")
    async def copy(queue: MessageQueue, context: Context) -> None:
        consumer = context.pull_consumer
        pulled = await consumer.pull(queue, await consumer.fetch_consume_offset(queue) or 0)
        bodies.extend(message.body for message in pulled.messages)
        consumer.update_consume_offset(queue, pulled.next_begin_offset)

    mq.seed("orders", [b"one", b"two", b"three"])
    async with scheduling:
        await eventually_async(lambda: len(bodies) == 3)
    assert mq.group("mirror").lag("orders") == 0


async def test_shutdown_within_a_function_ends_behind_it(mq: fakemq.Cluster) -> None:
    async def last(queue: MessageQueue, context: Context) -> None:
        await scheduling.shutdown()

    callbacks = {"refunds": last}
    scheduling = AsyncPullScheduling(mq.namesrv_addr, group="mirror", callbacks=callbacks)
    await scheduling.start()
    assert await scheduling.wait(timeout_ms=LONG_MS)


async def test_cancelled_block_cancels_its_functions(mq: fakemq.Cluster) -> None:
    began = anyio.Event()

    async def stuck(queue: MessageQueue, context: Context) -> None:
        began.set()
        await anyio.sleep_forever()

    callbacks = {"refunds": stuck}
    with anyio.move_on_after(30) as scope:
        async with AsyncPullScheduling(mq.namesrv_addr, group="mirror", callbacks=callbacks) as s:
            await began.wait()
            scope.cancel()
            await anyio.sleep_forever()
    assert s.state.name == "SHUTDOWN_ALREADY"
    assert not mq.group("mirror").members()


async def test_plain_function_is_refused() -> None:
    anything: Any = print
    with pytest.raises(TypeError, match="PullScheduling takes plain ones"):
        AsyncPullScheduling("127.0.0.1:1", group="mirror", callbacks={"orders": anything})
