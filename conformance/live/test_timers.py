"""A store with timers under way changes hands between a Java broker of 5.5.0 and one of ours."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

import fakemq
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaBroker, JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST
from fakemq.client import Client, Message

pytestmark = [pytest.mark.slow, WAITING]  # a JVM, timers in real time
SIZES = {
    "mappedFileSizeTimerLog": str(1 << 20),
    "mappedFileSizeCommitLog": str(16 << 20),
    "mappedFileSizeConsumeQueue": "60000",
    "maxHashSlotNum": "10000",
    "maxIndexNum": "40000",
}
SOON_S = 2


def send(namesrv_addr: str, *, last_s: int) -> None:
    """Send a message that is due soon, and one that is due later."""
    with Client(namesrv_addr) as client:
        for body, delay_s in ((b"first", SOON_S), (b"last", last_s)):
            properties = {"TIMER_DELAY_SEC": str(delay_s)}
            client.run(client.producer.send(Message("orders", body, properties=properties)))


def bodies(namesrv_addr: str) -> set[bytes]:
    """Return what all queues of the topic have."""
    with Client(namesrv_addr) as client:
        found = set[bytes]()
        for queue in client.run(client.producer.queues("orders")):
            pulled = client.run(client.consumer.pull(queue, 0))
            found |= {message.body for message in pulled.messages}
        return found


def java_broker(cluster: JavaCluster) -> JavaBroker:
    return cluster.broker("broker-a")


def test_java_delivers_the_timers_of_a_store_of_ours(java: None, tmp_path: Path) -> None:
    store = tmp_path / "ours"
    with fakemq.Cluster(
        reference="5.5.0", topics={"orders": 1}, store=str(store), config=SIZES
    ) as mq:
        send(mq.namesrv_addr, last_s=14)
        wait_until(lambda: bodies(mq.namesrv_addr) == {b"first"}, 10)
    [root] = [path.parent for path in store.rglob("timerlog")]
    with JavaCluster(version=NEWEST, config={"timerWheelEnable": "true"}) as cluster:
        broker = java_broker(cluster)
        broker.stop()
        shutil.rmtree(broker.store)
        shutil.copytree(root, broker.store)
        broker.start()
        wait_until(lambda: bodies(cluster.namesrv_addr) == {b"first", b"last"}, 30)
        time.sleep(2)
        assert bodies(cluster.namesrv_addr) == {b"first", b"last"}


def test_broker_of_ours_delivers_the_timers_of_a_java_store(java: None, tmp_path: Path) -> None:
    root = tmp_path / "stores" / "broker-a"
    with JavaCluster(
        version=NEWEST, topics={"orders": 1}, config={"timerWheelEnable": "true"}
    ) as cluster:
        send(cluster.namesrv_addr, last_s=120)
        wait_until(lambda: bodies(cluster.namesrv_addr) == {b"first"}, 15)
        broker = java_broker(cluster)
        broker.stop()
        shutil.copytree(broker.store, root)
    with fakemq.Cluster(reference="5.5.0", store_from=str(root.parent), config=SIZES) as mq:
        assert [message.body for message in mq.messages("orders")] == [b"first"]
        mq.clock.advance("2m")
        assert [message.body for message in mq.messages("orders")] == [b"first", b"last"]
