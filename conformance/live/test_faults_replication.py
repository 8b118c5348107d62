"""Faults of replication, as a Java producer and Java consumers see them."""

from __future__ import annotations

import socket

import pytest

import fakemq
from conformance.drivers.drivers import Consuming
from conformance.drivers.faulty_sends import Sender
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.processes import together, wait_received
from conformance.wire.raw import call, frame, json_header
from fakemq.events.replication import SlaveReported

# Three JVMs.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC, MASTER, SLAVE = "Faulty", "broker-a-0", "broker-a-1"
SAFE, NO_SLAVE, TIMEOUT = "SEND_OK", "SLAVE_NOT_AVAILABLE", "FLUSH_SLAVE_TIMEOUT"
ENOUGH = "3s"
"""For a send to wait for a slave in vain."""
IN_STEP = "15s"
"""For a slave to connect and to report."""
_UPDATE_CONSUMER_OFFSET = 15


def ids(consumer: Consuming) -> list[str]:
    """Return what a consumer was given, in the queue's order."""
    return [m.id for m in sorted(consumer.received, key=lambda m: m.queue_offset)]


def tell_what_becomes_of_sends(mq: fakemq.Cluster, sender: Sender) -> None:
    """A slave that is held, one without reports, one whose transfer is torn."""
    assert sender.send("first") == SAFE
    with mq.faults.hold_slave(SLAVE):
        assert sender.send("held", ENOUGH) == TIMEOUT
    assert sender.send("released") == SAFE
    with mq.faults.withhold_acks(SLAVE):
        assert sender.send("unreported", ENOUGH) == TIMEOUT
    assert sender.send("reported") == SAFE
    torn = mq.faults.tear_transfer(SLAVE, at_byte=20)
    mq.clock.advance("10s")
    assert sender.send("torn", ENOUGH) == TIMEOUT
    assert torn.fired == 1
    mq.clock.advance(IN_STEP)
    assert sender.send("whole") == SAFE


def let_a_slave_lie(mq: fakemq.Cluster, sender: Sender) -> None:
    """A sender gets SEND_OK although no slave has its message."""
    mq.broker(SLAVE).kill()
    assert sender.send("alone") == NO_SLAVE
    with mq.faults.believe_reports("broker-a"):
        host, _, port = mq.broker("broker-a").ha_addr.rpartition(":")
        with socket.create_connection((host, int(port))) as liar:
            liar.sendall((1 << 60).to_bytes(8))
            mq.wait_for(lambda: mq.journal.find(SlaveReported, offset=1 << 60))
            assert sender.send("believed") == SAFE
    mq.broker("broker-a").restart()
    mq.broker(SLAVE).restart()
    mq.clock.advance(IN_STEP)
    assert sender.send("true") == SAFE


def leave_the_slave_old_offsets(mq: fakemq.Cluster, group: str) -> None:
    """The slave receives a group's first offset again, after a later one."""
    fault = mq.faults.reorder_metadata(SLAVE, "offsets")
    for offset in (2, 5):
        fields = {"consumerGroup": group, "topic": TOPIC, "queueId": "0"}
        committed = frame(_UPDATE_CONSUMER_OFFSET, {**fields, "commitOffset": str(offset)})
        assert json_header(call(mq.broker("broker-a").addr, committed))["code"] == 0
        mq.clock.advance_to_next("slave_sync")
    assert fault.fired == 1


def lose_the_master(mq: fakemq.Cluster, sender: Sender) -> None:
    """An ASYNC_MASTER dies with two messages that its slave never had, and one that it lost."""
    last = mq.messages(TOPIC)[-1].commit_log_offset
    with mq.faults.hold_slave(SLAVE, at_offset=last):
        cut = mq.faults.truncate_slave(SLAVE, to_offset=last + 100, at_once=True)
        assert cut.fired == 1
        leave_the_slave_old_offsets(mq, "GLate")  # which takes until it has connected again
        assert [sender.send(id) for id in ("lost1", "lost2")] == [SAFE] * 2
        mq.clock.advance("1s")
        mq.broker("broker-a").kill()


def test_faults_of_replication_decide_statuses_and_what_the_slave_has(java: None) -> None:
    """What a SYNC_MASTER acknowledged is there; of an ASYNC_MASTER's, what the slave has."""
    with fakemq.Cluster(
        slaves=1, role="SYNC_MASTER", clock="frozen", topics={TOPIC: 1}, seed=1
    ) as mq:
        with JavaProducer(mq.namesrv_addr, TOPIC) as producer:
            sender = Sender(mq, producer)
            tell_what_becomes_of_sends(mq, sender)
            let_a_slave_lie(mq, sender)
            assert sender.send("cut") == SAFE
            kept = [message.body.decode() for message in mq.messages(TOPIC)]
            mq.broker("broker-a").restart({"brokerRole": "ASYNC_MASTER"})
            mq.clock.advance(IN_STEP)
            lose_the_master(mq, sender)
        kept.remove("cut")
        new = JavaConsumer(mq.namesrv_addr, TOPIC, "GNew")
        late = JavaConsumer(mq.namesrv_addr, TOPIC, "GLate")
        with together(new, late):
            wait_received(new, kept)
            wait_received(late, kept[2:])
            assert ids(new) == kept
            assert ids(late) == kept[2:]
        assert mq.faults.unused() == []
