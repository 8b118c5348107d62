"""Clients with keys see on fakemq what they see on a real cluster that checks them, by TLS too."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import pytest

import fakemq
from conformance.drivers import go_program
from conformance.drivers.java_program import ACCESS_SCENARIO, SMALL_JVM, JavaProgram
from conformance.live.groups import WAITING
from conformance.live.python_clients import seen_by_clients
from conformance.targets import java_cluster
from conformance.targets.accounts import ADMIN, CLIENT, RULES, SECRET, SENDER, USER
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.processes import assert_same, together
from conformance.targets.quick_pair import QUICK
from conformance.targets.tls import Tls
from conformance.wire.signing import signed
from fakemq.client import (
    Client,
    Message,
    MQBrokerError,
    MQClientError,
    Producer,
)
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode

# Slow: a real cluster, and two JVMs for each version of the client.
pytestmark = [pytest.mark.slow, WAITING]

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


class Way(NamedTuple):
    """How clients reach a fake, and a real cluster that serves both ways."""

    topic: str
    """A topic of this way alone, on the real cluster too."""
    fake: fakemq.Cluster
    jvm: tuple[str, ...]
    """Flags of Java clients."""
    options: dict[str, Any]
    """Options of Python clients."""


@pytest.fixture(scope="module", params=["plain", "tls"])
def way(request: pytest.FixtureRequest, tls: Tls) -> Iterator[Way]:
    if request.param == "plain":
        with fakemq.Cluster(config=CONFIG, acl=RULES) as cluster:
            yield Way("SAclPlain", cluster, SMALL_JVM, {})
        return
    with fakemq.Cluster(
        config=CONFIG, acl=RULES, tls="enforcing", tls_config=tls.config_file
    ) as cluster:
        jvm = (*SMALL_JVM, *tls.client_jvm())
        yield Way("SAclTls", cluster, jvm, {"tls": True, "tls_ca_file": tls.ca_file})


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_client_with_keys_sees_the_same(real: JavaCluster, way: Way, version: str) -> None:
    on_real = JavaProgram(real.namesrv_addr, version, jvm=way.jvm)
    on_fake = JavaProgram(way.fake.namesrv_addr, version, jvm=way.jvm)
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


def test_python_client_with_keys_sees_the_same(real: JavaCluster, way: Way) -> None:
    with ThreadPoolExecutor(2) as both:
        expected = both.submit(python_seen, real.namesrv_addr, way)
        seen = both.submit(python_seen, way.fake.namesrv_addr, way)
        assert seen.result() == expected.result()


def python_seen(namesrv_addr: str, way: Way) -> list[str]:
    """Return what Python clients see; the first send creates the topic."""
    keys = {"access_key": CLIENT, "secret_key": SECRET}
    seen = seen_by_clients(namesrv_addr, way.topic, **keys, **way.options)
    return seen + python_refusals(namesrv_addr, way)


def python_refusals(namesrv_addr: str, way: Way) -> list[str]:
    """Return what Python clients see of requests that are refused."""
    topic, options = way.topic, way.options
    seen = []

    def note(what: str, call: Callable[[], object]) -> None:
        try:
            call()
        except (MQClientError, MQBrokerError) as error:
            seen.append(f"{what}: {str(error).partition('AclException: ')[2]}")
        else:
            seen.append(f"{what}: done")

    for what, account, secret in (
        ("no key", "", ""),
        ("an unknown key", "nobodynobody", SECRET),
        ("a wrong secret", CLIENT, "87654321"),
        ("no permission for SAclSub", USER, SECRET),
        ("no permission to consume", SENDER, SECRET),
    ):
        keys: dict[str, Any] = {"access_key": account, "secret_key": secret}
        with (
            Producer(namesrv_addr, group="G", **keys, **options) as producer,
            Client(namesrv_addr, consumer_group="GAclSub", **keys, **options) as client,
        ):
            own = MessageQueue(topic, "broker-a", 0)
            seen.append(what)
            note("a send", partial(producer.send, topic, b"refused"))
            note("to SAclSub", partial(producer.send, "SAclSub", b"six"))
            note("to SAclPub", partial(producer.send, "SAclPub", b"six"))
            note("a batch", partial(producer.send_batch, [Message("SAclSub", b"seven")]))
            note("a pull", partial(client.pull, own, 0))
            note("a commit", partial(client.update_offset, own, 0))
            note("an offset", partial(client.query_offset, own))
            note("a topic", partial(client.create_topic, "SAclNever", 1))
    return seen


def test_signature_of_another_body_is_refused_by_each_way(real: JavaCluster, way: Way) -> None:
    def seen(namesrv_addr: str) -> list[str]:
        with Client(namesrv_addr, **way.options) as client:
            addr = client.cluster_info().broker_addr_table["broker-a"].broker_addrs[0]
            texts = []
            for account, body in ((ADMIN, b"traceOn=true"), (ADMIN, b"traceOn=false"), (USER, b"")):
                fields = signed({}, b"traceOn=true", account=account)
                command = client.instance.command(RequestCode.UPDATE_BROKER_CONFIG, body=body)
                command.ext_fields.update({name: str(value) for name, value in fields.items()})
                answer = client.invoke(addr, command)
                texts.append(f"{answer.code} {answer.remark}")
        return texts

    found = seen(way.fake.namesrv_addr)
    assert found == seen(real.namesrv_addr)
    assert found[0].startswith("0 ")
    assert "Check signature failed for accessKey=adminadmin" in found[1]
