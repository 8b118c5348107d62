"""The functions that consumers inside a cluster call."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from enum import Enum
from typing import Literal

import anyio
import pytest

import fakemq
from fakemq.client import (
    SendStatus,
)
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.errors import FakemqError
from fakemq.handles.clients.consumers import InsideConsumer
from tests.support.inside_clients import TOPICS, bodies


def test_function_may_use_producers_and_the_cluster(mq: fakemq.Cluster) -> None:
    producer = mq.producer()

    def pay(message: ReceivedMessage) -> None:
        sent = producer.send("payments", b"for " + message.body)
        assert sent.status is SendStatus.SEND_OK
        assert sent.message_id in {one.msg_id for one in mq.messages("payments")}

    orders = mq.consumer(group="billing", subscribe="orders", on_message=pay)
    payments = mq.consumer(group="ledger", subscribe="payments")
    producer.send("orders", b"tea")
    producer.send("orders", b"milk")
    assert orders.failures == []
    assert bodies(payments) == [b"for tea", b"for milk"]


@pytest.mark.parametrize("call", ["advance", "settle", "reset", "stop"])
def test_function_cannot_wait_for_the_cluster(mq: fakemq.Cluster, call: str) -> None:
    calls = {
        "advance": lambda: mq.clock.advance("1s"),
        "settle": mq.settle,
        "reset": mq.reset,
        "stop": mq.stop,
    }
    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=lambda message: calls[call]()
    )
    mq.producer().send("orders", b"tea")
    (failure,) = consumer.failures
    assert isinstance(failure.error, FakemqError)
    assert mq.running


def test_function_may_close_its_own_consumer(mq: fakemq.Cluster) -> None:
    consumer: list[InsideConsumer] = []
    one = mq.consumer(
        group="billing", subscribe="orders", on_message=lambda message: consumer[0].close()
    )
    consumer.append(one)
    mq.producer().send("orders", b"tea")
    assert one.closed
    assert bodies(one) == [b"tea"]


def test_coroutine_function_may_await_a_producer_of_the_cluster() -> None:
    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS, clock="frozen") as mq:
            producer = mq.producer()

            async def pay(message: ReceivedMessage) -> None:
                await producer.send("payments", message.body)

            orders = mq.consumer(group="billing", subscribe="orders", on_message=pay)
            async with mq.consumer(group="ledger", subscribe="payments") as payments:
                await producer.send("orders", b"tea")
                await mq.settle()
                assert orders.failures == []
                assert bodies(payments) == [b"tea"]

    anyio.run(test)
    anyio.run(test, backend="trio")


def test_coroutine_function_that_awaits_a_loop_fails(mq: fakemq.Cluster) -> None:
    async def sleep(message: ReceivedMessage) -> None:
        await anyio.sleep(1)

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=sleep)
    mq.producer().send("orders", b"tea")
    (failure,) = consumer.failures
    assert "sleep" in str(failure.error) or "loop" in str(failure.error)


def test_generator_function_takes_time_of_the_cluster(mq: fakemq.Cluster) -> None:
    ended: list[bytes] = []

    def slow(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "14m"
        ended.append(message.body)

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=slow)
    mq.producer().send("orders", b"tea")
    mq.clock.advance("13m")
    assert ended == []
    assert mq.group("billing").lag("orders") == 1
    mq.clock.advance("70s")
    assert ended == [b"tea"]
    assert mq.group("billing").lag("orders") == 0
    assert consumer.failures == []


def test_message_that_is_consumed_for_too_long_is_sent_back(mq: fakemq.Cluster) -> None:
    def slow(message: ReceivedMessage) -> Generator[str, None, None]:
        if message.reconsume_times == 0:
            yield "1h"

    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=slow, consume_timeout_ms=60_000
    )
    mq.producer().send("orders", b"tea")
    mq.clock.advance("3m")
    assert [message.reconsume_times for message in consumer.received] == [0, 1]


def test_failed_generator_function_sends_back(mq: fakemq.Cluster) -> None:
    def fail(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "1s"
        raise ValueError("no")

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=fail)
    mq.producer().send("orders", b"tea")
    mq.clock.advance("1s")
    assert len(consumer.failures) == 1
    mq.clock.advance("10s")
    assert len(consumer.received) == 2


def test_pause_that_is_none_is_an_error_of_the_generator(mq: fakemq.Cluster) -> None:
    def yields_wrongly(message: ReceivedMessage) -> Generator[object, None, None]:
        yield "a while"

    def corrects_itself(message: ReceivedMessage) -> Generator[object, None, None]:
        try:
            yield "a while"
        except FakemqError:
            yield "1s"

    wrong = mq.consumer(group="billing", subscribe="orders", on_message=yields_wrongly)
    right = mq.consumer(group="ledger", subscribe="orders", on_message=corrects_itself)
    mq.producer().send("orders", b"tea")
    (failure,) = wrong.failures
    assert "the pause that was yielded" in str(failure.error)
    frames = traceback.extract_tb(failure.error.__traceback__)
    assert "yields_wrongly" in [frame.name for frame in frames]
    mq.clock.advance("10s")
    assert (right.failures, mq.group("ledger").lag("orders")) == ([], 0)


@pytest.mark.parametrize("kind", ["inside", "blocking"])
def test_generator_that_would_not_run_is_a_failure(kind: Literal["inside", "blocking"]) -> None:
    def wait(message: ReceivedMessage) -> Generator[str, None, None]:
        yield "1s"

    with fakemq.Cluster(topics=TOPICS) as mq:
        consumer = mq.consumer(
            group="billing",
            subscribe="orders",
            on_message=lambda message: wait(message),
            consume_from="first",
            kind=kind,
        )
        mq.producer().send("orders", b"tea")
        mq.wait_for(lambda: len(consumer.failures) == 1)
        assert isinstance(consumer.failures[0].error, TypeError)


class StatusOfOthers(Enum):
    CONSUME_SUCCESS = 0
    ROLLBACK = 1


@pytest.mark.parametrize("status", ["RECONSUME_LATER", "FAILURE", StatusOfOthers.ROLLBACK])
def test_status_of_another_client_is_a_failure(mq: fakemq.Cluster, status: object) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders", on_message=lambda _: status)
    mq.seed("orders", ["tea"])
    (failure,) = consumer.failures
    text = str(failure.error)
    assert text.startswith(f"the function returned {status!r}, which has no meaning here: ")
    assert text.endswith("raise an error, or call message.retry_later()")
    assert mq.delayed("%RETRY%billing")


@pytest.mark.parametrize(
    "value", ["CONSUME_SUCCESS", StatusOfOthers.CONSUME_SUCCESS, "tea", b"FAILURE", 1, False]
)
def test_other_value_of_a_function_is_ignored(mq: fakemq.Cluster, value: object) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders", on_message=lambda _: value)
    mq.seed("orders", ["tea"])
    mq.clock.advance("10s")
    assert (consumer.failures, mq.group("billing").lag("orders")) == ([], 0)
    assert not mq.delayed("%RETRY%billing")


def test_coroutine_that_would_not_run_is_a_failure() -> None:
    async def pay(message: ReceivedMessage) -> None: ...

    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS) as mq:
            async with mq.consumer(
                group="billing",
                subscribe="orders",
                on_message=lambda message: pay(message),
                consume_from="first",
                kind="async",
            ) as consumer:
                await mq.producer().send("orders", b"tea")
                with anyio.fail_after(20):
                    while not consumer.failures:
                        await anyio.sleep(0)
            (failure,) = consumer.failures
            assert "only an async consumer awaits it" in str(failure.error)

    anyio.run(test)


def ping_pong(mq: fakemq.Cluster | fakemq.AsyncCluster) -> list[bytes]:
    """Let two consumers answer each other for ever; return the bodies that one of them gets."""
    got: list[bytes] = []
    producer = fakemq.Cluster.producer(mq)  # type: ignore[arg-type]  # its sends are not awaited

    def answer(topic: str) -> Callable[[ReceivedMessage], None]:
        def send(message: ReceivedMessage) -> None:
            got.append(message.body)
            producer.send(topic, message.body)

        return send

    mq.consumer(group="billing", subscribe="orders", on_message=answer("payments"))
    mq.consumer(group="ledger", subscribe="payments", on_message=answer("orders"))
    producer.send("orders", b"tea")
    return got


def test_functions_that_never_end_let_the_cluster_be_stopped() -> None:
    with fakemq.Cluster(topics=TOPICS, clock="frozen") as mq:
        got = ping_pong(mq)
        while len(got) < 100:
            assert mq.running
    assert not mq.running


@pytest.mark.parametrize("clock", ["frozen", "real"])
def test_settle_that_never_ends_can_be_cancelled(clock: Literal["frozen", "real"]) -> None:
    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS, clock=clock) as mq:
            got = ping_pong(mq)
            with anyio.move_on_after(0.05):
                await mq.settle()
            with anyio.move_on_after(0.05):
                await mq.clock.advance("1h")
            assert len(got) > 10
            mq.reset()
            assert mq.inspect(lambda core: len(core.guests)) == 0

    anyio.run(test)
