"""Wrong arguments of consumers' methods, and messages that were changed into none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fakemq
from fakemq.client import (
    SQL,
    AsyncLitePullConsumer,
    LitePullConsumer,
    Message,
    MessageQueue,
    Producer,
    PullConsumer,
    PushConsumer,
)

Call = Callable[[Any], object]
QUEUE = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)

LITE: list[tuple[Call, str]] = [
    (lambda c: c.poll("5"), "timeout_ms='5': expected a whole number from 0 to 2147483647"),
    (lambda c: c.poll(1.5), "timeout_ms=1.5: expected a whole number"),
    (
        lambda c: c.commit("orders"),
        "commit('orders'): expected nothing, a message, {queue: offs",
    ),
    (lambda c: c.commit(QUEUE), "expected nothing, a message, {queue: offset}, or several queues"),
    (lambda c: c.commit([5]), "queue=5: expected a MessageQueue"),
    (lambda c: c.commit({"orders": 5}), "queue='orders': expected a MessageQueue"),
    (lambda c: c.commit({QUEUE: "5"}), "offset='5': expected a whole number from 0"),
    (lambda c: c.commit({QUEUE: -1}), "offset=-1: expected a whole number from 0"),
    (lambda c: c.committed("orders"), "queue='orders': expected a MessageQueue"),
    (lambda c: c.seek("orders", 0), "queue='orders': expected a MessageQueue"),
    (lambda c: c.seek_to_begin(None), "queue=None: expected a MessageQueue"),
    (lambda c: c.seek(QUEUE, "0"), "offset='0': expected a whole number"),
    (lambda c: c.pause(QUEUE), "expected several MessageQueues, as fetch_message_queues(topic)"),
    (lambda c: c.pause("orders"), "queues='orders': expected several MessageQueues"),
    (lambda c: c.resume(5), "queues=5: expected several MessageQueues"),
    (lambda c: c.assign("orders"), "queues='orders': expected several MessageQueues"),
    (lambda c: c.assign(["orders"]), "queue='orders': expected a MessageQueue"),
    (lambda c: c.assign([MessageQueue()]), "topic of the queue=None: expected text"),
    (lambda c: c.offset_for_timestamp(QUEUE, "now"), "timestamp='now': expected a whole number"),
    (lambda c: c.fetch_message_queues(5), "topic=5: expected text"),
    (lambda c: c.subscribe(5), "topic=5: expected text"),
    (lambda c: c.subscribe("orders", 5), "the messages wanted of orders are 5: expected tags"),
    (lambda c: c.unsubscribe(5), "topic=5: expected text"),
    (lambda c: c.wait("5"), "timeout_ms='5': expected a whole number"),
]
PULL: list[tuple[Call, str]] = [
    (lambda c: c.pull("orders", 0), "queue='orders': expected a MessageQueue"),
    (lambda c: c.pull(QUEUE, "0"), "offset='0': expected a whole number"),
    (lambda c: c.pull(QUEUE, 0, max_messages="5"), "max_messages='5': expected a whole number"),
    (lambda c: c.update_consume_offset(QUEUE, -1), "offset=-1: expected a whole number from 0"),
    (lambda c: c.fetch_consume_offset("orders"), "queue='orders': expected a MessageQueue"),
    (lambda c: c.max_offset(5), "queue=5: expected a MessageQueue"),
    (lambda c: c.send_message_back("tea"), "message='tea': expected one that was pulled"),
    (lambda c: c.register_topic(5), "topic=5: expected text"),
    (lambda c: c.fetch_message_queues_in_balance(5), "topic=5: expected text"),
]
REFUSED = (TypeError, fakemq.ConfigError)


@pytest.mark.parametrize(("call", "text"), LITE)
def test_lite_pull_consumer_refuses(mq: fakemq.Cluster, call: Call, text: str) -> None:
    with LitePullConsumer(mq.namesrv_addr, group="g", subscribe="orders") as consumer:
        consumer.poll(0)
        with pytest.raises(REFUSED) as found:
            call(consumer)
    assert text in str(found.value)
    assert "\n" not in str(found.value)


async def called(call: Call, consumer: AsyncLitePullConsumer) -> None:
    result: Any = call(consumer)
    await result


@pytest.mark.anyio
async def test_async_lite_pull_consumer_refuses_the_same(mq: fakemq.Cluster) -> None:
    async with AsyncLitePullConsumer(mq.namesrv_addr, group="g", subscribe="orders") as consumer:
        for call, text in LITE:
            with pytest.raises(REFUSED) as found:
                await called(call, consumer)
            assert text in str(found.value)


def test_lite_pull_consumer_refuses_before_its_start_too() -> None:
    wrong: Any = 5
    consumer = LitePullConsumer("127.0.0.1:1", group="g")
    with pytest.raises(fakemq.ConfigError, match="topic=5: expected text"):
        consumer.set_sub_expression_for_assign(wrong, "*")
    with pytest.raises(TypeError, match="wanted of orders are 5: expected tags"):
        consumer.subscribe("orders", wrong)


@pytest.mark.parametrize(("call", "text"), PULL)
def test_pull_consumer_refuses(mq: fakemq.Cluster, call: Call, text: str) -> None:
    with (
        PullConsumer(mq.namesrv_addr, group="g", topics="orders") as consumer,
        pytest.raises(REFUSED) as found,
    ):
        call(consumer)
    assert text in str(found.value)


def test_push_consumer_refuses_wrong_subscriptions() -> None:
    wrong: Any = 5
    consumer = PushConsumer("127.0.0.1:1", group="g")
    with pytest.raises(fakemq.ConfigError, match="topic=5: expected text"):
        consumer.subscribe(wrong)
    for expression in (wrong, SQL(wrong)):
        with pytest.raises(TypeError, match="the messages wanted of orders are 5: expected tags"):
            consumer.subscribe("orders", expression)
    with pytest.raises(TypeError, match="the messages wanted of orders are 5"):
        consumer.on("orders", tags=wrong)(print)


@pytest.mark.parametrize("level", [-2, 1.5, "3"])
def test_retry_at_a_wrong_level_is_refused(mq: fakemq.Cluster, level: Any) -> None:
    mq.seed("orders", [b"tea"])
    consumer = mq.consumer(
        group="g", subscribe="orders", on_message=lambda message: message.retry_later(level)
    )
    mq.settle()
    assert f"level={level!r}: expected a whole number from -1" in str(consumer.failures[0].error)


def changed(name: str, value: Any) -> Message:
    message = Message("orders", b"x")
    if name == "property":
        message.properties["colour"] = value
    else:
        setattr(message, name, value)
    return message


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("body", "tea", "the body is 'tea': expected bytes"),
        ("body", None, "the body is None: expected bytes"),
        ("topic", 5, "topic=5: expected text"),
        ("topic", ["orders"], r"topic=\['orders'\]: expected text"),
        ("properties", None, "properties=None: expected a dict of texts"),
        ("property", 5, "properties has 'colour': 5: expected text for both"),
        ("property", "a\x01b", "properties has 'colour': .*without .* which separate properties"),
        ("property", "", "properties has 'colour': '': expected neither to be empty"),
        ("flag", "5", "flag='5': expected a whole number"),
    ],
)
def test_message_that_was_changed_is_checked_when_it_is_sent(
    mq: fakemq.Cluster, name: str, value: object, text: str
) -> None:
    with Producer(mq.namesrv_addr, group="g") as producer, mq.producer(group="i") as inside:
        for send in (producer.send, producer.send_oneway, inside.send):
            with pytest.raises(REFUSED, match=text):
                send(changed(name, value))
        with pytest.raises(REFUSED, match=text):
            producer.send_batch([changed(name, value)])
        with pytest.raises(REFUSED, match=text):
            producer.send(changed(name, value), sharding_key="o-1")
    assert not mq.messages("orders")


def test_delay_level_over_the_last_is_the_last(mq: fakemq.Cluster) -> None:
    # Source: store/CommitLog.java#asyncPutMessage (4.9.7)
    with Producer(mq.namesrv_addr, group="g") as producer:
        for level in (18, 19, 99):
            producer.send("orders", b"x", delay_level=level)
        with pytest.raises(fakemq.ConfigError, match="delay_level=-1: expected a whole number"):
            producer.send("orders", b"x", delay_level=-1)
    assert {one.level for one in mq.delayed("orders")} == {18}
    assert len(mq.delayed("orders")) == 3
