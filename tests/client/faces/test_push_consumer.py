"""The blocking push consumer: functions, loops, what acknowledges and what sends back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import fakemq
from fakemq.client import (
    SQL,
    ConsumeResult,
    ConsumeStatus,
    MQClientError,
    Producer,
    PushConsumer,
    ReceivedMessage,
    Selector,
)
from tests.support.consuming_faces import LONG_S, RETRY, Seen, consumed, consumer
from tests.support.eventually import eventually


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    config = {"enablePropertyFilter": True}
    with fakemq.Cluster(topics={"orders": 2, "refunds": 1}, clock="frozen", config=config) as mq:
        yield mq


# -- functions --------------------------------------------------------------------------------


def test_function_gets_a_message_with_all_its_parts(mq: fakemq.Cluster) -> None:
    seen = Seen()
    with consumer(mq, on_message=seen), Producer(mq.namesrv_addr, group="g") as p:
        r = p.send("orders", b"body", tags="a", keys="k", properties={"amount": "5"})
        eventually(lambda: seen.messages)
    (message,) = seen.messages
    assert (message.body, message.topic, message.tags, message.keys) == (
        *(b"body", "orders", "a", "k"),
    )
    assert message.properties["amount"] == "5"
    assert (message.broker_name, message.queue_id, message.queue_offset) == (
        *(r.broker_name, r.queue_id, r.queue_offset),
    )
    assert (message.message_id, message.reconsume_times) == (r.message_id, 0)


def test_return_acknowledges_before_the_group_is_left(mq: fakemq.Cluster) -> None:
    seen = Seen()
    mq.seed("orders", [b"one", b"two", b"three"])
    with consumer(mq, on_message=seen):
        eventually(lambda: len(seen.messages) == 3)
    assert consumed(mq)
    assert not mq.group("billing").members()


def test_raise_sends_back_until_the_message_is_dead(mq: fakemq.Cluster) -> None:
    tries: list[int] = []

    def fail(message: ReceivedMessage) -> None:
        tries.append(message.reconsume_times)
        raise RuntimeError("cannot charge")

    mq.seed("orders", [b"tea"])
    with consumer(mq, on_message=fail, max_reconsume_times=2):
        eventually(lambda: tries)
        mq.run_until(lambda: mq.messages("%DLQ%billing"), at_most="2m")
    assert tries == [0, 1, 2]
    assert mq.messages("%DLQ%billing")[0].body == b"tea"


def test_retry_later_sends_back_with_its_level(mq: fakemq.Cluster) -> None:
    seen = Seen()

    def later(message: ReceivedMessage) -> None:
        if not message.reconsume_times:
            message.retry_later(5)
        else:
            seen(message)

    mq.seed("orders", [b"tea"])
    with consumer(mq, on_message=later):
        eventually(lambda: mq.delayed(RETRY))
        (delayed,) = mq.delayed(RETRY)
        assert delayed.level == 5
        mq.clock.advance_to_next("delay_level")
        eventually(lambda: seen.messages)
    assert (seen.messages[0].topic, seen.messages[0].reconsume_times) == ("orders", 1)


def test_result_of_java_is_understood(mq: fakemq.Cluster) -> None:
    def dead(message: ReceivedMessage) -> ConsumeResult | ConsumeStatus:
        if message.body == b"dead":
            return ConsumeResult(ConsumeStatus.RECONSUME_LATER, delay_level=-1)
        return ConsumeStatus.SUCCESS

    mq.seed("orders", [b"dead", b"well"])
    with consumer(mq, on_message=dead):
        eventually(lambda: mq.messages("%DLQ%billing"))
    assert [one.body for one in mq.messages("%DLQ%billing")] == [b"dead"]


def test_status_of_another_client_sends_back(mq: fakemq.Cluster) -> None:
    tries: list[int] = []

    def later(messages: Sequence[ReceivedMessage]) -> str:
        tries.extend(message.reconsume_times for message in messages)
        return "CONSUME_SUCCESS" if len(tries) > 1 else "RECONSUME_LATER"

    mq.seed("orders", [b"tea"])
    with consumer(mq, on_messages=later):
        eventually(lambda: mq.delayed(RETRY))
        mq.clock.advance_to_next("delay_level")
        eventually(lambda: len(tries) == 2)
    assert tries == [0, 1]


def test_each_topic_may_have_its_function(mq: fakemq.Cluster) -> None:
    orders, refunds = Seen(), Seen()
    c = PushConsumer(mq.namesrv_addr, group="billing", consume_from="first")

    @c.on("orders", tags="paid || sent")
    def of_orders(message: ReceivedMessage) -> None:
        orders(message)

    assert c.on("refunds", sql="amount > 100")(refunds) is refunds
    with Producer(mq.namesrv_addr, group="g") as p:
        p.send("orders", b"paid", tags="paid")
        p.send("orders", b"open", tags="open")
        p.send("orders", b"sent", tags="sent")
        p.send("refunds", b"small", properties={"amount": "5"})
        p.send("refunds", b"large", properties={"amount": "500"})
    with c:
        eventually(lambda: len(orders.messages) == 2 and refunds.messages)
    assert (orders.bodies, refunds.bodies) == ([b"paid", b"sent"], [b"large"])


def test_topic_is_added_and_removed_while_it_runs(mq: fakemq.Cluster) -> None:
    seen = Seen()
    mq.seed("refunds", [b"refund"])
    with consumer(mq, on_message=seen) as c:
        c.subscribe("refunds", SQL("amount IS NULL"))
        eventually(lambda: seen.bodies == [b"refund"])
        c.unsubscribe("refunds")
        eventually(lambda: consumed(mq, "refunds"))  # its queue is given up, and committed


def test_functions_run_at_the_same_time(mq: fakemq.Cluster) -> None:
    together = threading.Barrier(4)
    mq.seed("orders", [b"one", b"two", b"three"])
    with consumer(mq, on_message=lambda _: together.wait(LONG_S), consume_threads=3):
        together.wait(LONG_S)
    assert consumed(mq)


def test_ordered_queue_is_consumed_one_by_one(mq: fakemq.Cluster) -> None:
    bodies: list[bytes] = []
    mq.seed("refunds", [b"%d" % number for number in range(20)])
    with consumer(
        mq,
        subscribe="refunds",
        ordered=True,
        on_message=lambda message: bodies.append(message.body),
    ):
        eventually(lambda: len(bodies) == 20)
    assert bodies == [b"%d" % number for number in range(20)]


def test_dead_letter_of_an_ordered_queue_makes_way(mq: fakemq.Cluster) -> None:
    seen = []

    def work(message: ReceivedMessage) -> None:
        seen.append(message.body)
        if message.body == b"broken":
            message.retry_later(-1)

    mq.seed("refunds", [b"broken", b"whole"])
    with consumer(mq, subscribe="refunds", on_message=work, ordered=True):
        eventually(lambda: seen == [b"broken", b"whole"])
    assert [one.body for one in mq.messages("%DLQ%billing")] == [b"broken"]
    assert consumed(mq, "refunds")


def test_batches_are_acknowledged_message_by_message(mq: fakemq.Cluster) -> None:
    sizes: list[int] = []

    def charge(messages: Sequence[ReceivedMessage]) -> None:
        sizes.append(len(messages))
        for message in messages:
            if message.body == b"3":
                message.retry_later(-1)

    mq.seed("refunds", [b"%d" % number for number in range(8)])
    with consumer(mq, subscribe="refunds", on_messages=charge, consume_message_batch_max_size=4):
        eventually(lambda: sum(sizes) == 8 and mq.messages("%DLQ%billing"))
    assert max(sizes) == 4
    assert [one.body for one in mq.messages("%DLQ%billing")] == [b"3"]


def test_suspended_consumer_pulls_nothing(mq: fakemq.Cluster) -> None:
    seen = Seen()
    with consumer(mq, on_message=seen) as c:
        eventually(lambda: len(mq.journal.find("PullHeld")) >= 2)
        c.suspend()
        mq.seed("orders", [b"later"])
        eventually(lambda: seen.messages)  # by a pull that was held before
        pulls = len(mq.journal.find("PullHeld", topic="orders"))
        beats = len(mq.journal.find("RequestReceived", code="HEART_BEAT"))
        c.subscribe("refunds")  # whose heartbeat a further pull would be before
        eventually(lambda: len(mq.journal.find("RequestReceived", code="HEART_BEAT")) > beats)
        assert len(mq.journal.find("PullHeld", topic="orders")) == pulls
        c.resume()
        eventually(lambda: len(mq.journal.find("PullHeld", topic="orders")) > pulls)


# -- life -------------------------------------------------------------------------------------


def test_shutdown_within_a_function_returns_and_acknowledges(mq: fakemq.Cluster) -> None:
    returned = threading.Event()

    def last(_: ReceivedMessage) -> None:
        c.shutdown()
        c.shutdown()
        returned.set()

    mq.seed("orders", [b"last"])
    c = consumer(mq, on_message=last)
    c.start()  # the message may come before it returns
    assert c.wait(timeout_ms=30_000)
    assert returned.is_set()
    assert c.state.name == "SHUTDOWN_ALREADY"
    assert consumed(mq)
    c.shutdown()


def test_shutdown_waits_for_functions_that_run(mq: fakemq.Cluster) -> None:
    began, may_end = threading.Event(), threading.Event()

    def slow(_: ReceivedMessage) -> None:
        began.set()
        may_end.wait(LONG_S)

    mq.seed("orders", [b"slow"])
    with consumer(mq, on_message=slow) as c:
        assert began.wait(LONG_S)
        ending = threading.Thread(target=c.shutdown)
        ending.start()
        eventually(lambda: c.state.name == "SHUTDOWN_ALREADY")
        assert not c.wait(timeout_ms=0)
        may_end.set()
    ending.join(LONG_S)
    assert consumed(mq)


def test_shutdown_does_not_wait_longer_than_it_may(mq: fakemq.Cluster) -> None:
    began, may_end = threading.Event(), threading.Event()

    def stuck(_: ReceivedMessage) -> None:
        began.set()
        may_end.wait(LONG_S)

    mq.seed("orders", [b"stuck"])
    with consumer(mq, on_message=stuck, await_termination_ms_when_shutdown=0):
        assert began.wait(LONG_S)
    may_end.set()
    assert not consumed(mq)


def test_second_member_of_a_group_gets_its_share(mq: fakemq.Cluster) -> None:
    first, second = Seen(), Seen()
    bodies = {b"%d" % number for number in range(40)}
    with (
        consumer(mq, on_message=first, persist_interval_ms=20),
        consumer(mq, on_message=second, persist_interval_ms=20),
    ):
        eventually(lambda: len(mq.group("billing").members()) == 2)
        mq.seed("orders", sorted(bodies))
        # While a queue moves from one member to the other, both may consume its messages: that
        # all were seen does not mean that the present member is done.
        eventually(lambda: consumed(mq))
    assert {*first.bodies, *second.bodies} == bodies
    assert consumed(mq)


def test_wait_without_a_start_is_refused(mq: fakemq.Cluster) -> None:
    with pytest.raises(MQClientError, match=r"call start\(\) first"):
        consumer(mq, on_message=print).wait()


# -- arguments --------------------------------------------------------------------------------


async def coroutine(_: object) -> None: ...


class Callable:
    """An object with an async ``__call__``."""

    async def __call__(self, _: object) -> None: ...


@pytest.mark.parametrize("function", [coroutine, Callable()])
def test_async_function_is_refused_at_once(function: Any) -> None:
    with pytest.raises(TypeError, match="use AsyncPushConsumer, or a plain function"):
        PushConsumer("127.0.0.1:1", group="billing", subscribe="orders", on_message=function)


def test_awaitable_result_is_an_error_of_the_function(
    mq: fakemq.Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    mq.seed("orders", [b"tea"])
    with consumer(mq, on_message=lambda message: coroutine(message)):
        eventually(lambda: mq.delayed(RETRY))
    assert "only an async consumer awaits" in caplog.text


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"subscribe": {"orders": 5}}, TypeError, "wanted of orders are 5: expected tags"),
        ({"subscribe": 5}, TypeError, r"subscribe=5: expected \{topic: tags\}"),
        ({"subscribe": [5]}, fakemq.ConfigError, "expected text"),
        ({"on_message": 5}, TypeError, "on_message=5: expected a function"),
        ({"on_message": print, "on_messages": print}, TypeError, "expected one of them"),
        ({"consume_message_batch_max_size": 5}, TypeError, "is for on_messages"),
        ({"consume_from": "frist"}, fakemq.ConfigError, "expected last or first or timestamp"),
        ({"allocate": "AVGE"}, fakemq.ConfigError, "did you mean AVG"),
        ({"consume_thread": 5}, TypeError, "did you mean consume_threads"),
        ({"await_termination_ms_when_shutdown": -1}, fakemq.ConfigError, "0 to"),
    ],
)
def test_argument_that_cannot_be_is_refused(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        PushConsumer("127.0.0.1:1", group="billing", **options)


def test_consumer_of_nothing_is_refused_at_its_start() -> None:
    with pytest.raises(MQClientError, match="no subscription: pass subscribe="):
        PushConsumer("127.0.0.1:1", group="billing").start()


def test_topic_without_a_function_is_refused_at_the_start() -> None:
    c = PushConsumer("127.0.0.1:1", group="billing", subscribe=["orders", "refunds"])
    c.on("orders")(print)
    with pytest.raises(MQClientError, match=r"no function consumes refunds.*on\('refunds'\)"):
        c.start()


def test_two_functions_of_one_topic_are_refused() -> None:
    c = PushConsumer("127.0.0.1:1", group="billing")
    c.on("orders")(print)
    with pytest.raises(MQClientError, match="orders is consumed by"):
        c.on("orders")(print)
    with pytest.raises(TypeError, match="tags and sql"):
        c.on("orders", tags="a", sql="a > 1")


def test_sql_is_a_selector() -> None:
    assert SQL("a > 1") == Selector("a > 1", "SQL92") == Selector.by_sql("a > 1")
