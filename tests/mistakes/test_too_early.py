"""A client that asked for a topic before it existed is a diagnosis of its own."""

from __future__ import annotations

import fakemq
from fakemq.client import Client


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
