"""Java clients continue while brokers fall silent, pause or die, and while consumers die."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import pytest

import fakemq
from conformance.drivers.drivers import Ack
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.java_jars import NEWEST
from conformance.targets.processes import routed, together, wait_received

# Seconds, not milliseconds: every test starts one to four JVMs, side by side where it can.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC, QUEUES = "Brokers", 4
PER_SECOND = 200
BOTH = {"broker-a", "broker-b"}
MANY = 480
IN_A_ROW = 20
PACED_MS = 1000 * IN_A_ROW / PER_SECOND
"""The time in which a producer at this rate sends messages in a row."""
HEARTBEAT_S = 30
"""The interval at which a Java client sends its subscriptions and asks for new routes.

Until its next heartbeat a restarted broker refuses its pulls.
"""


@pytest.fixture
def two_masters(java: None) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={TOPIC: QUEUES}) as cluster:
        yield cluster


# -- brokers that say nothing -----------------------------------------------------------------


@pytest.mark.parametrize("how", ["pause", "silence"])
def test_silent_brokers_route_is_gone_after_120_virtual_seconds(how: str) -> None:
    with fakemq.Cluster(masters=2, clock="frozen", topics={TOPIC: QUEUES}) as cluster:
        addr = cluster.namesrv_addr
        cluster.clock.advance("10s")  # the broker has just registered
        quiet(cluster, how)
        seconds = 0
        while routed(addr, TOPIC) == BOTH:
            cluster.clock.advance("1s")
            seconds += 1
        print(f"{how}: gone after {seconds} virtual seconds")
        assert 120 <= seconds <= 130
        assert routed(addr, TOPIC) == {"broker-a"}


@pytest.mark.parametrize("how", ["pause", "silence"])
def test_silent_brokers_route_is_gone_in_milliseconds_and_comes_back(how: str) -> None:
    with fakemq.Cluster(masters=2, clock="frozen", topics={TOPIC: QUEUES}) as cluster:
        addr = cluster.namesrv_addr
        cluster.clock.advance("10s")
        quiet(cluster, how)
        assert routed(addr, TOPIC) == BOTH
        began_s, used_s = time.monotonic(), time.process_time()
        cluster.clock.advance("130s")
        assert routed(addr, TOPIC) == {"broker-a"}
        took_s, used_ms = time.monotonic() - began_s, (time.process_time() - used_s) * 1000
        print(f"{how}: gone in {took_s * 1000:.1f} real ms, of which {used_ms:.1f} were work")
        assert used_ms < 100
        assert took_s < 10, "it waits for nothing, but the machine may have other work"
        loud(cluster, how)
        if how == "silence":
            cluster.clock.advance("30s")  # its next turn; a process that resumes has missed some
        assert routed(addr, TOPIC) == BOTH
        cluster.clock.advance("2h")
        assert routed(addr, TOPIC) == BOTH


def quiet(cluster: fakemq.Cluster, how: str) -> None:
    if how == "pause":
        cluster.broker("broker-b").pause()
    else:
        cluster.faults.silence("broker-b")


def loud(cluster: fakemq.Cluster, how: str) -> None:
    if how == "pause":
        cluster.broker("broker-b").resume()
    else:
        cluster.faults.clear()


# Three JVMs, each when the route is another: some seconds.
def test_producer_notices_a_silent_broker_only_by_its_route(java: None) -> None:
    cluster = fakemq.Cluster(masters=2, clock="frozen", topics={TOPIC: QUEUES})
    with cluster, JavaProducer(cluster.namesrv_addr, TOPIC, "GOld") as old:
        assert brokers_of(old, "before") == BOTH
        cluster.faults.silence("broker-b")
        cluster.clock.advance("130s")
        # Its sockets stay, and clients that still know its address are served.
        assert brokers_of(old, "after") == BOTH
        assert old.failures == []
        with JavaProducer(cluster.namesrv_addr, TOPIC, "GNew") as new:
            assert brokers_of(new, "new") == {"broker-a"}
        cluster.faults.clear()
        cluster.clock.advance("30s")
        with JavaProducer(cluster.namesrv_addr, TOPIC, "GNewest") as newest:
            assert brokers_of(newest, "newest") == BOTH


def brokers_of(producer: JavaProducer, name: str) -> set[str]:
    """Send a message for each queue of both brokers; return the brokers that got them."""
    return {producer.send(f"{name}-{number}").broker for number in range(2 * QUEUES)}


# -- a broker that dies -----------------------------------------------------------------------


def stored_ids(cluster: fakemq.Cluster, broker: str) -> Counter[str]:
    """Return the keys of the messages that a broker holds, with how many of each."""
    return Counter(m.keys for m in cluster.messages(TOPIC) if m.broker == broker)


def wait_acked(producer: JavaProducer, ids: Collection[str]) -> None:
    """Wait until a producer has the acknowledgement of each of these messages."""
    producer.wait_for(lambda: {ack.id for ack in producer.acks} >= set(ids), "those of the kill")


def wait_more(producer: JavaProducer, count: int) -> None:
    """Wait for this number of further acknowledgements."""
    wanted = len(producer.acks) + count
    producer.wait_for(lambda: len(producer.acks) >= wanted, f"{count} more acks")


def in_a_row_ms(cluster: fakemq.Cluster, acks: Sequence[Ack]) -> int:
    """Return the least time in which `IN_A_ROW` of these messages came after another one.

    A machine with other work is slow now and then; a producer that waits for a dead broker is slow
    with every second message.
    """
    ids = {ack.id for ack in acks}
    at_ms = sorted(m.store_timestamp_ms for m in cluster.messages(TOPIC) if m.keys in ids)
    return min(end - begin for begin, end in zip(at_ms, at_ms[IN_A_ROW:], strict=False))


# 8 s of sending, and up to 30 s until the consumer's next heartbeat.
def test_master_dies_in_the_middle_of_a_run(two_masters: fakemq.Cluster) -> None:
    cluster = two_masters
    addr = cluster.namesrv_addr
    producer = JavaProducer(addr, TOPIC, per_second=PER_SECOND)
    consumer = JavaConsumer(addr, TOPIC)
    with together(producer, consumer):
        consumer.wait_assigned(2 * QUEUES)
        producer.go()
        producer.wait_for(lambda: len(producer.acks) >= MANY, f"{MANY} sends")
        cluster.broker("broker-b").kill()
        assert routed(addr, TOPIC) == {"broker-a"}
        # What it acknowledged before comes out of the JVM. What it stored last may be sent again.
        wait_acked(producer, stored_ids(cluster, "broker-b"))
        at_kill = len(producer.acks)
        wait_more(producer, MANY)
        at_restart = len(producer.acks)
        alone = {ack.broker for ack in producer.acks[at_kill:at_restart]}
        cluster.broker("broker-b").restart()
        assert routed(addr, TOPIC) == BOTH
        producer.wait_for(
            lambda: any(ack.broker == "broker-b" for ack in producer.acks[at_restart:]),
            "a send to the restarted broker",
            2 * HEARTBEAT_S,
        )
        wait_more(producer, MANY)
        producer.stop()
        print(f"acks: {at_kill} before, {at_restart - at_kill} alone, {len(producer.acks)} in all")
        assert alone == {"broker-a"}
        assert in_a_row_ms(cluster, producer.acks[at_kill:at_restart]) < 1.25 * PACED_MS
        assert producer.failures == []
        acked = {
            broker: {ack.id for ack in producer.acks if ack.broker == broker} for broker in BOTH
        }
        assert len(acked["broker-a"]) + len(acked["broker-b"]) == len(producer.acks)
        stored = stored_ids(cluster, "broker-a")
        assert stored == Counter(acked["broker-a"])
        assert stored_ids(cluster, "broker-b").keys() >= acked["broker-b"]

        began = time.monotonic()
        wait_received(consumer, acked["broker-a"] | acked["broker-b"], 2 * HEARTBEAT_S)
        print(f"consumer has all {time.monotonic() - began:.1f} s after the last send")
        received = Counter(m.id for m in consumer.received if m.broker == "broker-a")
        assert received == Counter(acked["broker-a"])
        with JavaConsumer(addr, TOPIC, "GLater", version=NEWEST) as later:
            all_stored = Counter(message.keys for message in cluster.messages(TOPIC))
            later.wait_for(lambda: len(later.received) >= all_stored.total(), "all that is stored")
            assert Counter(message.id for message in later.received) == all_stored


# -- consumers that die -----------------------------------------------------------------------


# Four JVMs, and up to 30 s more when a client's heartbeat was skipped in its rebalance.
def test_queues_of_a_dead_consumer_are_taken_over(java: None) -> None:
    with fakemq.Cluster(topics={TOPIC: QUEUES}) as cluster:
        addr = cluster.namesrv_addr
        producer = JavaProducer(addr, TOPIC, per_second=PER_SECOND)
        first = JavaConsumer(addr, TOPIC, instance="c1")
        second = JavaConsumer(addr, TOPIC, instance="c2")
        with together(producer, first, second):
            first.wait_assigned(QUEUES // 2)
            second.wait_assigned(QUEUES // 2)
            producer.go()
            producer.wait_for(lambda: len(producer.acks) > 100, "100 acks")
            began = time.monotonic()
            second.kill()
            first.wait_assigned(QUEUES)
            print(f"taken over from a killed one in {time.monotonic() - began:.3f} s")
            with JavaConsumer(addr, TOPIC, instance="c3", version=NEWEST) as third:
                third.wait_assigned(QUEUES // 2)
                first.wait_assigned(QUEUES // 2)
                began = time.monotonic()
                third.stop()
                first.wait_assigned(QUEUES)
                print(f"taken over from a stopped one in {time.monotonic() - began:.3f} s")
                producer.stop()
                assert producer.failures == []
                acked = {ack.id for ack in producer.acks}
                everyone = (first, second, third)
                began = time.monotonic()
                first.wait_for(
                    lambda: {m.id for one in everyone for m in one.received} >= acked,
                    "every message",
                    2 * HEARTBEAT_S,
                )
                print(f"everything received {time.monotonic() - began:.1f} s after the last send")
                received = Counter(m.id for one in everyone for m in one.received)
                print(f"{len(acked)} messages, {received.total() - len(acked)} of them again")
                cluster.wait_for(lambda: cluster.group("GConsumer").lag(TOPIC) == 0, "60s")
