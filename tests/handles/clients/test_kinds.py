"""Clients of every kind: inside the cluster, and with sockets."""

from __future__ import annotations

import anyio
import pytest

import fakemq
from fakemq.client import ReceivedMessage, SendStatus
from fakemq.client.errors import MQClientError
from fakemq.errors import ConfigError
from fakemq.handles.clients.consumers import InsideConsumer
from tests.support.inside_clients import TOPICS


@pytest.mark.parametrize("kind", ["inside", "blocking"])
def test_same_test_runs_with_every_kind(kind: str) -> None:
    def fail_once(message: ReceivedMessage) -> None:
        if message.reconsume_times == 0:
            raise ValueError("not yet")

    with fakemq.Cluster(topics=TOPICS) as mq:
        consumer = mq.consumer(
            group="billing",
            subscribe="orders",
            on_message=fail_once,
            consume_from="first",
            kind=kind,  # type: ignore[call-overload]
        )
        producer = mq.producer(kind=kind)  # type: ignore[call-overload]
        assert producer.send("orders", b"tea", tags="paid").status is SendStatus.SEND_OK
        mq.wait_for(lambda: len(mq.delayed()) == 1)
        mq.clock.advance("10s")
        mq.wait_for(lambda: len(consumer.received) == 2)
        assert [str(one.error) for one in consumer.failures] == ["not yet"]
        assert isinstance(consumer, InsideConsumer) is (kind == "inside")
        ended = consumer, producer
    for client in ended:
        client.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("kind", ["inside", "async"])
def test_same_asynchronous_test_runs_with_every_kind(kind: str, backend: str) -> None:
    async def fail_once(message: ReceivedMessage) -> None:
        if message.reconsume_times == 0:
            raise ValueError("not yet")

    async def test() -> None:
        async with fakemq.AsyncCluster(topics=TOPICS) as mq:
            consumer = mq.consumer(
                group="billing",
                subscribe="orders",
                on_message=fail_once,
                consume_from="first",
                kind=kind,  # type: ignore[call-overload]
            )
            async with consumer, mq.producer(kind=kind) as producer:  # type: ignore[call-overload]
                sent = await producer.send("orders", b"tea", tags="paid")
                assert sent.status is SendStatus.SEND_OK
                await mq.wait_for(lambda: len(mq.delayed()) == 1)
                await mq.clock.advance("10s")
                await mq.wait_for(lambda: len(consumer.received) == 2)
                assert [str(one.error) for one in consumer.failures] == ["not yet"]

    anyio.run(test, backend=backend)


def test_client_with_sockets_ends_with_the_cluster() -> None:
    with fakemq.Cluster(topics=TOPICS) as mq:
        producer = mq.producer(kind="blocking")
        producer.send("orders", b"tea")
    with pytest.raises(MQClientError, match="SHUTDOWN_ALREADY"):
        producer.send("orders", b"tea")


def test_unknown_kind_is_refused() -> None:
    with (
        fakemq.Cluster(topics=TOPICS) as mq,
        pytest.raises(ConfigError, match="kind='remote': expected inside or blocking"),
    ):
        mq.producer(kind="remote")  # type: ignore[call-overload]
