"""Clients inside a cluster are the producers and consumers of programs, carried by the cluster."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Literal

import anyio
import pytest

import fakemq
from fakemq.client import (
    AsyncProducer,
    AsyncPushConsumer,
    Message,
    MQClientError,
    Producer,
    PushConsumer,
    ServiceState,
    create_reply_message,
)
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.errors import FakemqError
from tests.support.inside_clients import TOPICS, bodies


def test_clients_inside_are_those_of_programs(mq: fakemq.Cluster) -> None:
    producer = mq.producer(group="shop")
    consumer = mq.consumer(group="billing", subscribe="orders")
    assert isinstance(producer, Producer)
    assert isinstance(consumer, PushConsumer)
    assert (producer.group, producer.client_id) == ("shop", producer.name)
    assert len(producer.queues("orders")) == TOPICS["orders"]
    assert producer.settings.send_timeout_ms == 3_000


def test_state_follows_the_life_in_the_cluster(mq: fakemq.Cluster) -> None:
    closed, killed, reset = (mq.producer() for _ in range(3))
    assert reset.start() is reset
    assert reset.state is ServiceState.RUNNING
    closed.close()
    killed.kill()
    mq.reset()
    assert {one.state for one in (closed, killed, reset)} == {ServiceState.SHUTDOWN_ALREADY}
    with pytest.raises(FakemqError, match=r"producers@inside-3> has ended"):
        reset.send("orders", b"tea")


def test_end_of_a_client_can_be_waited_for(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    assert not consumer.wait(timeout_ms=1)
    ended: list[bool] = []
    threads = [threading.Thread(target=lambda: ended.append(consumer.wait())) for _ in range(2)]
    for thread in threads:
        thread.start()
    consumer.close()
    for thread in threads:
        thread.join(20)
    assert ended == [True, True]
    assert consumer.wait()


def test_function_cannot_wait_for_the_end_of_its_client(mq: fakemq.Cluster) -> None:
    def wait(message: ReceivedMessage) -> None:
        consumer.wait()

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=wait)
    mq.producer().send("orders", b"tea")
    (failure,) = consumer.failures
    assert "cannot wait" in str(failure.error)


def test_reply_can_come_when_time_is_moved(mq: fakemq.Cluster) -> None:
    producer = mq.producer()

    def answer(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "1s"
        producer.send(create_reply_message(message.stored, b"2 EUR"))

    mq.consumer(group="prices", subscribe="orders", on_message=answer)
    reply = producer.request_async("orders", b"tea")
    assert not reply.done()
    mq.clock.advance("1s")
    assert reply.result(0).body == b"2 EUR"


@pytest.mark.parametrize("kind", ["inside", "blocking"])
def test_functions_of_single_topics_are_recorded(kind: Literal["inside", "blocking"]) -> None:
    with fakemq.Cluster(topics=TOPICS) as mq:
        consumer = mq.consumer(
            group="billing",
            subscribe="orders",
            consume_from="first",
            kind=kind,
        )

        @consumer.on("payments")
        def fail(message: ReceivedMessage) -> None:
            raise ValueError(message.body)

        mq.seed("orders", [b"tea"])
        mq.seed("payments", [b"2 EUR"])
        mq.wait_for(lambda: len(consumer.received) == 2 and consumer.failures)
        assert {one.body for one in consumer.received} == {b"tea", b"2 EUR"}
        assert [str(one.error) for one in consumer.failures] == ["b'2 EUR'"]


def test_generator_function_of_a_topic_needs_another_one(mq: fakemq.Cluster) -> None:
    def slow(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "1m"

    plain = mq.consumer(group="billing", subscribe="orders")
    with pytest.raises(MQClientError, match="adds the first generator function to a consumer that"):
        plain.on("payments")(slow)
    consumer = mq.consumer(group="ledger", subscribe="orders", on_message=slow)
    consumer.on("payments")(slow)
    mq.seed("payments", [b"2 EUR"])
    mq.clock.advance("59s")
    assert (bodies(consumer), mq.group("ledger").lag("payments")) == ([b"2 EUR"], 1)
    mq.clock.advance("6s")
    assert mq.group("ledger").lag("payments") == 0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_asynchronous_clients_inside_are_those_of_programs(backend: str) -> None:
    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS, clock="frozen") as mq:
            producer = mq.producer()
            assert isinstance(producer, AsyncProducer)
            assert len(await producer.queues("orders")) == TOPICS["orders"]
            consumer = mq.consumer(group="billing", subscribe="orders")
            assert isinstance(consumer, AsyncPushConsumer)
            assert not await consumer.wait(timeout_ms=1)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(consumer.wait)
                consumer.close()
            await producer.close()
            await producer.shutdown()
            assert (consumer.closed, producer.closed) == (True, True)

    anyio.run(test, backend=backend)


def test_asynchronous_send_can_need_time_that_is_moved() -> None:
    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS, clock="frozen") as mq:
            mq.faults.latency("broker-a", "clients", "100ms")
            sending = mq.producer().send_async("orders", b"tea")
            assert not sending.done()
            await mq.clock.advance("1s")
            assert sending.result(0).queue_offset == 0

    anyio.run(test)


def test_batches_may_be_passed_by_name(mq: fakemq.Cluster) -> None:
    batch = [Message("orders", b"tea"), Message("orders", b"milk")]
    assert mq.producer().send_batch(messages=batch).queue_offset == 0
    assert len(mq.producer(kind="blocking").send_batches(messages=batch)) == 1
    mq.assert_sent("orders", 4)
