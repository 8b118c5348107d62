"""Faults of disks, as a Java producer and a Java consumer see them."""

from __future__ import annotations

from pathlib import Path

import pytest

import fakemq
from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.drivers.faulty_sends import FAILED, Sender
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.processes import wait_received
from fakemq.events import AppendRefused, StoreRepaired
from fakemq.handles.values import Message

# Two JVMs, and sends that Java tries again three times.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC = "Faulty"
SAFE, TIMEOUT = "SEND_OK", "FLUSH_DISK_TIMEOUT"


def refuse(mq: fakemq.Cluster, sender: Sender) -> None:
    """A disk that is slow, full, and then broken until the next start."""
    assert [sender.send(id) for id in ("s0", "s1", "s2")] == [SAFE] * 3
    with mq.faults.slow_flush("broker-a", "8s"):
        assert sender.send("slow", "6s") == TIMEOUT
        mq.clock.advance("2s")
    assert sender.send("fast") == SAFE
    with mq.faults.disk_full("broker-a"):
        assert sender.send("full") == FAILED
    assert sender.send("free") == SAFE
    with mq.faults.fail_flush("broker-a"):
        assert sender.send("unsure") == TIMEOUT
        assert sender.send("broken") == FAILED
    refused = mq.journal.find(AppendRefused, topic=TOPIC)
    assert {event.status for event in refused} == {"SERVICE_NOT_AVAILABLE"}
    mq.broker("broker-a").restart()
    assert sender.send("mended") == SAFE


def pause_in_a_send(mq: fakemq.Cluster, producer: JavaProducer) -> None:
    """The broker stops with a message that it has stored, and answers when it resumes."""
    mq.faults.pause("SEND_MESSAGE_V2", node="broker-a", at="before_reply")
    producer.say("send paused")
    mq.wait_for(lambda: mq.broker("broker-a").state == "paused", timeout=EVENT_TIMEOUT_S)
    assert "paused" not in {ack.id for ack in producer.acks}
    mq.broker("broker-a").resume()
    producer.wait_for(lambda: "paused" in {ack.id for ack in producer.acks}, "the answer")


def lose(mq: fakemq.Cluster, sender: Sender) -> None:
    """What was acknowledged is gone: the next message has its place in the queue."""
    assert sender.send("torn") == SAFE
    mq.faults.tear_last_write("broker-a")
    mq.broker("broker-a").kill()
    mq.broker("broker-a").restart()
    assert sender.send("after1") == SAFE
    assert sender.place("after1") == sender.place("torn")
    with mq.faults.lose_flush("broker-a", always=True):
        assert [sender.send(id) for id in ("lost1", "lost2")] == [SAFE] * 2
        mq.broker("broker-a").kill(lose_unsynced=True)
    mq.broker("broker-a").restart()
    assert sender.send("after2") == SAFE
    assert sender.place("after2") == sender.place("lost1")


def message(mq: fakemq.Cluster, id: str) -> Message:
    return next(one for one in mq.messages(TOPIC) if one.keys == id)


def flip(mq: fakemq.Cluster, producer: JavaProducer) -> None:
    """An entry of the index, the tags in a queue's entry, a body."""
    assert [producer.find(id) for id in ("s0", "s1")] == [1, 1]
    mq.faults.flip_byte(message(mq, "s0"), where="index")
    assert [producer.find(id) for id in ("s0", "s1")] == [0, 1]
    mq.faults.flip_byte(message(mq, "s1"), where="queue")
    mq.faults.flip_byte(message(mq, "s2"))


def test_faults_of_disks_refuse_pause_lose_and_damage_messages(java: None, tmp_path: Path) -> None:
    with (
        fakemq.Cluster(
            store=str(tmp_path), flush="SYNC_FLUSH", clock="frozen", topics={TOPIC: 1}, seed=1
        ) as mq,
        JavaProducer(mq.namesrv_addr, TOPIC) as producer,
    ):
        sender = Sender(mq, producer)
        refuse(mq, sender)
        pause_in_a_send(mq, producer)
        lose(mq, sender)
        kept = [one.keys for one in mq.messages(TOPIC)]
        lost = {"full", "broken", "torn", "lost1", "lost2"}
        assert lost.isdisjoint(kept)
        flip(mq, producer)
        with JavaConsumer(mq.namesrv_addr, TOPIC, expression="driver") as consumer:
            wait_received(consumer, set(kept) - {"s1"})
            # Neither the broker nor the client checks a checksum when it delivers.
            assert {one.id for one in consumer.received if one.damaged} == {"s2"}
            assert {one.id for one in consumer.received} == set(kept) - {"s1"}
        # The next start does, and the log ends there.
        mq.broker("broker-a").restart()
        assert mq.journal.find(StoreRepaired)
        assert sender.send("last") == SAFE
        assert sender.place("last") == sender.place("s2")
        assert mq.faults.unused() == []
