"""Java's and Go's remoting clients at the remoting port of a proxy: a real one, and fakemq's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import pytest

import fakemq
from conformance.drivers.go_program import GoProducer, binary
from conformance.drivers.java_program import JavaClients
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST, REFERENCE
from conformance.targets.java_proxy import java_proxy
from conformance.wire.raw import create_topic
from fakemq.client import Client

# Slow: JVMs, and half messages that a broker asks about.
pytestmark = [pytest.mark.slow, WAITING]

CONFIG = {"transactionCheckInterval": "3000", "transactionTimeOut": "1000"}
TOPICS = {"orders": "NORMAL", "steps": "FIFO", "paid": "TRANSACTION"}
QUEUES = 2


class Where(NamedTuple):
    """A proxy, as clients see it."""

    addr: str


def _is_routed(client: Client, topic: str) -> bool:
    return client.update_route(topic) is not None


@pytest.fixture(scope="module", params=["fake", "real"])
def where(request: pytest.FixtureRequest, java: None) -> Iterator[Where]:
    with ExitStack() as stack:
        if request.param == "real":
            real = stack.enter_context(JavaCluster(masters=1, config=CONFIG, version=NEWEST))
            proxy = stack.enter_context(java_proxy(real.namesrv_addr))
            namesrv_addr, addr = real.namesrv_addr, proxy.door_addr
        else:
            mq = stack.enter_context(
                fakemq.Cluster(proxy_remoting=True, config=CONFIG, clock="real")
            )
            namesrv_addr, addr = mq.namesrv_addr, mq.proxy.remoting_addr
        with Client(namesrv_addr) as client:
            brokers = client.cluster_info().broker_addr_table
            for topic, message_type in TOPICS.items():
                for broker in brokers.values():
                    attributes = f"+message.type={message_type}"
                    create_topic(broker.broker_addrs[0], topic, QUEUES, 6, attributes=attributes)
                wait_until(partial(_is_routed, client, topic), 10)
        yield Where(addr)


@pytest.fixture(scope="module")
def clients(where: Where) -> Iterator[JavaClients]:
    with JavaClients(NEWEST) as made:
        made.do("producer", "p", where.addr, 10_000, 2)
        yield made


def test_java_client_sends_and_consumes(where: Where, clients: JavaClients) -> None:
    clients.do("consumer", "c", where.addr, "GConcurrently", "orders", "concurrently")
    for number in range(4):
        assert clients.do("send", "p", "orders", f"o{number}").startswith("SEND_OK broker-a")
    for number in range(4):
        clients.wait_received("c", f"o{number}")


def test_java_client_consumes_in_order(where: Where, clients: JavaClients) -> None:
    clients.do("consumer", "o", where.addr, "GOrderly", "orders", "orderly")
    for number in range(4):
        clients.do("send", "p", "orders", f"s{number}", "broker-a", 0)
    for number in range(4):
        clients.wait_received("o", f"s{number}")
    got = [id for name, id in clients.received if name == "o" and id.startswith("s")]
    assert got == ["s0", "s1", "s2", "s3"]


def test_java_client_commits_when_it_is_asked(where: Where, clients: JavaClients) -> None:
    clients.do("consumer", "t", where.addr, "GTransactions", "paid", "concurrently")
    assert clients.do("transact", "p", "paid", "t1").startswith("SEND_OK broker-a")
    clients.wait_received("t", "t1")
    assert "t1" in clients.checked


def test_java_client_meets_the_type_of_a_topic(clients: JavaClients) -> None:
    assert clients.do("send", "p", "steps", "x1") == "!MQBrokerException 13"
    assert clients.do("send", "p", "nowhere", "x2") == "!MQBrokerException 13"


def test_java_client_of_4_9_7_sends_and_consumes(where: Where) -> None:
    with JavaClients(REFERENCE) as old:
        old.do("producer", "old", where.addr, 10_000, 0)
        old.do("consumer", "c", where.addr, "GOld", "orders", "concurrently")
        assert old.do("send", "old", "orders", "old1").startswith("SEND_OK broker-a")
        old.wait_received("c", "old1")


def test_go_client_names_no_broker(where: Where) -> None:
    binary()
    with GoProducer(where.addr, "orders", "GGoProducer", 40) as producer:
        producer.go()
        refusal = "CODE: 15, DESC: Request doesn't have field bname"
        producer.wait_for(lambda: refusal in producer.tail(), "a refusal")
        assert not producer.acks
