"""The unchanged Java client sees on fakemq what it sees on the real cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.conftest import FakeProcess
from conformance.java_cluster import JavaCluster
from conformance.java_jars import CLIENT_VERSIONS, REFERENCE
from conformance.java_program import SCENARIOS, JavaConsumer, JavaProducer, observe
from conformance.raw import create_topic

# Seconds, not milliseconds: every case starts two JVMs, the first also two masters and maybe Maven.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def assert_same(real: JavaCluster, fake: str, scenario: str, version: str, *, binary: bool) -> None:
    with ThreadPoolExecutor(2) as both:
        on_real = both.submit(observe, real.namesrv_addr, scenario, version, binary=binary)
        on_fake = both.submit(observe, fake, scenario, version, binary=binary)
        expected = on_real.result()
        assert expected, "the scenario said nothing"
        assert on_fake.result() == expected


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_java_client_sees_the_same(
    real_cluster: JavaCluster, fake_process: FakeProcess, scenario: str, version: str
) -> None:
    assert_same(real_cluster, fake_process.namesrv_addr, scenario, version, binary=False)


@pytest.mark.parametrize("scenario", ["sync", "batch", "push", "offsets"])
def test_java_client_with_binary_headers_sees_the_same(
    real_cluster: JavaCluster, fake_process: FakeProcess, scenario: str
) -> None:
    assert_same(real_cluster, fake_process.namesrv_addr, scenario, REFERENCE, binary=True)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
@pytest.mark.parametrize("where", ["real", "fake"])
def test_drivers_produce_and_consume(
    real_cluster: JavaCluster, fake_process: FakeProcess, where: str, version: str
) -> None:
    topic = f"Drivers-{version.replace('.', '-')}"
    if where == "real":
        namesrv, masters = real_cluster.namesrv_addr, [b.addr for b in real_cluster.brokers]
    else:
        namesrv, masters = fake_process
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
