"""Push consumers inside a cluster."""

from __future__ import annotations

import pytest

import fakemq
from fakemq.client.consuming.received import ReceivedMessage
from tests.support.inside_clients import bodies


def test_returning_acknowledges(mq: fakemq.Cluster) -> None:
    seen: list[tuple[bytes, str]] = []
    consumer = mq.consumer(
        group="billing",
        subscribe={"orders": "paid || shipped"},
        on_message=lambda message: seen.append((message.body, message.tags)),
    )
    producer = mq.producer()
    for tag in ("paid", "lost", "shipped"):
        producer.send("orders", tag, tags=tag, sharding_key="o-1")
    assert seen == [(b"paid", "paid"), (b"shipped", "shipped")]
    assert bodies(consumer) == [b"paid", b"shipped"]
    consumer.close()
    assert mq.group("billing").lag("orders") == 0


def test_raising_sends_back_until_the_message_is_dead(mq: fakemq.Cluster) -> None:
    def fail(message: ReceivedMessage) -> None:
        raise ValueError(message.reconsume_times)

    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=fail, max_reconsume_times=2
    )
    mq.producer().send("orders", b"tea")
    assert [str(failure.error) for failure in consumer.failures] == ["0"]
    mq.clock.advance("10s")
    mq.clock.advance("30s")
    assert [str(failure.error) for failure in consumer.failures] == ["0", "1", "2"]
    assert [failure.message.body for failure in consumer.failures] == [b"tea"] * 3
    mq.assert_in_dlq("billing", bodies=[b"tea"])


def test_two_hours_consume_a_message_again_and_again(mq: fakemq.Cluster) -> None:
    def fail(message: ReceivedMessage) -> None:
        message.retry_later(2)

    consumer = mq.consumer(group="billing", subscribe="orders", on_message=fail)
    mq.producer().send("orders", b"tea")
    mq.clock.advance("2h")
    assert len(consumer.received) == 17
    mq.assert_in_dlq("billing", 1)


def test_consumers_of_a_group_share_the_queues(mq: fakemq.Cluster) -> None:
    one = mq.consumer(group="billing", subscribe="orders")
    two = mq.consumer(group="billing", subscribe="orders")
    producer = mq.producer()
    for number in range(8):
        producer.send("orders", b"%d" % number)
    assert len(bodies(one)) == len(bodies(two)) == 4
    assert [member.client_id for member in mq.group("billing").members()] == [one.name, two.name]
    mq.clock.advance("10s")
    two.kill()
    mq.clock.advance("20s")
    for number in range(8):
        producer.send("orders", b"%d" % number)
    assert len(bodies(one)) == 12


def test_ordered_consumer_repeats_the_first_message_of_a_queue(mq: fakemq.Cluster) -> None:
    failing = [True]

    def consume(message: ReceivedMessage) -> None:
        if failing[0]:
            raise ValueError("not yet")

    consumer = mq.consumer(
        group="billing", subscribe="orders", on_message=consume, ordered=True, consume_from="first"
    )
    producer = mq.producer()
    for number in range(3):
        producer.send("orders", b"%d" % number, sharding_key="one")
    mq.clock.advance("20s")
    assert set(bodies(consumer)) == {b"0"}
    failing[0] = False
    mq.clock.advance("2s")
    assert bodies(consumer)[-3:] == [b"0", b"1", b"2"]


def test_suspended_consumer_gets_nothing_until_it_is_resumed(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders")
    producer = mq.producer()
    consumer.suspend()
    mq.clock.advance("21s")  # the held pulls end
    producer.send("orders", b"tea")
    mq.clock.advance("1m")
    assert bodies(consumer) == []
    consumer.resume()
    mq.clock.advance("1s")
    assert bodies(consumer) == [b"tea"]


def test_subscription_can_change(mq: fakemq.Cluster) -> None:
    consumer = mq.consumer(group="billing", subscribe="orders", consume_from="first")
    producer = mq.producer()
    producer.send("payments", b"paid")
    consumer.subscribe("payments")
    assert bodies(consumer) == [b"paid"]
    consumer.unsubscribe("payments")
    producer.send("payments", b"paid again")
    assert bodies(consumer) == [b"paid"]


def test_broadcast_reaches_every_member_and_writes_no_file(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    members = [
        mq.consumer(group="audit", subscribe="orders", message_model="BROADCASTING")
        for _ in range(2)
    ]
    mq.producer().send("orders", b"tea")
    mq.clock.advance("1m")
    assert [bodies(one) for one in members] == [[b"tea"], [b"tea"]]
    assert list(home.iterdir()) == []
