"""The types that a user's checker sees. mypy reads this file with all others; nothing runs it.

`user_type_errors` has what a user's checker must refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Unpack, assert_type

import fakemq
from fakemq.client import (
    SQL,
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPullScheduling,
    AsyncPushConsumer,
    AsyncScheduledPulling,
    Check,
    Client,
    ConsumeResult,
    LitePullConsumer,
    LocalTransactionState,
    Message,
    MessageExt,
    MessageQueue,
    MQBrokerError,
    Producer,
    PullConsumer,
    Pulled,
    PullScheduling,
    PullTaskContext,
    PushConsumer,
    ReceivedMessage,
    ScheduledPulling,
    SendOptions,
    SendResult,
    SendStatus,
    TransactionSendResult,
    create_reply_message,
)
from fakemq.client.consuming.allocation import by_config, machine_room_nearby
from fakemq.core.views import Deadline, Delivery, Member, Queue
from fakemq.events import LogAppended
from fakemq.fixtures import factories
from fakemq.fixtures.external import ExternalCluster, ExternalGroup
from fakemq.handles.brokers import AsyncBrokerHandle, BrokerHandle
from fakemq.handles.clients.consumers import InsideConsumer
from fakemq.handles.clients.producers import InsideProducer
from fakemq.handles.clients.sockets import RecordingConsumer
from fakemq.handles.clock import AsyncClockHandle, ClockHandle, ClockHold
from fakemq.handles.faults import Fault, Faults
from fakemq.handles.journal import JournalView
from fakemq.handles.topics import GroupHandle
from fakemq.handles.values import Message as StoredMessage
from fakemq.journal.entries import Entry

proc = factories.rocketmq_proc(masters=2, topics={"orders": 4})
own = factories.rocketmq("proc")
own_async = factories.rocketmq_async("own")
there = factories.rocketmq_noproc("127.0.0.1:9876")


def use_sync(rocketmq: fakemq.Cluster) -> None:
    assert_type(rocketmq.namesrv_addr, str)
    assert_type(rocketmq.seed_value, int)
    assert_type(rocketmq.seed("orders", [b"a", "b"], tags="t", keys="k"), list[StoredMessage])
    message = rocketmq.messages("orders")[0]
    assert_type(message.body, bytes)
    assert_type(message.properties, dict[str, str])
    assert_type(message.deliveries, tuple[Delivery, ...])
    assert_type(message.store_timestamp_ms, int)
    assert_type(message.commit_log_offset, int)
    assert_type(rocketmq.queues("orders"), list[Queue])
    assert_type(rocketmq.topics(), list[str])
    assert_type(rocketmq.group("billing"), GroupHandle)
    assert_type(rocketmq.group("billing").lag("orders"), int)
    assert_type(rocketmq.group("billing").offsets("orders"), dict[tuple[str, int], int])
    assert_type(rocketmq.group("billing").members(), list[Member])
    assert_type(rocketmq.clock, ClockHandle)
    assert_type(rocketmq.clock.now(), datetime)
    assert_type(rocketmq.clock.now_ms(), int)
    assert_type(rocketmq.clock.advance("2h"), list[Deadline])
    assert_type(rocketmq.clock.advance_to("2024-02-29T12:00:00Z"), list[Deadline])
    assert_type(rocketmq.clock.advance_to_next("broker_expiry"), list[Deadline])
    assert_type(rocketmq.clock.timers(), list[Deadline])
    assert_type(rocketmq.clock.hold("why"), ClockHold)
    assert_type(rocketmq.broker("broker-a"), BrokerHandle)
    assert_type(rocketmq.brokers, list[BrokerHandle])
    assert_type(rocketmq.broker("broker-a").addr, str)
    rocketmq.broker("broker-a").stop()
    assert_type(rocketmq.faults, Faults)
    assert_type(rocketmq.faults.silence("broker-a"), Fault)
    assert_type(rocketmq.faults.believe_reports("broker-a"), Fault)
    assert_type(rocketmq.journal, JournalView)
    assert_type(rocketmq.journal.find(LogAppended, topic="orders"), list[LogAppended])
    assert_type(rocketmq.journal.tail(), list[Entry])
    assert_type(rocketmq.wait_for(lambda: 3, timeout="5s"), int)
    assert_type(rocketmq.wait_for(lambda: rocketmq.messages("orders")), list[StoredMessage])
    assert_type(rocketmq.run_until(lambda: "x", at_most="1h"), str)
    assert_type(rocketmq.name("orders"), str)
    with fakemq.Cluster(masters=2, clock="frozen", config={"enableScheduleMessage": True}) as mq:
        assert_type(mq, fakemq.Cluster)


async def use_async(rocketmq_async: fakemq.AsyncCluster) -> None:
    assert_type(rocketmq_async.clock, AsyncClockHandle)
    assert_type(await rocketmq_async.clock.advance("2h"), list[Deadline])
    assert_type(rocketmq_async.messages("orders"), list[StoredMessage])
    assert_type(await rocketmq_async.wait_for(lambda: 3), int)
    assert_type(await rocketmq_async.run_until(lambda: 3, at_most=5), int)
    assert_type(rocketmq_async.broker("broker-a"), AsyncBrokerHandle)
    await rocketmq_async.broker("broker-a").restart()
    async with fakemq.AsyncCluster(masters=2) as mq:
        assert_type(mq, fakemq.AsyncCluster)


def use_external(rocketmq_noproc: ExternalCluster) -> None:
    assert_type(rocketmq_noproc.name("orders"), str)
    assert_type(rocketmq_noproc.seed("orders", ["a"]), list[StoredMessage])
    assert_type(rocketmq_noproc.group("billing"), ExternalGroup)
    assert_type(rocketmq_noproc.wait_for(lambda: 3), int)


def use_codes() -> None:
    code: fakemq.RequestCode = fakemq.RequestCode.SEND_MESSAGE_V2
    assert_type(int(code), int)
    try:
        pass
    except fakemq.WaitTimeout as error:
        raise fakemq.FakemqError(str(error)) from error


# -- the client ---------------------------------------------------------------


def charge(message: ReceivedMessage) -> None:
    assert_type(message.body, bytes)
    assert_type(message.properties, dict[str, str])
    assert_type(message.reconsume_times, int)
    assert_type(message.store_timestamp_ms, int)
    assert_type(message.commit_log_offset, int)
    message.retry_later(3)


def choose(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
    return queues[len(message.body) % len(queues)]


def pay(message: Message) -> LocalTransactionState | None:
    return LocalTransactionState.COMMIT_MESSAGE if message.keys else None


def paid(message: MessageExt) -> LocalTransactionState:
    return LocalTransactionState.ROLLBACK_MESSAGE


def shop_send(producer: Producer, body: bytes, **options: Unpack[SendOptions]) -> SendResult:
    return producer.send("orders", body, **options)


def use_producer() -> None:
    check: Check = paid
    with Producer("127.0.0.1:9876", group="shop", check=check, retry_response_codes={1}) as p:
        assert_type(p, Producer)
        sent = p.send("orders", b"tea", tags="paid", keys=["o-1"], delay_level=3, timeout_ms=500)
        assert_type(sent, SendResult)
        assert_type(sent.status, SendStatus)
        assert_type(sent.queue_offset, int)
        assert_type(p.send(Message("orders", "tea"), selector=choose), SendResult)
        assert_type(p.send_async("orders", b"tea"), Future[SendResult])
        p.send_oneway("orders", b"tea", selector="random")
        assert_type(p.send_batches([Message("orders", b"x")]), list[SendResult])
        assert_type(p.send_in_transaction(Message("orders", b"x"), pay), TransactionSendResult)
        assert_type(p.request("prices", b"tea", timeout_ms=1_000), MessageExt)
        assert_type(p.queues("orders"), Sequence[MessageQueue])
        assert_type(sent.recall_handle, str | None)
        assert_type(p.recall_message("orders", sent.recall_handle or ""), str)
        assert_type(shop_send(p, b"tea", sharding_key="o-1"), SendResult)
    try:
        p.shutdown()
    except MQBrokerError as error:
        assert_type(error.code, int)


def use_consumers(producer: Producer) -> None:
    queue = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)
    consumer = PushConsumer(
        group="billing",
        subscribe={"orders": "paid || sent", "refunds": SQL("amount > 100")},
        on_message=charge,
        consume_from="timestamp",
        consume_timestamp=datetime(2024, 2, 29),
        allocate=by_config([queue]),
    )

    @consumer.on("prices", tags="tea")
    def answer(message: ReceivedMessage) -> ConsumeResult | None:
        producer.send(create_reply_message(message, b"5.20"))
        return None

    print(answer)
    for one in consumer:
        assert_type(one, ReceivedMessage)
    assert_type(consumer.wait(1_000), bool)
    with LitePullConsumer(group="reports", subscribe=["orders"], allocate="AVG_BY_CIRCLE") as lite:
        messages = lite.poll(timeout_ms=100)
        assert_type(messages, list[ReceivedMessage])
        lite.commit(messages[0])
        lite.commit({queue: 3})
        lite.commit([queue], persist=False)
        assert_type(lite.committed(queue), int | None)
        lite.assign(lite.fetch_message_queues("orders"))
    with PullConsumer(group="mirror", topics="orders") as pulling:
        assert_type(pulling.pull(queue, 0), Pulled)


def use_schedules() -> None:
    scheduling = PullScheduling(group="mirror")

    @scheduling.on("orders")
    def copy(queue: MessageQueue, context: PullTaskContext[ScheduledPulling]) -> None:
        assert_type(context.pull_consumer.pull(queue, 0).messages, list[ReceivedMessage])
        context.pull_next_delay_ms = 50

    print(copy)
    later = AsyncPullScheduling(group="mirror")

    @later.on("orders")
    async def copy_later(
        queue: MessageQueue, context: PullTaskContext[AsyncScheduledPulling]
    ) -> None:
        assert_type(await context.pull_consumer.pull(queue, 0), Pulled)

    print(copy_later, machine_room_nearby)


async def use_async_client() -> None:
    async def charge_later(message: ReceivedMessage) -> None: ...
    async def pay_later(message: Message) -> LocalTransactionState:
        return LocalTransactionState.UNKNOW

    async with AsyncProducer("127.0.0.1:9876", group="shop") as producer:
        assert_type(await producer.send("orders", b"tea", tags="paid"), SendResult)
        half = Message("orders", b"tea")
        assert_type(await producer.send_in_transaction(half, pay_later), TransactionSendResult)
        assert_type(await producer.send_in_transaction(half, pay), TransactionSendResult)
    async with AsyncPushConsumer(group="a", subscribe="orders", on_message=charge_later) as push:
        assert_type(await push.wait(), bool)
    async with AsyncPushConsumer(group="b", subscribe="orders") as loop:
        async for message in loop:
            assert_type(message, ReceivedMessage)
    async with AsyncLitePullConsumer(group="c", subscribe="orders") as lite:
        assert_type(await lite.poll(100), list[ReceivedMessage])


def use_inside(mq: fakemq.Cluster) -> None:
    assert_type(mq.producer(), InsideProducer)
    wherever_it_runs: list[Producer] = [mq.producer(), mq.producer(kind="blocking")]
    assert_type([one.send("orders", b"tea") for one in wherever_it_runs], list[SendResult])
    assert_type(mq.producer(kind="blocking"), Producer)
    consumer = mq.consumer(group="billing", subscribe="orders", on_message=charge)
    assert_type(consumer, InsideConsumer)
    assert_type(consumer.received, list[ReceivedMessage])
    there = mq.consumer(group="billing", subscribe="orders", kind="blocking")
    assert_type(there, RecordingConsumer)
    with Client(mq.namesrv_addr, producer_group="shop") as client:
        assert_type(client.send(Message("orders", b"x")), SendResult)
