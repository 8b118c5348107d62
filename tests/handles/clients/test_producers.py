"""Producers inside a cluster, and sends that need time of its clock."""

from __future__ import annotations

import threading

import pytest

import fakemq
from fakemq.client import (
    LocalTransactionState,
    Message,
    MQBrokerError,
    MQClientError,
    SendStatus,
)
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.errors import ConfigError, FakemqError
from fakemq.protocol.message import MessageExt
from tests.support.eventually import eventually
from tests.support.inside_clients import TOPICS, bodies


def test_send_returns_where_the_message_is_stored(mq: fakemq.Cluster) -> None:
    sent = mq.producer().send("orders", b"tea", tags="paid", keys="o-1")
    (message,) = mq.messages("orders")
    assert sent.status is SendStatus.SEND_OK
    assert (sent.broker_name, sent.queue_id, sent.queue_offset, sent.message_id) == (
        *(message.broker, message.queue_id, message.offset, message.msg_id),
    )
    assert (message.body, message.tags, message.keys) == (b"tea", "paid", "o-1")


def test_every_way_to_send_works(mq: fakemq.Cluster) -> None:
    with mq.producer(group="shop") as producer:
        producer.send(Message("orders", b"one"), sharding_key="o-1")
        producer.send_oneway("orders", b"two")
        producer.send_batch([Message("orders", b"three"), Message("orders", b"four")])
        ended = producer.send_in_transaction(
            Message("orders", b"five"), lambda message: LocalTransactionState.COMMIT_MESSAGE
        )
    assert ended.state is LocalTransactionState.COMMIT_MESSAGE
    mq.assert_sent("orders", bodies=[b"one", b"two", b"three", b"four", b"five"])
    assert producer.closed


def test_batch_has_one_result_as_with_every_producer(mq: fakemq.Cluster) -> None:
    messages = [Message("orders", b"one"), Message("orders", b"two")]
    producer = mq.producer()
    sent = producer.send_batch(messages)
    assert (sent.status, sent.queue_offset) == (SendStatus.SEND_OK, 0)
    assert [one.queue_offset for one in producer.send_batches(messages)] == [0]
    mq.assert_sent("orders", bodies=[b"one", b"two"] * 2)


def test_delayed_message_comes_when_time_is_moved(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    mq.producer().send("orders", b"later", delay_level=3)
    mq.clock.advance("9s")
    assert bodies(consumer) == []
    mq.clock.advance("1s")
    assert bodies(consumer) == [b"later"]


def test_broker_asks_about_a_half_message(mq: fakemq.Cluster) -> None:
    asked: list[bytes] = []

    def check(message: MessageExt) -> LocalTransactionState:
        asked.append(message.body)
        return LocalTransactionState.COMMIT_MESSAGE

    producer = mq.producer(group="shop", check=check)
    producer.send_in_transaction(Message("orders", b"half"), lambda message: None)
    assert mq.messages("orders") == []
    mq.clock.advance("2m")
    assert asked == [b"half"]
    mq.assert_sent("orders", bodies=[b"half"])


def test_request_is_answered_by_a_consumer_inside(mq: fakemq.Cluster) -> None:
    from fakemq.client.producing.request_reply import create_reply_message

    answering = mq.producer(group="answering")

    def answer(message: ReceivedMessage) -> None:
        answering.send(create_reply_message(message.stored, b"the answer"))

    mq.consumer(group="service", subscribe="orders", on_message=answer)
    asking = mq.producer(group="asking")
    assert asking.request(Message("orders", b"a question")).body == b"the answer"


def test_error_of_a_broker_is_raised(mq: fakemq.Cluster) -> None:
    mq.faults.error("SEND_MESSAGE_V2", code="MESSAGE_ILLEGAL", times=1)
    with pytest.raises(MQBrokerError, match="MESSAGE_ILLEGAL"):
        mq.producer().send("orders", b"tea")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"group": "a b"}, "the specified group"),
        ({"group": "shop", "nonsense": 1}, "nonsense"),
        ({"group": "shop", "instance_name": "one"}, "a client of its own"),
        ({"group": "shop", "send_timeout_ms": "3s"}, "send_timeout_ms"),
    ],
)
def test_impossible_producer_is_refused_and_leaves_nothing(
    mq: fakemq.Cluster, options: dict[str, object], text: str
) -> None:
    with pytest.raises((MQClientError, TypeError, ConfigError), match=text):
        mq.producer(**options)  # type: ignore[call-overload]
    assert mq.inspect(lambda core: len(core.guests)) == 0


def test_send_that_needs_time_of_a_frozen_clock_is_refused(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    mq.faults.latency("broker-a", "clients", "100ms")
    with pytest.raises(
        FakemqError, match=r"producers@inside-1> needs time to pass, and the clock is frozen"
    ):
        producer.send("orders", b"tea")


def test_send_in_the_background_ends_when_time_is_moved(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    fault = mq.faults.latency("broker-a", "clients", "100ms")
    sending = producer.send_async("orders", b"tea")
    assert not sending.done()
    mq.clock.advance("1s")
    assert sending.result(0).status is SendStatus.SEND_OK
    fault.remove()
    assert producer.send_async("orders", b"milk").done()


def test_send_to_a_paused_broker_times_out_by_the_clusters_clock(mq: fakemq.Cluster) -> None:
    producer = mq.producer()
    producer.send("orders", b"tea")
    mq.broker("broker-a").pause()
    sending = producer.send_async("orders", b"milk", timeout_ms=2_000)
    mq.clock.advance("1999ms")
    assert not sending.done()
    mq.clock.advance("1ms")
    with pytest.raises(MQClientError, match=r"Send \[3\] times, still failed, cost \[2000\]ms"):
        sending.result(0)


def test_send_waits_in_real_time_while_the_clock_runs() -> None:
    with fakemq.Cluster(topics=TOPICS) as mq:
        producer = mq.producer()
        mq.faults.latency("broker-a", "clients", "20ms")
        assert producer.send("orders", b"tea").status is SendStatus.SEND_OK


def test_waiting_send_ends_with_the_cluster() -> None:
    with fakemq.Cluster(topics=TOPICS) as mq:
        producer = mq.producer()
        mq.broker("broker-a").pause()
        failures: list[BaseException] = []

        def send() -> None:
            try:
                producer.send("orders", b"tea", timeout_ms=60_000)
            except FakemqError as error:
                failures.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        timeout = ("rpc_timeout", producer.name)
        eventually(lambda: timeout in [(one.kind, one.owner) for one in mq.clock.timers()])
        mq.reset()
        thread.join(60)
        (failure,) = failures
        assert str(failure) == f"the client {producer.name} ended before it was done"
