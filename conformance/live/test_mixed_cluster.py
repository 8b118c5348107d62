"""Fake brokers at a real name server, real brokers at a fake one, and Java clients through both."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest

from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import (
    SMALL_JVM,
    JavaBroker,
    JavaCluster,
    JavaNode,
    wait_until,
)
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.master_slave_pairs import broker, name_server
from conformance.targets.processes import (
    NOTICED_S,
    FakemqProcess,
    real_ms_until,
    routed,
    together,
    wait_received,
)
from conformance.wire.raw import create_topic

# Some seconds each: a Java server, then a producer and two consumers side by side.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC, QUEUES, MESSAGES = "Mixed", 4, 100
DEFAULT_TOPIC = "TBW102"


def work_through(namesrv_addr: str, *brokers: str) -> None:
    """A Java producer sends to each queue of all, and Java consumers get everything once."""
    producer = JavaProducer(namesrv_addr, TOPIC, per_second=200)
    consumers = [
        JavaConsumer(namesrv_addr, TOPIC, f"G{version[0]}", version=version)
        for version in CLIENT_VERSIONS
    ]
    with together(producer, *consumers):
        for consumer in consumers:
            consumer.wait_assigned(QUEUES * len(brokers))
        producer.go()
        producer.wait_for(lambda: len(producer.acks) >= MESSAGES, f"{MESSAGES} acks")
        producer.stop()
        assert producer.failures == []
        queues = Counter((ack.broker, ack.queue_id) for ack in producer.acks)
        assert queues.keys() == {(name, queue_id) for name in brokers for queue_id in range(QUEUES)}
        assert max(queues.values()) - min(queues.values()) <= 1
        sent = Counter(ack.id for ack in producer.acks)
        for consumer in consumers:
            wait_received(consumer, sent)
            assert Counter(m.id for m in consumer.received) == sent


def test_fake_broker_at_a_real_name_server(java: None) -> None:
    config = ["listenPort=0", "brokerIP1=127.0.0.1", "brokerName=fake"]
    with JavaCluster(masters=0) as real:
        addr = real.namesrv_addr
        with FakemqProcess("broker", "-n", addr, config=config) as fake:
            assert routed(addr, DEFAULT_TOPIC) == {"fake"}
            create_topic(fake.broker_addrs[0], TOPIC, QUEUES)
            real_ms_until(lambda: routed(addr, TOPIC) == {"fake"}, NOTICED_S)
            work_through(addr, "fake")
            assert fake.terminate() == 0
            assert routed(addr, TOPIC) == set()
        with FakemqProcess("broker", "-n", addr, config=config) as fake:
            fake.kill()
            took_ms = real_ms_until(lambda: routed(addr, DEFAULT_TOPIC) == set(), NOTICED_S)
            print(f"real name server noticed the end after {took_ms} ms")


def test_real_broker_at_a_fake_name_server(java: None) -> None:
    with (
        FakemqProcess("namesrv", config=["listenPort=0"]) as fake,
        tempfile.TemporaryDirectory(prefix="rocketmq-") as home,
    ):
        addr = fake.namesrv_addr
        namesrv = JavaNode("fake", Path(home), "", int(addr.rpartition(":")[2]), ())
        broker = JavaBroker("real", Path(home) / "broker", namesrv, SMALL_JVM)
        broker.start()
        try:
            create_topic(broker.addr, TOPIC, QUEUES)
            assert routed(addr, TOPIC) == {"real"}
            work_through(addr, "real")
        finally:
            broker.kill()
        took_ms = real_ms_until(lambda: routed(addr, TOPIC) == set(), NOTICED_S)
        print(f"fake name server noticed the end after {took_ms} ms")


@pytest.mark.parametrize("kind", ["fake", "java"])
def test_both_kinds_of_masters_in_one_cluster(java: None, tmp_path: Path, kind: str) -> None:
    with name_server(kind, tmp_path) as namesrv:
        masters = [
            broker("fake", "broker-a", tmp_path / "a", namesrv),
            broker("java", "broker-b", tmp_path / "b", namesrv),
        ]
        try:
            for master in masters:
                master.start()
                create_topic(master.addr, TOPIC, QUEUES)
            wait_until(lambda: routed(namesrv.addr, TOPIC) == {"broker-a", "broker-b"}, NOTICED_S)
            work_through(namesrv.addr, "broker-a", "broker-b")
            masters[0].kill()
            wait_until(lambda: routed(namesrv.addr, TOPIC) == {"broker-b"}, NOTICED_S)
        finally:
            for master in masters:
                master.kill()
