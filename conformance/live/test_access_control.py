"""Clients with keys see, by TLS, on fakemq what they see on a real cluster that checks them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fakemq
from conformance.drivers import go_program
from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.drivers.java_program import ACCESS_SCENARIO, SMALL_JVM, JavaProgram
from conformance.live.groups import WAITING
from conformance.targets import java_cluster
from conformance.targets.accounts import CLIENT, RULES, SECRET, USER
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.processes import assert_same, together
from conformance.targets.quick_pair import QUICK
from conformance.targets.tls import Tls
from fakemq.client import (
    Client,
    LocalTransactionState,
    Message,
    MQBrokerError,
    MQClientError,
    Producer,
    PushConsumer,
    ReceivedMessage,
)

# Slow: a real cluster, and two JVMs for each version of the client.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), WAITING]

CONFIG = {**QUICK, "aclEnable": "true"}


@pytest.fixture(scope="module")
def tls() -> Iterator[Tls]:
    with contextlib.closing(Tls()) as made:
        yield made


@pytest.fixture(scope="module")
def real(java: None, tls: Tls) -> Iterator[JavaCluster]:
    jvm = (*java_cluster.SMALL_JVM, *tls.server_jvm("permissive"))
    with JavaCluster(config=CONFIG, topics={}, jvm=jvm) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fake(tls: Tls) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        config=CONFIG, acl=RULES, tls="enforcing", tls_config=tls.config_file
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_client_with_keys_sees_the_same(
    real: JavaCluster, fake: fakemq.Cluster, tls: Tls, version: str
) -> None:
    jvm = (*SMALL_JVM, *tls.client_jvm())
    on_real = JavaProgram(real.namesrv_addr, version, jvm=jvm)
    on_fake = JavaProgram(fake.namesrv_addr, version, jvm=jvm)
    with together(on_real, on_fake):
        for program in (on_real, on_fake):
            program.begin(ACCESS_SCENARIO)
        assert_same(
            lambda: on_real.observe(ACCESS_SCENARIO),
            lambda: on_fake.observe(ACCESS_SCENARIO),
            lambda: on_real.observe_again(ACCESS_SCENARIO),
            lambda: on_fake.observe_again(ACCESS_SCENARIO),
        )


def test_go_client_with_keys_sees_the_same(go: None, real: JavaCluster) -> None:
    go_program.binary()  # while no scenario's time runs
    scenario = go_program.ACCESS_SCENARIO
    # This client has no TLS.
    with fakemq.Cluster(config=CONFIG, acl=RULES) as fake, ThreadPoolExecutor(2) as both:
        expected = both.submit(go_program.observe, real.namesrv_addr, scenario)
        seen = both.submit(go_program.observe, fake.namesrv_addr, scenario)
        assert seen.result() == expected.result()


def test_python_client_with_keys_sees_the_same(
    real: JavaCluster, fake: fakemq.Cluster, tls: Tls
) -> None:
    options = {"tls": True, "tls_ca_file": tls.ca_file}
    with ThreadPoolExecutor(2) as both:
        expected = both.submit(python_seen, real.namesrv_addr, options)
        seen = both.submit(python_seen, fake.namesrv_addr, options)
        assert seen.result() == expected.result()


def python_seen(namesrv_addr: str, options: dict[str, Any]) -> list[str]:
    """Return what Python clients see; the first send creates the topic."""
    topic, received = "SAclPub", set[str]()
    seen = []

    def receive(message: ReceivedMessage) -> None:
        received.add(message.body.decode())

    with Producer(
        namesrv_addr, group="GAclProducer", access_key=CLIENT, secret_key=SECRET, **options
    ) as producer:
        batch = [Message(topic, body) for body in (b"two", b"three")]
        seen.append(producer.send(topic, b"one").status.name)
        seen.append(producer.send_batch(batch).status.name)
        commit = LocalTransactionState.COMMIT_MESSAGE
        half = producer.send_in_transaction(Message(topic, b"four"), lambda _: commit)
        seen.append(half.status.name)
    with PushConsumer(
        namesrv_addr,
        group="GAclSub",
        subscribe={topic: "*"},
        on_message=receive,
        consume_from="first",
        access_key=CLIENT,
        secret_key=SECRET,
        **options,
    ):
        wait_until(lambda: len(received) == 4, EVENT_TIMEOUT_S)
    seen.append(f"received {sorted(received)}")
    with Client(namesrv_addr, access_key=CLIENT, secret_key=SECRET, **options) as client:
        sent = client.send(Message(topic, b"five", keys="five"))
        wait_until(lambda: is_found(client, topic, sent.msg_id), EVENT_TIMEOUT_S)
    with Producer(
        namesrv_addr, group="G", access_key=USER, secret_key=SECRET, **options
    ) as producer:
        for name in ("SAclSub", topic):
            try:
                seen.append(f"{name}: {producer.send(name, b'six').status.name}")
            except (MQClientError, MQBrokerError) as error:
                seen.append(f"{name}: {str(error).partition('AclException: ')[2]}")
    return seen


def is_found(client: Client, topic: str, unique_key: str) -> bool:
    """Return whether a query finds a message; that of Java's client is refused."""
    found = client.query_message_by_unique_key(topic, unique_key)
    return found is not None and found.body == b"five"
