"""Roles change by config and restart: what Java keeps and loses then, ours keeps and loses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaClusterError, wait_until
from conformance.targets.master_slave_pairs import (
    QUICK_REPORT,
    SLAVE,
    Node,
    Pair,
    broker,
    broker_ids,
    make_topic,
    max_offset,
    name_server,
    side_by_side,
)

# A slave connects after 5 s, twice, and every producer and consumer is a JVM of its own.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC = "Roles"
IN_STEP_S = 60.0
MASTER = {**QUICK_REPORT, "brokerRole": "SYNC_MASTER", "brokerId": "0"}
KINDS = ("java", "fake")


def follow(slave: Node, count: int) -> None:
    """Start a slave; on return it has ``count`` messages of its master."""
    slave.start()
    wait_until(lambda: max_offset(slave.addr, TOPIC) == count, IN_STEP_S)


def send(namesrv_addr: str, ids: Iterable[str]) -> list[str]:
    """Return the statuses of a new producer's sends."""
    with JavaProducer(namesrv_addr, TOPIC) as producer:
        acks = [producer.send(id) for id in ids]
    return [f"{ack.id} {ack.status} at {ack.queue_offset}" for ack in acks]


def read(namesrv_addr: str, group: str, count: int) -> str:
    """Return the messages that a new group gets, in the queue's order."""
    with JavaConsumer(namesrv_addr, TOPIC, group) as consumer:
        consumer.wait_for(lambda: len(consumer.received) >= count, f"{count} messages")
        received = sorted(consumer.received, key=lambda message: message.queue_offset)
    return " ".join(message.id for message in received)


def swap(nodes: Pair) -> list[str]:
    """Let the master die in step with its slave, which takes its place; return what happened."""
    namesrv_addr, old, new = nodes
    make_topic(nodes, TOPIC, 1)
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
    # The name server finds out by the end of the connection.
    wait_until(lambda: len(broker_ids(namesrv_addr)) < 2, IN_STEP_S)
    seen.append(f"ids {broker_ids(namesrv_addr)}")
    seen.append(f"the old one has {read(namesrv_addr, 'GOld', 6)}")
    return seen


def test_slave_is_promoted_and_its_master_demoted(java: None, tmp_path: Path) -> None:
    for kind, seen in side_by_side(swap, tmp_path, MASTER, KINDS).items():
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
        ], kind


def swap_with_one_ahead(nodes: Pair) -> list[str]:
    """Let the master die with two messages that its slave does not have; return what happened."""
    namesrv_addr, old, new = nodes
    make_topic(nodes, TOPIC, 1)
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
    return seen


def test_demoted_master_that_was_ahead_never_agrees_again(java: None, tmp_path: Path) -> None:
    """Logs are not compared: the old master's continues, where it ends, with what the new one has.

    Messages of one size make that the beginning of a message.
    """
    for kind, seen in side_by_side(swap_with_one_ahead, tmp_path, MASTER, KINDS).items():
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
        ], kind


@pytest.mark.parametrize("kind", KINDS)
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
