"""The unchanged Java client sees on fakemq what it sees on the real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

import fakemq
from conformance.drivers.java_program import (
    LITE_SCENARIOS,
    SCENARIOS,
    JavaConsumer,
    JavaProducer,
    JavaProgram,
)
from conformance.live.groups import CROWDED
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS, REFERENCE
from conformance.targets.processes import (
    FakemqProcess,
    assert_same,
    assert_same_twice,
    go_and_come,
    together,
)
from conformance.targets.quick_pair import QuickPair
from conformance.wire.raw import create_topic

# Seconds, not milliseconds: two masters and a JVM for each of the clients' versions, maybe Maven.
pytestmark = [pytest.mark.slow, CROWDED]

TOPIC, QUEUES = "Brokers", 2


class Programs(NamedTuple):
    """The same program at a real cluster and at a fake one."""

    version: str
    real: JavaProgram
    fake: JavaProgram

    def begin(self, scenario: str) -> None:
        self.real.begin(scenario)
        self.fake.begin(scenario)

    def assert_same(self, scenario: str) -> None:
        self.begin(scenario)
        assert_same(
            lambda: self.real.observe(scenario),
            lambda: self.fake.observe(scenario),
            lambda: self.real.observe_again(scenario),
            lambda: self.fake.observe_again(scenario),
        )


@pytest.fixture(scope="module", params=CLIENT_VERSIONS)
def programs(request: pytest.FixtureRequest, quick_pair: QuickPair) -> Iterator[Programs]:
    """One JVM at each cluster, running every scenario that will be asked for."""
    version = request.param
    real = JavaProgram(quick_pair.real.namesrv_addr, version)
    fake = JavaProgram(quick_pair.fake.namesrv_addr, version)
    with together(real, fake):
        both = Programs(version, real, fake)
        for scenario in wanted(request, version):
            both.begin(scenario)
        yield both


def wanted(request: pytest.FixtureRequest, version: str) -> list[str]:
    """Return the scenarios that this process will ask for, the longest first."""
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    params = [call.params for call in calls if call is not None]
    chosen = {one.get("scenario") for one in params if one.get("programs") == version}
    return [scenario for scenario in SCENARIOS if scenario in chosen]


@pytest.mark.parametrize("scenario", SCENARIOS[1:])
def test_java_client_sees_the_same(programs: Programs, scenario: str) -> None:
    programs.assert_same(scenario)


# Up to a minute, by two heartbeats. Meanwhile only the longest scenario still waits.
def test_java_clients_survive_the_restart_of_each_broker(programs: Programs) -> None:
    def look() -> tuple[list[str], list[str]]:
        return restarts_seen(programs.version)

    assert_same_twice(look, look)


def restarts_seen(version: str) -> tuple[list[str], list[str]]:
    """Return what Java clients see of restarts on a real cluster, and on a fake one."""

    def clients(namesrv_addr: str) -> tuple[JavaProducer, JavaConsumer]:
        return (
            JavaProducer(namesrv_addr, TOPIC, per_second=50, version=version),
            JavaConsumer(namesrv_addr, TOPIC, version=version),
        )

    with (
        JavaCluster(masters=2, topics={TOPIC: QUEUES}) as real,
        fakemq.Cluster(masters=2, topics={TOPIC: QUEUES}) as fake,
        ThreadPoolExecutor(2) as both,
    ):
        a, b = real.brokers
        one, other = fake.broker("broker-a"), fake.broker("broker-b")
        on_real = both.submit(
            go_and_come, *clients(real.namesrv_addr), [(b.stop, b.start), (a.kill, a.start)]
        )
        on_fake = both.submit(
            go_and_come,
            *clients(fake.namesrv_addr),
            [(other.stop, other.restart), (one.kill, one.restart)],
        )
        return on_real.result(), on_fake.result()


@pytest.mark.parametrize("scenario", SCENARIOS[:1])
def test_java_client_sees_the_same_in_the_longest_scenario(
    programs: Programs, scenario: str
) -> None:
    programs.assert_same(scenario)


@pytest.fixture(scope="module")
def lite_programs(quick_pair: QuickPair) -> Iterator[dict[str, Programs]]:
    """Either client at the fake, beside a 4.9.7 client at Java: no 5.5.0 client can poll there."""
    real = JavaProgram(quick_pair.real.namesrv_addr, REFERENCE)
    fakes = {
        version: JavaProgram(quick_pair.fake.namesrv_addr, version) for version in CLIENT_VERSIONS
    }
    with together(real, *fakes.values()):
        yield {version: Programs(version, real, fake) for version, fake in fakes.items()}


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
@pytest.mark.parametrize("scenario", LITE_SCENARIOS)
def test_lite_pull_sees_the_same(
    lite_programs: dict[str, Programs], scenario: str, version: str
) -> None:
    for programs in lite_programs.values():
        programs.begin(scenario)
    lite_programs[version].assert_same(scenario)


@pytest.fixture(scope="module")
def default_programs(real_cluster: JavaCluster, fake_process: FakemqProcess) -> Iterator[Programs]:
    """Clients that send RocketMQ's own header serialisation, at clusters with the defaults."""
    real = JavaProgram(real_cluster.namesrv_addr, REFERENCE, binary=True)
    fake = JavaProgram(fake_process.namesrv_addr, REFERENCE, binary=True)
    with together(real, fake):
        yield Programs(REFERENCE, real, fake)


@pytest.mark.parametrize("scenario", ["sync", "batch", "push", "offsets", "nosql"])
def test_java_client_with_binary_headers_sees_the_same(
    default_programs: Programs, scenario: str
) -> None:
    default_programs.assert_same(scenario)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
@pytest.mark.parametrize("where", ["real", "fake"])
def test_drivers_produce_and_consume(
    real_cluster: JavaCluster, fake_process: FakemqProcess, where: str, version: str
) -> None:
    topic = f"Drivers-{version.replace('.', '-')}"
    if where == "real":
        namesrv, masters = real_cluster.namesrv_addr, [b.addr for b in real_cluster.brokers]
    else:
        namesrv, masters = fake_process.namesrv_addr, fake_process.broker_addrs
    for master in masters:
        create_topic(master, topic, 4)
    with (
        JavaProducer(namesrv, topic, per_second=100, version=version) as producer,
        JavaConsumer(namesrv, topic, version=version) as consumer,
    ):
        assert len(consumer.wait_assigned(8)) == 8
        assert producer.send("first").status == "SEND_OK"
        producer.go()
        producer.wait_for(lambda: len(producer.acks) >= 20, "20 acks")
        producer.stop()
        sent = {ack.id for ack in producer.acks}
        consumer.wait_for(lambda: {m.id for m in consumer.received} == sent, "all messages")
        assert producer.failures == []
        assert len(consumer.received) == len(sent)
        consumer.stop()
