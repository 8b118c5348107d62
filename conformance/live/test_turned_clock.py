"""Java consumers stay attached while a test turns the clock, freezes it, or resets the cluster."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import fakemq
from conformance.drivers.java_program import JavaConsumer, JavaProducer
from conformance.live.groups import WAITING
from conformance.targets.java_jars import NEWEST
from conformance.targets.processes import together, wait_received, wall_ms
from conformance.wire.raw import call, frame, split
from fakemq.core.views import Member
from fakemq.events import LinkClosed, PullWoken, RoutineSkipped

# Seconds, not milliseconds: five JVMs start, side by side, for the whole file.
pytestmark = [pytest.mark.slow, WAITING]

TOPIC, QUEUES = "Live", 4
AT_ONCE_MS = 5_000
"""A bound for a message that comes at once, and not when a pull that was held for 15 s ends."""
IDLE_S = 40
LOCK_BATCH_MQ = 41


class Live(NamedTuple):
    """A frozen cluster and the clients of other processes that live on it."""

    cluster: fakemq.Cluster
    producer: JavaProducer
    consumers: dict[str, JavaConsumer]
    """By group."""

    def members(self) -> dict[str, list[Member]]:
        """Return the members of each group in the broker's table, with their connections."""
        return {group: self.cluster.group(group).members() for group in self.consumers}

    def logged(self) -> Counter[str]:
        """Return what the consumers' client logs hold at WARN and above, with how many of each."""
        lines = [line for one in self.consumers.values() for line in one.client_log()]
        return Counter(lines)

    def deliver(self, name: str) -> int:
        """Send one message to each queue; all consumers get each of them, once.

        Return the longest time from before a send to a listener, in real milliseconds.
        """
        sent_ms = {}
        for number in range(QUEUES):
            sent_ms[f"{name}-{number}"] = wall_ms()
            self.producer.send(f"{name}-{number}")
        worst_ms = 0
        for consumer in self.consumers.values():
            wait_received(consumer, sent_ms)
            got = [m for m in consumer.received if m.id in sent_ms]
            assert sorted(m.queue_id for m in got) == list(range(QUEUES))
            worst_ms = max([worst_ms, *(m.at_ms - sent_ms[m.id] for m in got)])
        return worst_ms

    def assert_each_delivered_once(self) -> None:
        """Every message that the topic holds went once to every group, and was received once."""
        stored = self.cluster.messages(TOPIC)
        assert stored
        for message in stored:
            assert sorted(d.group for d in message.deliveries) == sorted(self.consumers), message
        keys = {message.keys for message in stored}
        for group, consumer in self.consumers.items():
            received = Counter(m.id for m in consumer.received if m.id in keys)
            assert received == Counter(keys), group

    def assert_locks_are_kept(self) -> None:
        """No other client can lock a queue that the orderly consumers hold."""
        for group in ("GOrderly", "GOrderly5"):
            wanted = [*range(QUEUES), 99]  # no client has locked the last one
            assert _locked_by_a_thief(self.cluster, group, wanted) == [99]


def _locked_by_a_thief(cluster: fakemq.Cluster, group: str, queue_ids: list[int]) -> list[int]:
    queues = [{"topic": TOPIC, "brokerName": "broker-a", "queueId": id} for id in queue_ids]
    wanted = {"consumerGroup": group, "clientId": "thief", "mqSet": queues}
    body = json.dumps(wanted).encode()
    answer = call(cluster.broker("broker-a").addr, frame(LOCK_BATCH_MQ, {}, body))
    return sorted(queue["queueId"] for queue in json.loads(split(answer)[2])["lockOKMQSet"])


@pytest.fixture(scope="module")
def live(java: None) -> Iterator[Live]:
    """One frozen cluster and its clients for all tests here, as a session fixture would do it."""
    with fakemq.Cluster(clock="frozen", topics={TOPIC: QUEUES}) as cluster:
        addr = cluster.namesrv_addr
        consumers = {
            "GPlain": JavaConsumer(addr, TOPIC, "GPlain", instance="plain"),
            "GOrderly": JavaConsumer(addr, TOPIC, "GOrderly", instance="orderly", orderly=True),
            "GPlain5": JavaConsumer(addr, TOPIC, "GPlain5", instance="plain5", version=NEWEST),
            "GOrderly5": JavaConsumer(
                addr, TOPIC, "GOrderly5", instance="orderly5", version=NEWEST, orderly=True
            ),
        }
        producer = JavaProducer(addr, TOPIC)
        with together(producer, *consumers.values()):
            for consumer in consumers.values():
                consumer.wait_assigned(QUEUES)
            yield Live(cluster, producer, consumers)


# Five JVMs exchange some messages: about a second, and 10 s before the first test.
@pytest.mark.parametrize("clock", ["frozen", "real"])
def test_two_hours_pass_and_every_consumer_is_still_there(live: Live, clock: str) -> None:
    cluster = live.cluster
    if clock == "real":
        cluster.clock.unfreeze()
    live.deliver(f"before-2h-{clock}")
    members = live.members()

    began = time.monotonic()
    fired = cluster.clock.advance("2h")
    took_ms = (time.monotonic() - began) * 1000

    # Five minutes of registrations fire; the others are skipped, or fire in the last ten minutes.
    assert sum(deadline.kind == "register_broker" for deadline in fired) >= 10
    assert cluster.journal.find(RoutineSkipped)
    assert live.members() == members
    peers = {member.peer for group in members.values() for member in group}
    assert len(peers) == len(live.consumers)
    closed = cluster.journal.find(LinkClosed)
    assert [e for e in closed if e.peer in peers or e.why.startswith("idle")] == []
    live.assert_locks_are_kept()
    worst_ms = live.deliver(f"after-2h-{clock}")
    print(f"advance 2h: {took_ms:.1f} ms; next message to its listener: {worst_ms} ms at most")
    assert worst_ms < AT_ONCE_MS
    live.assert_each_delivered_once()
    assert live.members() == members
    cluster.clock.freeze()


# A Java consumer commits every 5 s of its own time, and the test waits for that.
def test_consumers_continue_from_offset_0_after_a_reset(live: Live) -> None:
    cluster = live.cluster
    members, logged = live.members(), live.logged()
    for turn in ("first", "second"):
        for number in range(3):
            live.deliver(f"{turn}-{number}")
        cluster.reset()
        assert cluster.messages(TOPIC) == []
        assert [queue.max_offset for queue in cluster.queues(TOPIC)] == [0] * QUEUES
        for group in live.consumers:
            assert set(cluster.group(group).offsets(TOPIC).values()) <= {0}
        assert live.members() == members
    cluster.reset()

    worst_ms = live.deliver("last")
    print(f"after two resets: next message to its listener in {worst_ms} ms at most")
    assert worst_ms < AT_ONCE_MS
    live.assert_each_delivered_once()
    assert {message.offset for message in cluster.messages(TOPIC)} == {0}
    committed = {("broker-a", queue_id): 1 for queue_id in range(QUEUES)}
    cluster.wait_for(
        lambda: all(cluster.group(name).offsets(TOPIC) == committed for name in live.consumers),
        "60s",
    )
    assert cluster.messages("OFFSET_MOVED_EVENT") == []
    new = list((live.logged() - logged).elements())
    assert [line for line in new if "pull" in line.lower() or "offset" in line.lower()] == []


# 2 s of sending by nature.
def test_resets_amid_traffic_neither_lose_nor_repeat_what_comes_after(live: Live) -> None:
    cluster = live.cluster
    live.producer.go()
    for _ in range(4):
        time.sleep(0.4)
        cluster.reset()
    cluster.wait_for(lambda: len(cluster.messages(TOPIC)) > 20, timeout="30s")
    live.producer.pause()
    live.producer.send("the-last")
    time.sleep(0.1)  # one more may have been under way
    stored = [message.keys for message in cluster.messages(TOPIC)]
    assert len(stored) > 20
    for consumer in live.consumers.values():
        wait_received(consumer, stored)
        received = Counter(m.id for m in consumer.received if m.id in stored)
        assert received == Counter(stored)
    assert live.producer.failures == []


# Slow by nature: it is about 40 real seconds.
def test_consumer_idle_for_40_s_on_a_frozen_clock_gets_the_next_message_at_once(
    live: Live,
) -> None:
    cluster = live.cluster
    live.deliver("before-idle")
    members, now_ms, logged = live.members(), cluster.clock.now_ms(), live.logged()

    time.sleep(IDLE_S)

    assert cluster.clock.now_ms() == now_ms
    # Held pulls have ended as in real life, and been renewed.
    assert len(cluster.journal.find(PullWoken, why="timeout")) >= QUEUES * len(live.consumers)
    assert live.members() == members
    live.assert_locks_are_kept()
    worst_ms = live.deliver("after-idle")
    print(f"idle {IDLE_S} s: next message to its listener in {worst_ms} ms at most")
    assert worst_ms < AT_ONCE_MS
    live.assert_each_delivered_once()
    new = list((live.logged() - logged).elements())
    print("\n".join(["logged meanwhile:", *new]))
    assert [line for line in new if "pull" in line.lower()] == []
