"""A Java slave of a fake master, and a fake slave of a Java master: the logs are the same bytes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.java_cluster import SMALL_JVM, JavaBroker, JavaCluster, JavaNode, wait_until
from conformance.live import FakemqProcess
from conformance.raw import call, create_topic, frame, split
from conformance.store_walk import SIZES
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.protocol.bodies.topic import TopicConfigSerializeWrapper

# A slave connects after 5 s and reports after 10, in a JVM that takes its time to start.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOPIC, QUEUES, MESSAGES = "Replicated", 4, 600
IN_STEP_S = 60.0
SYNC_S = 20.0
_GET_ALL_TOPIC_CONFIG, _GET_MAX_OFFSET = 21, 30
SLAVE = {"brokerName": "broker-a", "brokerId": "1", "brokerRole": "SLAVE"}
SYNC_MASTER = {"brokerRole": "SYNC_MASTER", **SIZES}


def lines(config: dict[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in config.items()]


def send_until_safe(client: Client) -> dict[SendStatus, int]:
    """Send until a slave has what is sent; gives how often each status came before."""
    statuses: dict[SendStatus, int] = {}
    end = time.monotonic() + IN_STEP_S
    while (status := client.send(Message(TOPIC, b"early")).status) is not SendStatus.SEND_OK:
        statuses[status] = statuses.get(status, 0) + 1
        assert time.monotonic() < end, statuses
        time.sleep(0.1)
    return statuses


def replicate(namesrv_addr: str) -> dict[SendStatus, int]:
    """Wait until the slave is there, then send messages of all sizes, each of them replicated."""
    with Client(namesrv_addr, send_timeout_ms=10_000) as client:
        statuses = send_until_safe(client)
        for number in range(MESSAGES):
            body = b"%04d" % number + bytes(number * 7 % 1500)
            message = Message(TOPIC, body, keys=f"key-{number}", tags="t")
            assert client.send(message).status is SendStatus.SEND_OK
    return statuses


def log_of(store: Path) -> dict[str, bytes]:
    """The files of a store's commit log; what is all zeros has only been made early."""
    files = {path.name: path.read_bytes() for path in (store / "commitlog").iterdir()}
    return {name: data for name, data in files.items() if any(data)}


def max_offsets(addr: str) -> list[int]:
    """Where a broker says that the queues end."""
    found = []
    for queue_id in range(QUEUES):
        fields = {"topic": TOPIC, "queueId": str(queue_id)}
        _, header, _ = split(call(addr, frame(_GET_MAX_OFFSET, fields)))
        found.append(int(json.loads(header)["extFields"]["offset"]))
    return found


def topics(addr: str) -> TopicConfigSerializeWrapper:
    _, _, body = split(call(addr, frame(_GET_ALL_TOPIC_CONFIG, {})))
    return TopicConfigSerializeWrapper.decode(body)


def assert_in_step(master: str, slave: str, stores: tuple[Path, Path]) -> None:
    """Logs, queues and topics of a slave are its master's."""
    mine, other = (log_of(store) for store in stores)
    assert len(mine) > 5
    assert mine == other
    wait_until(lambda: max_offsets(slave) == max_offsets(master), 5)
    wait_until(lambda: topics(slave) == topics(master), SYNC_S)


@contextmanager
def java_slave(namesrv_addr: str, home: Path) -> Iterator[JavaBroker]:
    namesrv = JavaNode("fake", home, "", int(namesrv_addr.rpartition(":")[2]), ())
    slave = JavaBroker("broker-a", home / "slave", namesrv, SMALL_JVM)
    slave.config |= SIZES | SLAVE
    try:
        slave.start()
        yield slave
    finally:
        slave.kill()


def test_a_java_slave_of_a_fake_master(java: None, tmp_path: Path) -> None:
    ports = ("--namesrv-port", "0", "--broker-port", "0", "--topic", f"{TOPIC}:{QUEUES}")
    ours = tmp_path / "ours"
    config = lines({**SYNC_MASTER, "storePathRootDir": str(ours)})
    with (
        FakemqProcess(*ports, config=config) as master,
        java_slave(master.namesrv_addr, tmp_path) as slave,
    ):
        print(replicate(master.namesrv_addr))
        assert_in_step(master.broker_addrs[0], slave.addr, (ours, slave.store))


def test_a_fake_slave_of_a_java_master(java: None, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    config = {
        **(SIZES | SLAVE),
        "listenPort": "0",
        "brokerIP1": "127.0.0.1",
        "brokerIP2": "127.0.0.1",
        "storePathRootDir": str(ours),
    }
    with JavaCluster(config=SYNC_MASTER) as real:
        master = real.broker("broker-a")
        create_topic(master.addr, TOPIC, QUEUES)
        with FakemqProcess("broker", "-n", real.namesrv_addr, config=lines(config)) as slave:
            print(replicate(real.namesrv_addr))
            assert_in_step(master.addr, slave.broker_addrs[0], (master.store, ours))
