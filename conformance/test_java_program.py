"""The unchanged Java client sees on fakemq what it sees on the real cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.java_cluster import JavaCluster
from conformance.java_jars import CLIENT_VERSIONS, REFERENCE
from conformance.java_program import SCENARIOS, JavaConsumer, JavaProducer, observe

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
    real_cluster: JavaCluster, fake_namesrv_addr: str, scenario: str, version: str
) -> None:
    assert_same(real_cluster, fake_namesrv_addr, scenario, version, binary=False)


@pytest.mark.parametrize("scenario", ["sync", "batch", "push", "offsets"])
def test_java_client_with_binary_headers_sees_the_same(
    real_cluster: JavaCluster, fake_namesrv_addr: str, scenario: str
) -> None:
    assert_same(real_cluster, fake_namesrv_addr, scenario, REFERENCE, binary=True)


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_drivers_produce_and_consume(java: None, fake_namesrv_addr: str, version: str) -> None:
    topic = f"Drivers-{version.replace('.', '-')}"
    with (
        JavaProducer(fake_namesrv_addr, topic, per_second=100, version=version) as producer,
        JavaConsumer(fake_namesrv_addr, topic, version=version) as consumer,
    ):
        first = producer.send("first")
        assert first.status == "SEND_OK"
        producer.go()
        producer.wait_for(lambda: len(producer.acks) >= 20, "20 acks")
        producer.pause()
        consumer.wait_for(lambda: len(consumer.received) >= 20, "20 messages")
        producer.stop()
        sent = {ack.id for ack in producer.acks}
        consumer.wait_for(lambda: {m.id for m in consumer.received} == sent, "all messages")
        assert producer.failures == []
        assert len(consumer.received) == len(sent)
        assert len(consumer.wait_assigned(8)) == 8
        consumer.stop()
