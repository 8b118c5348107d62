"""The recall of timer messages: what a producer says, and what it gets for a wrong handle."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

import fakemq
from fakemq.client import AsyncProducer, MQBrokerError, MQClientError, Producer
from fakemq.protocol.timers import RecallHandle
from fakemq.protocol.v5.codes import ResponseCode5

TIMED = {"TIMER_DELAY_SEC": "60"}


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        topics={"orders": 1, "others": 1, "shop%orders": 1},
        config={"recallMessageEnable": "true"},
    ) as cluster:
        yield cluster


def bodies(mq: fakemq.Cluster, topic: str = "orders") -> list[bytes]:
    return [message.body for message in mq.messages(topic)]


def test_recalled_message_is_not_delivered(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="shop") as producer:
        sent = producer.send("orders", b"recalled", properties=TIMED)
        kept = producer.send("orders", b"kept", properties=TIMED)
        assert sent.recall_handle is not None
        assert RecallHandle.decode(sent.recall_handle).message_id == sent.message_id
        assert producer.recall_message("orders", sent.recall_handle) == sent.message_id
        assert kept.recall_handle != sent.recall_handle
    mq.clock.advance("2m")
    assert bodies(mq) == [b"kept"]


def test_only_a_timer_message_has_a_handle(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="shop") as producer:
        assert producer.send("orders", b"tea").recall_handle is None


def test_asynchronous_producer_recalls_in_its_namespace(mq: fakemq.Cluster) -> None:
    async def recall() -> None:
        async with AsyncProducer(mq.namesrv_addr, group="g", namespace="shop") as producer:
            sent = await producer.send("orders", b"tea", properties=TIMED)
            assert sent.recall_handle is not None
            assert await producer.recall_message("orders", sent.recall_handle) == sent.message_id

    anyio.run(recall)
    mq.clock.advance("2m")
    assert bodies(mq, "shop%orders") == []


def test_wrong_recall_says_what_is_wrong(mq: fakemq.Cluster) -> None:
    with Producer(mq.namesrv_addr, group="shop") as producer:
        sent = producer.send("orders", b"tea", properties=TIMED)
        assert sent.recall_handle is not None
        with pytest.raises(MQClientError, match="recall handle is invalid: 'tea'; see SendResult"):
            producer.recall_message("orders", "tea")
        with pytest.raises(MQClientError, match="topic is not supported"):
            producer.recall_message("%RETRY%shop", sent.recall_handle)
        with pytest.raises(MQBrokerError, match="topic not match") as raised:
            producer.recall_message("others", sent.recall_handle)
        assert raised.value.code == ResponseCode5.ILLEGAL_OPERATION
        lost = RecallHandle.decode(sent.recall_handle)._replace(broker_name="broker-z").encode()
        with pytest.raises(MQClientError, match="address not found: broker-z"):
            producer.recall_message("orders", lost)
        mq.clock.advance("2m")
        with pytest.raises(MQBrokerError, match="timestamp invalid"):
            producer.recall_message("orders", sent.recall_handle)


def test_earlier_broker_knows_no_recall() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq, Producer(mq.namesrv_addr, group="g") as shop:
        assert shop.send("orders", b"tea", properties=TIMED).recall_handle is None
        handle = RecallHandle("orders", "broker-a", "1", "ID").encode()
        with pytest.raises(MQBrokerError, match="request type 370 not supported"):
            shop.recall_message("orders", handle)
