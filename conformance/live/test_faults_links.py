"""What a Java client sees of every fault of links, in either direction of the link."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pytest

import fakemq
from conformance.drivers.drivers import Ack, DriverError
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.processes import together, wait_received
from fakemq.events import LinkClosed, RequestReceived
from fakemq.handles.faults import Fault
from fakemq.protocol.codes import RequestCode

# JVMs start, and what a fault makes late is late in real time.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC = "Links"
LATE_S = 0.4
LATE = "400ms"
TO_BROKER, TO_CLIENTS = ("clients", "broker-a"), ("broker-a", "clients")
BOTH = pytest.mark.parametrize("way", [TO_BROKER, TO_CLIENTS], ids=["to-broker", "to-clients"])
HA_BOTH = pytest.mark.parametrize(
    "way",
    [("broker-a-0", "broker-a-1"), ("broker-a-1", "broker-a-0")],
    ids=["to-slave", "to-master"],
)
_numbers = count(1)


class Sent(NamedTuple):
    """How a send ended: its acknowledgement, if it got one, and after how many seconds."""

    id: str
    ack: Ack | None
    took_s: float


class Lab(NamedTuple):
    """A master that waits for its slave, and Java clients in other processes."""

    mq: fakemq.Cluster
    producer: JavaProducer
    consumer: JavaConsumer

    @property
    def producer_addr(self) -> str:
        """Where the producer's last message came from."""
        return self.mq.journal.find(RequestReceived, code=RequestCode.SEND_MESSAGE_V2)[-1].peer

    def begin(self, size_bytes: int = 0, timeout_ms: int | None = None) -> str:
        id = f"m{next(_numbers)}"
        self.producer.begin(id, size_bytes, timeout_ms)
        return id

    def send(self, size_bytes: int = 0, timeout_ms: int | None = None) -> Sent:
        began = time.monotonic()
        id = self.begin(size_bytes, timeout_ms)
        try:
            ack = self.producer.ended(id)
        except DriverError:
            return Sent(id, None, time.monotonic() - began)
        return Sent(id, ack, time.monotonic() - began)

    def stored(self, id: str) -> int:
        """Return how often a message is in the store."""
        return [message.keys for message in self.mq.messages(TOPIC)].count(id)

    def ended(self, id: str) -> bool:
        return any(ack.id == id for ack in self.producer.acks) or any(
            failure.startswith(f"{id} ") for failure in self.producer.failures
        )

    def all_is_well(self) -> None:
        """Assert that the next message is stored, replicated and received."""
        sent = self.send()
        assert sent.ack is not None
        assert sent.ack.status == "SEND_OK"
        wait_received(self.consumer, [sent.id])


@pytest.fixture(scope="module")
def running(java: None) -> Iterator[Lab]:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={TOPIC: 1}) as mq:
        producer = JavaProducer(mq.namesrv_addr, TOPIC)
        consumer = JavaConsumer(mq.namesrv_addr, TOPIC)
        with together(producer, consumer):
            lab = Lab(mq, producer, consumer)
            lab.all_is_well()
            yield lab


@pytest.fixture
def lab(running: Lab) -> Iterator[Lab]:
    """All is well before and after: no fault outlives its test, nor what it did."""
    yield running
    for fault in running.mq.faults.placed():
        fault.remove()
    running.all_is_well()


# -- a client and a broker ----------------------------------------------------------------------


@BOTH
def test_latency_is_seen_in_the_round_trip(lab: Lab, way: tuple[str, str]) -> None:
    with lab.mq.faults.latency(*way, LATE, one_way=True) as fault:
        assert lab.send().took_s >= LATE_S
        assert fault.used


def test_latency_of_both_ways_is_seen_twice_and_jitter_varies(lab: Lab) -> None:
    with lab.mq.faults.latency(*TO_BROKER, LATE):
        assert lab.send().took_s >= 2 * LATE_S
    with lab.mq.faults.latency(*TO_BROKER, "150ms", jitter="150ms"):
        took_s = [lab.send().took_s for _ in range(6)]
        assert max(took_s) - min(took_s) > 0.02


def test_bandwidth_slows_what_is_sent(lab: Lab) -> None:
    with lab.mq.faults.bandwidth(*TO_BROKER, "1MiB", one_way=True):
        assert lab.send(1 << 20).took_s >= 1


def test_bandwidth_slows_what_is_received(lab: Lab) -> None:
    with lab.mq.faults.bandwidth(*TO_CLIENTS, "1MiB", one_way=True):
        began = time.monotonic()
        sent = lab.send(1 << 20)
        wait_received(lab.consumer, [sent.id])
        assert time.monotonic() - began >= 1


@BOTH
def test_bytes_that_come_one_by_one_are_understood(lab: Lab, way: tuple[str, str]) -> None:
    with lab.mq.faults.slice(*way, bytes=1, one_way=True) as fault:
        sent = lab.send(2000)
        assert sent.ack is not None
        wait_received(lab.consumer, [sent.id])
        assert fault.used


@BOTH
def test_reset_is_noticed_and_the_send_tried_again(lab: Lab, way: tuple[str, str]) -> None:
    # What the reset meets on its way: a request that has not come, or an answer.
    with lab.mq.faults.hold(*way, one_way=True) as hold:
        id = lab.begin()
        lab.mq.wait_for(lambda: hold.used)
        fault = lab.mq.faults.reset(lab.producer_addr, "broker-a")
        assert fault.fired == 1
    assert lab.producer.ended(id).status == "SEND_OK"
    assert lab.stored(id) >= 1
    assert lab.mq.journal.find(LinkClosed, why=fault.what)


@BOTH
def test_cut_within_a_frame_ends_the_send_with_a_time_out(lab: Lab, way: tuple[str, str]) -> None:
    """A Java client that waits for an answer does not notice the end of its connection."""
    addr = lab.producer_addr
    ends = (addr, "broker-a") if way is TO_BROKER else ("broker-a", addr)
    fault = lab.mq.faults.cut(*ends, after_bytes=30)
    sent = lab.send(timeout_ms=1000)
    assert sent.ack is None
    assert sent.took_s >= 1
    assert lab.stored(sent.id) == (way is TO_CLIENTS)
    lab.mq.wait_for(lambda: lab.mq.journal.find(LinkClosed, why=fault.what))
    lab.all_is_well()
    assert lab.producer_addr != addr


@BOTH
@pytest.mark.parametrize("kind", ["hold", "partition"])
def test_held_bytes_arrive_after_the_fault(lab: Lab, way: tuple[str, str], kind: str) -> None:
    fault: Fault = getattr(lab.mq.faults, kind)(*way, one_way=True)
    id = lab.begin()
    lab.mq.wait_for(lambda: fault.used)
    if way is TO_CLIENTS:
        lab.mq.wait_for(lambda: lab.stored(id) == 1)
    time.sleep(0.3)  # a client that is not kept back would have ended by now
    assert not lab.ended(id)
    assert lab.stored(id) == (way is TO_CLIENTS)
    fault.remove()
    assert lab.producer.ended(id).status == "SEND_OK"


def test_send_times_out_in_a_partition_and_the_next_is_well(lab: Lab) -> None:
    lab.mq.partition("clients", "broker-a")
    sent = lab.send(timeout_ms=700)
    assert sent.ack is None
    assert sent.took_s >= 0.7
    assert any(text.startswith(f"{sent.id} Remoting") for text in lab.producer.failures)
    assert lab.stored(sent.id) == 0
    lab.mq.heal()
    lab.all_is_well()


def test_partition_of_one_client_holds_back_its_messages_only(lab: Lab) -> None:
    (member,) = lab.mq.group("GConsumer").members()
    with lab.mq.faults.hold(member.client_id, "broker-a") as hold:
        sent = lab.send()
        assert sent.ack is not None
        lab.mq.wait_for(lambda: hold.used)
        assert sent.id not in {message.id for message in lab.consumer.received}
    wait_received(lab.consumer, [sent.id])


# -- a slave and its master ---------------------------------------------------------------------


@HA_BOTH
def test_replication_that_is_late_makes_sends_late(lab: Lab, way: tuple[str, str]) -> None:
    with lab.mq.faults.latency(*way, LATE, one_way=True, link="ha"):
        sent = lab.send()
    assert sent.ack is not None
    assert sent.ack.status == "SEND_OK"
    assert sent.took_s >= LATE_S


def test_narrow_line_makes_replication_slow(lab: Lab) -> None:
    with lab.mq.faults.bandwidth("broker-a-0", "broker-a-1", "256KiB", link="ha"):
        sent = lab.send(200 << 10)
    assert sent.ack is not None
    assert sent.took_s >= 0.7


def test_replication_works_byte_by_byte(lab: Lab) -> None:
    with lab.mq.faults.slice("broker-a-0", "broker-a-1", bytes=1, link="ha") as fault:
        lab.all_is_well()
        assert fault.used


@HA_BOTH
def test_replication_on_hold_keeps_the_sender_waiting(lab: Lab, way: tuple[str, str]) -> None:
    hold = lab.mq.faults.hold(*way, one_way=True, link="ha")
    id = lab.begin()
    lab.mq.wait_for(lambda: hold.used)
    time.sleep(0.3)  # a sender that does not wait for the slave would have its answer
    assert not lab.ended(id)
    hold.release()
    assert lab.producer.ended(id).status == "SEND_OK"


@pytest.mark.parametrize("kind", ["reset", "cut"])
def test_replication_that_breaks_off_is_taken_up_again(lab: Lab, kind: str) -> None:
    if kind == "reset":
        fault = lab.mq.faults.reset("broker-a-0", "broker-a-1", link="ha")
    else:
        fault = lab.mq.faults.cut("broker-a-0", "broker-a-1", after_bytes=20, link="ha")
    id = lab.begin()
    lab.mq.wait_for(lambda: fault.used and lab.stored(id))
    lab.mq.clock.advance("4s")  # the slave that connects at once reports after 5 s
    assert lab.producer.ended(id).status != "SEND_OK"
    lab.mq.clock.advance("11s")
    lab.all_is_well()


def test_slave_behind_a_partition_is_given_up_and_comes_back(lab: Lab) -> None:
    partition = lab.mq.partition("broker-a", "broker-a-1")
    id = lab.begin()
    lab.mq.wait_for(lambda: partition.used and lab.stored(id))
    lab.mq.clock.advance("4s")
    assert lab.producer.ended(id).status == "FLUSH_SLAVE_TIMEOUT"
    lab.mq.clock.advance("25s")  # the master closes the link of a silent slave
    sent = lab.send()
    assert sent.ack is not None
    assert sent.ack.status == "SLAVE_NOT_AVAILABLE"
    lab.mq.heal()
    lab.mq.clock.advance("11s")
    lab.all_is_well()


# -- a broker and its name server ---------------------------------------------------------------


def test_partition_from_the_name_server_takes_away_the_routes(java: None) -> None:
    """A Java client that comes finds no route until it heals.

    Once it has, it turns to the other broker when one ends its connection.
    """
    with fakemq.Cluster(masters=2, topics={TOPIC: 1}) as mq:
        for broker in ("broker-a", "broker-b"):
            mq.partition(broker, "namesrv-0")
        mq.clock.advance("131s")
        with JavaProducer(mq.namesrv_addr, TOPIC) as producer:
            with pytest.raises(DriverError, match="No route info of this topic"):
                producer.send("nowhere")
            mq.heal()
            mq.clock.advance("31s")
            assert producer.send("somewhere").status == "SEND_OK"
            hold = mq.faults.hold("broker-a", "clients", one_way=True)
            for number in range(3):  # its turns are one broker's, then the other's
                id = f"turn-{number}"
                producer.begin(id)
                while not hold.used and id not in {ack.id for ack in producer.acks}:
                    time.sleep(0.02)  # neither of them waits for both
                if hold.used:
                    break
            mq.faults.reset("clients", "broker-a")
            ack = producer.ended(id)
            assert (ack.status, ack.broker) == ("SEND_OK", "broker-b")
