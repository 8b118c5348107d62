"""Roles change by config and restart: what Java keeps and loses then, ours keeps and loses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.java_cluster import JavaClusterError, wait_until
from conformance.java_program import JavaConsumer, JavaProducer
from conformance.pairs import (
    QUICK_REPORT,
    SLAVE,
    Node,
    broker,
    broker_ids,
    max_offset,
    name_server,
    pair,
)
from conformance.raw import create_topic

# A slave connects after 5 s, twice, and every producer and consumer is a JVM of its own.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOPIC = "Roles"
IN_STEP_S = 60.0
MASTER = {**QUICK_REPORT, "brokerRole": "SYNC_MASTER", "brokerId": "0"}
KINDS = pytest.mark.parametrize("kind", ["java", "fake"])


def follow(slave: Node, count: int) -> None:
    """Start a slave; on return it has so many messages of its master."""
    slave.start()
    wait_until(lambda: max_offset(slave.addr, TOPIC) == count, IN_STEP_S)


def send(namesrv_addr: str, ids: Iterable[str]) -> list[str]:
    """What a new producer is told of its sends."""
    with JavaProducer(namesrv_addr, TOPIC) as producer:
        acks = [producer.send(id) for id in ids]
    return [f"{ack.id} {ack.status} at {ack.queue_offset}" for ack in acks]


def read(namesrv_addr: str, group: str, count: int) -> str:
    """The messages that a new group gets, in the queue's order."""
    with JavaConsumer(namesrv_addr, TOPIC, group) as consumer:
        consumer.wait_for(lambda: len(consumer.received) >= count, f"{count} messages")
        received = sorted(consumer.received, key=lambda message: message.queue_offset)
    return " ".join(message.id for message in received)


@KINDS
def test_a_slave_is_promoted_and_its_master_demoted(java: None, tmp_path: Path, kind: str) -> None:
    with pair(kind, kind, tmp_path, MASTER) as (namesrv_addr, old, new):
        create_topic(old.addr, TOPIC, 1)
        seen = send(namesrv_addr, ["a0", "a1"])
        follow(new, 2)
        seen += send(namesrv_addr, ["a2"])
        old.kill()
        new.stop()
        new.config |= MASTER
        new.start()
        seen += send(namesrv_addr, ["b0", "b1"])
        old.config |= SLAVE
        follow(old, 5)
        seen += send(namesrv_addr, ["c0"])
        seen.append(f"ids {broker_ids(namesrv_addr)}")
        seen.append(f"the new one has {read(namesrv_addr, 'GNew', 6)}")
        new.kill()
        seen.append(f"ids {broker_ids(namesrv_addr)}")
        seen.append(f"the old one has {read(namesrv_addr, 'GOld', 6)}")
    print("\n".join(seen))
    assert seen == [
        "a0 SLAVE_NOT_AVAILABLE at 0",
        "a1 SLAVE_NOT_AVAILABLE at 1",
        "a2 SEND_OK at 2",
        "b0 SLAVE_NOT_AVAILABLE at 3",
        "b1 SLAVE_NOT_AVAILABLE at 4",
        "c0 SEND_OK at 5",
        "ids [0, 1]",
        "the new one has a0 a1 a2 b0 b1 c0",
        "ids [1]",
        "the old one has a0 a1 a2 b0 b1 c0",
    ]


@KINDS
def test_who_was_ahead_and_is_demoted_never_agrees_again(
    java: None, tmp_path: Path, kind: str
) -> None:
    """Logs are not compared: the old master's goes on, where it ends, with what the new one has.

    Messages of one size make that the beginning of a message.
    """
    with pair(kind, kind, tmp_path, MASTER) as (namesrv_addr, old, new):
        create_topic(old.addr, TOPIC, 1)
        seen = send(namesrv_addr, ["a0", "a1"])
        follow(new, 2)
        new.stop()
        seen += send(namesrv_addr, ["t0", "t1"])
        new.config |= MASTER
        old.kill()
        new.start()
        seen += send(namesrv_addr, ["b0", "b1", "b2"])
        old.config |= SLAVE
        follow(old, 5)
        seen += send(namesrv_addr, ["c0"])
        seen.append(f"the new one has {read(namesrv_addr, 'GNew', 6)}")
        new.kill()
        seen.append(f"the old one has {read(namesrv_addr, 'GOld', 6)}")
    print("\n".join(seen))
    assert seen == [
        "a0 SLAVE_NOT_AVAILABLE at 0",
        "a1 SLAVE_NOT_AVAILABLE at 1",
        "t0 SLAVE_NOT_AVAILABLE at 2",
        "t1 SLAVE_NOT_AVAILABLE at 3",
        "b0 SLAVE_NOT_AVAILABLE at 2",
        "b1 SLAVE_NOT_AVAILABLE at 3",
        "b2 SLAVE_NOT_AVAILABLE at 4",
        "c0 SEND_OK at 5",
        "the new one has a0 a1 b0 b1 b2 c0",
        "the old one has a0 a1 t0 t1 b2 c0",
    ]


@KINDS
def test_roles_decide_ids(java: None, tmp_path: Path, kind: str) -> None:
    with name_server(kind, tmp_path) as namesrv:
        node = broker(kind, "broker-a", tmp_path / "broker", namesrv)
        try:
            for role in ("ASYNC_MASTER", "SYNC_MASTER"):
                node.config |= {"brokerRole": role, "brokerId": "7"}
                node.start()
                assert broker_ids(namesrv.addr) == [0]
                node.kill()
            for id in ("0", "-1"):
                node.config |= {"brokerRole": "SLAVE", "brokerId": id}
                with pytest.raises(
                    (AssertionError, JavaClusterError), match="Slave's brokerId must be > 0"
                ):
                    node.start()
                node.kill()  # what is left of it
        finally:
            node.kill()
