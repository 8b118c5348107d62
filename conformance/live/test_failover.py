"""A master is gone for good: what a Java consumer still reads, from the slave.

Java's pairs are asked the same; what they lose, ours loses.
"""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import CROWDED
from conformance.targets.java_cluster import wait_until
from conformance.targets.master_slave_pairs import PAIRS, Pair, make_topic, max_offset
from conformance.targets.processes import together

# A slave connects after 5 s and reports after 10; then three producers keep the machine busy.
pytestmark = [pytest.mark.slow, CROWDED]

TOPIC, QUEUES = "Failover", 4
PRODUCERS, PER_SECOND = 3, 500
BEFORE, TAIL = 500, 100
"""Sends of each while the slave is there, and while it is away."""
IN_STEP_S = 60.0
SAFE = "SEND_OK"
SYNC, ASYNC = {"brokerRole": "SYNC_MASTER"}, {"brokerRole": "ASYNC_MASTER"}
Place = tuple[int, int]
"""Queue and offset."""


class Load:
    """Producers that send at the same time, and their acknowledgements.

    A message is known by its queue and offset: each producer counts from 0.
    """

    def __init__(self, nodes: Pair) -> None:
        self._nodes = nodes
        self.producers = [
            JavaProducer(nodes.namesrv_addr, TOPIC, f"G{number}", PER_SECOND)
            for number in range(PRODUCERS)
        ]

    def acks(self) -> dict[Place, str]:
        """Return the status of every send that was answered so far."""
        acks = [ack for producer in self.producers for ack in producer.acks]
        return {(ack.queue_id, ack.queue_offset): ack.status for ack in acks}

    def begin(self) -> None:
        """Start the slave; on return it has what its master has, and everybody sends."""
        slave = self._nodes.slave
        slave.start()
        first = self.producers[0].send("first")
        wait_until(
            lambda: max_offset(slave.addr, TOPIC, first.queue_id) > first.queue_offset, IN_STEP_S
        )
        for producer in self.producers:
            producer.go()

    def wait(self, acks: int) -> None:
        """Wait for ``acks`` more sends of each."""
        goals = [(producer, len(producer.acks) + acks) for producer in self.producers]
        for producer, goal in goals:
            producer.wait_for(partial(_acked, producer, goal), f"{goal} acks")

    def kill_master(self) -> None:
        """On return nothing is acknowledged any more."""
        self._nodes.master.kill()
        for producer in self.producers:
            producer.wait_for(partial(_failed, producer), "a send that fails")
            producer.kill()


def _acked(producer: JavaProducer, goal: int) -> bool:
    return len(producer.acks) >= goal


def _failed(producer: JavaProducer) -> bool:
    return bool(producer.failures)


def read_from_slave(nodes: Pair, expected: set[Place]) -> Counter[Place]:
    """Return what a Java consumer gets of a new group, where only the slave is left."""
    with JavaConsumer(nodes.namesrv_addr, TOPIC, "GNew") as consumer:

        def places() -> Counter[Place]:
            return Counter(
                (message.queue_id, message.queue_offset) for message in consumer.received
            )

        consumer.wait_for(lambda: expected <= places().keys(), f"{len(expected)} messages")
        time.sleep(1)  # what is not expected would come now
        return places()


# Java's own pair passes both, too, and so do fake pairs in one process and in two.
def test_slave_serves_every_message_that_its_synchronous_master_acknowledged(
    java: None, tmp_path: Path
) -> None:
    with PAIRS["fake master, java slave"](tmp_path, SYNC) as nodes:
        make_topic(nodes, TOPIC, QUEUES)
        load = Load(nodes)
        with together(*load.producers):
            load.begin()
            load.wait(BEFORE)
            load.kill_master()
            acks = load.acks()
        safe = {place for place, status in acks.items() if status == SAFE}
        read = read_from_slave(nodes, safe)
    print(f"acknowledged: {dict(Counter(acks.values()))}; read from the slave: {len(read)},")
    print(f"{len(read.keys() - acks.keys())} of which no producer has an acknowledgement")
    assert len(safe) >= PRODUCERS * BEFORE
    assert safe <= read.keys()
    assert set(read.values()) == {1}


def test_slave_lacks_what_its_asynchronous_master_alone_had(java: None, tmp_path: Path) -> None:
    with PAIRS["one process"](tmp_path, ASYNC) as nodes:
        make_topic(nodes, TOPIC, QUEUES)
        load = Load(nodes)
        with together(*load.producers):
            load.begin()
            load.wait(BEFORE)
            # It is back before its master goes, for the topic's sake, but asks for nothing yet.
            nodes.slave.kill()
            load.wait(TAIL)
            nodes.slave.start()
            load.kill_master()
            acks = load.acks()
        ends = [max_offset(nodes.slave.addr, TOPIC, queue_id) for queue_id in range(QUEUES)]
        tail = {(queue_id, offset) for queue_id, offset in acks if offset >= ends[queue_id]}
        read = read_from_slave(nodes, acks.keys() - tail)
    missing = acks.keys() - read.keys()
    print(f"acknowledged: {dict(Counter(acks.values()))}; read from the slave: {len(read)};")
    print(f"missing: {len(missing)}")
    assert set(acks.values()) == {SAFE}
    assert len(missing) >= PRODUCERS * TAIL
    assert missing == tail
    assert set(read.values()) == {1}
