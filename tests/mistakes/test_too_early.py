"""Diagnoses of clients that got no route: too early, for a mistyped topic, brokers are down."""

from __future__ import annotations

import re

import pytest

import fakemq
from fakemq.client import Client, Producer
from fakemq.client.errors import MQClientError


def ask(mq: fakemq.Cluster, topic: str, times: int) -> None:
    with Client(mq.namesrv_addr) as client:
        for _ in range(times):
            client.update_route(topic)


def test_client_that_asked_before_the_topic_was_created_is_a_diagnosis() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        ask(mq, "orders", 12)
        mq.clock.advance("3s")
        mq.seed("orders", ["one"])
        assert mq.diagnosis("orders")[0] == (
            "1 client asked for orders 12 times before it was created, the last time 3s before, and"
            " no consumer has pulled it since: clients ask again after 30 s of their own time;"
            " declare it when the cluster starts: topics={'orders': 8}"
        )
        assert len(mq.diagnosis("orders")) == 2


def test_topic_that_was_asked_for_and_never_created_explains_a_missing_send() -> None:
    with fakemq.Cluster() as mq:
        ask(mq, "orders", 1)
        try:
            mq.assert_sent("orders")
        except AssertionError as error:
            text = str(error)
        assert "1 client asked for orders 1 time, and it does not exist: declare it" in text
        assert mq.diagnosis() == []


def test_consumer_that_pulls_is_no_such_finding() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        ask(mq, "orders", 1)
        mq.create_topic("orders")
        with mq.consumer(group="billing", subscribe="orders"):
            mq.settle()
            mq.group("billing").suspend()
            mq.clock.advance("1m")
            mq.seed("orders", ["one"])
            assert not [line for line in mq.diagnosis("orders") if "asked for" in line]


def test_producer_whose_send_created_the_topic_did_not_ask_too_early() -> None:
    with fakemq.Cluster() as mq:
        with Producer(mq.namesrv_addr, group="shop") as producer:
            producer.send("orders", "tea")
        assert mq.journal.find("RouteRefused", topic="orders")
        assert mq.diagnosis() == [
            "b'tea' of orders: never delivered: no group has asked for orders"
        ]
        mq.producer().send("bills", "tea")
        assert mq.journal.find("RouteRefused", topic="bills")
        assert mq.diagnosis("bills") == [
            "b'tea' of bills: never delivered: no group has asked for bills"
        ]


def test_consumer_is_counted_beside_a_producer_whose_send_created_the_topic() -> None:
    with fakemq.Cluster() as mq:
        with Client(mq.namesrv_addr) as client:  # as a consumer does when it starts
            for topic in ("orders", "%RETRY%billing"):
                client.update_route(topic)
        with Producer(mq.namesrv_addr, group="shop") as producer:
            producer.send("orders", "tea")
        assert mq.diagnosis()[0].startswith(
            "1 client asked for orders 1 time before it was created"
        )


def test_client_that_asked_while_the_broker_was_stopped_did_not_ask_too_early() -> None:
    with fakemq.Cluster(clock="frozen") as mq:
        mq.seed("orders", ["tea"])
        mq.broker("broker-a").kill()
        ask(mq, "orders", 3)
        assert len(mq.journal.find("RouteRefused", topic="orders")) == 3
        assert mq.diagnosis() == [
            "b'tea' of orders: never delivered: its broker broker-a-0 is stopped"
        ]


def test_mistyped_topic_of_a_client_is_a_diagnosis() -> None:
    with fakemq.Cluster(topics={"orders": 1, "bills": 1}) as mq:
        ask(mq, "ordres", 2)
        ask(mq, "ordres", 1)
        assert mq.diagnosis() == []
        mq.seed("orders", ["tea"])
        mistyped = "2 clients asked for ordres, which does not exist; did you mean orders?"
        never = "b'tea' of orders: never delivered: "
        assert mq.diagnosis() == [mistyped, never + "no group has asked for orders"]
        assert mq.diagnosis("orders", "billing")[0] == mistyped
        assert mq.diagnosis("bills") == []
        with pytest.raises(AssertionError, match=f"most likely:\n  {re.escape(mistyped)}\n"):
            mq.assert_sent("orders", 2)
        with mq.consumer(group="billing", subscribe="orders", consume_from="first") as consumer:
            mq.wait_for(lambda: consumer.received)
        assert not any("ordres" in line for line in mq.diagnosis())


def test_stopped_broker_explains_that_a_send_had_no_route() -> None:
    with fakemq.Cluster(masters=2, topics={"orders": 1}) as mq:
        mq.broker("broker-a").kill()
        with Producer(mq.namesrv_addr, group="shop") as producer:
            producer.send("orders", "tea")
        assert not [line for line in mq.diagnosis() if "no route" in line]
        mq.reset()
        mq.broker("broker-a").kill()
        mq.broker("broker-b").kill()
        no_route = pytest.raises(MQClientError, match="No route info of this topic: orders")
        with Producer(mq.namesrv_addr, group="shop") as producer, no_route:
            producer.send("orders", "tea")
        stopped = "broker-a-0 is stopped, broker-b-0 is stopped"
        assert mq.diagnosis() == [f"1 client got no route for orders: {stopped}"]
        assert mq.diagnosis("orders") == mq.diagnosis()
        mq.broker("broker-b").restart()
        assert mq.diagnosis() == []
