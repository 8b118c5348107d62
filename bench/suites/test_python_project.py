"""A Python project whose tests use producers and consumers: one test, as often as is asked for."""

from __future__ import annotations

import threading
from collections import Counter

from bench.suites.clusters import Fixture, Place
from fakemq.client import Producer, PushConsumer, ReceivedMessage
from fakemq.client.blocking import Client

MESSAGES, QUEUES = 10, 4
TIMEOUT_S = 30.0
FAILS_ONCE = b"order 3"


def test_order_is_charged_again_after_a_failure(cluster: Place | Fixture, number: int) -> None:
    topic, group = f"orders-{number}", f"billing-{number}"
    retry_topic = f"%RETRY%{group}"
    with Client(cluster.namesrv_addr) as admin:
        admin.create_topic(topic, QUEUES)
        # A consumer that starts before its group has a retry topic looks for it 20 s later.
        admin.create_topic(retry_topic, 1)
    attempts: Counter[bytes] = Counter()
    tried, complete = threading.Event(), threading.Event()

    def charge(message: ReceivedMessage) -> None:
        attempts[message.body] += 1
        if attempts.total() == MESSAGES:
            tried.set()
        elif attempts.total() == MESSAGES + 1:
            complete.set()
        if message.body == FAILS_ONCE and message.reconsume_times == 0:
            message.retry_later()

    with (
        PushConsumer(
            cluster.namesrv_addr,
            group=group,
            subscribe=topic,
            on_message=charge,
            consume_from="first",
        ),
        Producer(cluster.namesrv_addr, group=f"shop-{number}") as producer,
    ):
        orders = [b"order %d" % one for one in range(MESSAGES)]
        for order in orders:
            producer.send(topic, order)
        assert tried.wait(TIMEOUT_S), attempts
        cluster.skip_delay(retry_topic)
        assert complete.wait(TIMEOUT_S), attempts
    assert attempts == {order: 1 + (order == FAILS_ONCE) for order in orders}
