"""Push consumers: filters, order, queue shares, a death, broadcasting."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from conformance.python.lab import Lab
from conformance.python.listening import Ear
from conformance.python.seen import by_key
from conformance.python.steps import await_, message, places, queue_at
from fakemq.client import Message, Producer, ReceivedMessage
from fakemq.protocol.bodies.queue import MessageQueue

BROKERS = ("broker-a", "broker-b")
NOTIFIED_WITHIN_S = 10
"""A broker notifies the others of a death at once; the rebalance timer would take 20 s."""


def push(lab: Lab) -> None:
    topic = lab.create_topic("Push", 2)
    producer = lab.producer("Push")
    all_ = lab.ear("PushAll", "all", topic)
    tag_a = lab.ear("PushA", "tagA", topic, "TagA")
    tag_ac = lab.ear("PushAC", "tagAC", topic, "TagA || TagC")
    # "Aa" and "BB" have the same hash code: the broker's filter passes both, the client's must not.
    collide = lab.ear("PushAa", "tagAa", topic, "Aa")
    tags = ("TagA", "TagB", "TagC", "Aa", "BB", "")
    for i in range(12):
        producer.send(message(topic, tags[i % len(tags)], f"m{chr(ord('a') + i)}"))
    for ear, count in (
        (all_, 12),
        (tag_a, 2),
        (tag_ac, 4),
        (collide, 2),
    ):
        ear.await_messages(count)
    for one in by_key(all_.messages):
        # How far the queue was when this pull found it is a race.
        lab.say("* got", lab.describe(one, "MAX_OFFSET"))
    lab.say("TagA got", tag_a.summary())
    lab.say("TagA || TagC got", tag_ac.summary())
    lab.say("Aa got", collide.summary())

    # Nothing is committed for this group, yet "last" starts at 0: the topic is young.
    from_last = lab.ear("PushLast", "last", topic, consume_from="last")
    from_last.await_messages(12)
    lab.say("CONSUME_FROM_LAST_OFFSET got", from_last.summary())
    lab.say("retry topic queues", places(lab.queues("%RETRY%" + lab.group("PushLast"))))

    all_.consumer.close()
    lab.say("committed at shutdown, sum of offsets", lab.committed_in_all("PushAll", topic))
    again = lab.ear("PushAll", "again", topic)
    producer.send(message(topic, "TagA", "later"))
    await_("the later one", lambda: bool(again.messages))
    lab.say("after restart got", again.keys())


class Order:
    """What a listener was given, in order, by queue."""

    def __init__(self) -> None:
        self._by_queue: dict[str, list[str]] = defaultdict(list)
        self._changing = threading.Lock()
        self.count = 0

    def add(self, one: ReceivedMessage) -> None:
        with self._changing:
            self._by_queue[f"{one.broker_name}:{one.queue_id}"].append(one.keys)
            self.count += 1

    def await_count(self, count: int) -> None:
        await_(f"{count} messages", lambda: self.count >= count)

    def by_queue(self) -> dict[str, list[str]]:
        with self._changing:
            return {queue: list(self._by_queue[queue]) for queue in sorted(self._by_queue)}


def the(index: int) -> Callable[[Sequence[MessageQueue], Message], MessageQueue]:
    """Return a selector of the queue at an index."""
    return lambda queues, _: queues[index]


def orderly(lab: Lab) -> None:
    topic = lab.create_topic("Orderly", 2)
    producer = lab.producer("Orderly")
    order = Order()
    for part in range(2):
        for i in range(20):
            one = message(topic, "t", f"m{part}{chr(ord('a') + i)}")
            producer.send(one, selector=the(i % 4))
        consumer = lab.push_consumer(
            "Orderly", f"orderly-{part}", {topic: "*"}, order.add, ordered=True
        )
        order.await_count(20 * (part + 1))
        # Closing returns the locks, so that the next consumer does not wait for their lease.
        consumer.close()
    for queue, keys in order.by_queue().items():
        lab.say(f"order in {queue}", keys)


def rebalance(lab: Lab) -> None:
    topic = lab.create_topic("Rebalance", 4)
    producer = lab.producer("Rebalance")
    one = lab.ear("Rebalance", "c1", topic)
    one.await_queues(topic, 8)
    lab.say("alone", one.share(topic))
    send_round(producer, topic, "a")
    one.await_keys(16)

    two = lab.ear("Rebalance", "c2", topic)
    await_("halves", lambda: len(one.assigned(topic)) == len(two.assigned(topic)) == 4)
    lab.say("first of two", one.share(topic))
    lab.say("second of two", two.share(topic))
    send_round(producer, topic, "b")
    await_("round b", lambda: len(one.keys() | two.keys()) == 32)
    halves = [len(of_round(ear.keys(), "b")) == 8 for ear in (one, two)]
    lab.say("each received its half of round b", " ".join(str(half).lower() for half in halves))

    one.consumer.close()
    two.await_queues(topic, 8)
    lab.say("left alone", two.share(topic))
    send_round(producer, topic, "c")
    await_("round c", lambda: len(of_round(two.keys(), "c")) == 16)
    lab.say("all rounds received", len(one.keys() | two.keys()))


def send_round(producer: Producer, topic: str, name: str) -> None:
    for i in range(16):
        queue = queue_at(topic, BROKERS[i % 2], i // 2 % 4)
        producer.send(message(topic, "t", f"{name}{i}"), queue=queue)


def of_round(keys: Iterable[str], name: str) -> set[str]:
    return {key for key in keys if key.startswith(name)}


@contextmanager
def doomed(lab: Lab, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A consumer in a process of its own, as `drivers.consume`, that ends by a kill."""
    command = [sys.executable, "-m", "conformance.python", lab.namesrv_addr, "consume"]
    process = subprocess.Popen(
        [*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def received_by(process: subprocess.Popen[str], count: int) -> set[str]:
    """Return the keys that such a process has received, once there are as many as ``count``."""
    received: set[str] = set()
    assert process.stdout is not None
    while len(received) < count:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the doomed consumer ended by itself")
        if line.startswith("recv "):
            received.add(line.split(" ")[2])
    return received


def dying(lab: Lab) -> None:
    topic = lab.create_topic("Dying", 4)
    producer = lab.producer("Dying")
    survivor = lab.ear("Dying", "c1", topic)
    survivor.await_queues(topic, 8)
    with doomed(lab, topic, lab.group("Dying"), "*", "c2") as process:
        survivor.await_queues(topic, 4)
        lab.say("beside the doomed", survivor.share(topic))
        send_round(producer, topic, "a")
        other = received_by(process, 8)
        lab.say("the doomed received", other)
        survivor.await_keys(8)
    death = time.monotonic()
    survivor.await_queues(topic, 8)
    lab.say("notified of the death, not timed", time.monotonic() - death < NOTIFIED_WITHIN_S)
    lab.say("after the death", survivor.share(topic))
    send_round(producer, topic, "b")
    await_("round b", lambda: len(of_round(survivor.keys(), "b")) == 16)
    # What the doomed received and had not committed comes again: nothing is lost.
    lab.say("received by either", len(survivor.keys() | other))


def orderly_dying(lab: Lab) -> None:
    """A consumer dies holding its locks: they stay its own for a minute, and the rest waits."""
    topic = lab.create_topic("OrderlyDying", 1)
    producer = lab.producer("OrderlyDying")
    order = Order()
    with doomed(lab, topic, lab.group("OrderlyDying"), "*", "c1", "orderly") as process:
        send_numbered(producer, topic, 0)
        lab.say("the doomed received", received_by(process, 10))
    death = time.monotonic()
    lab.push_consumer("OrderlyDying", "heir", {topic: "*"}, order.add, ordered=True)
    send_numbered(producer, topic, 5)

    def is_whole() -> bool:
        received = order.by_queue().values()
        return len(received) == 2 and all(f"{keys[0][:9]}9" in keys for keys in received)

    await_("the rest", is_whole, 120)
    # Locks were asked for again up to 20 s before the death; the heir asks each 20 s.
    lab.say("the locks outlived their owner", 35 <= time.monotonic() - death < 100)
    # The doomed may have died before it committed: then all comes again, in order nevertheless.
    for queue, keys in order.by_queue().items():
        lab.say(f"order in {queue}", keys[-5:])


def send_numbered(producer: Producer, topic: str, begin: int) -> None:
    for broker in BROKERS:
        for i in range(begin, begin + 5):
            producer.send(message(topic, "t", f"{broker}-{i}"), queue=queue_at(topic, broker))


def broadcast(lab: Lab) -> None:
    topic = lab.create_topic("Broadcast", 2)
    producer = lab.producer("Broadcast")
    ears: list[Ear] = []
    for i in (1, 2):
        ear = lab.ear("Broadcast", f"c{i}", topic, message_model="BROADCASTING")
        ears.append(ear)
        ear.await_queues(topic, 4)
        lab.say(f"share of {i}", ear.share(topic))
    for i in range(8):
        producer.send(message(topic, "t", f"m{i}"))
    for ear in ears:
        ear.await_keys(8)
        lab.say("received", ear.summary())
    ears[0].consumer.close()
    lab.say("local offset files", any(lab.home.rglob("offsets.json")))
    peek = lab.committed("BroadcastPeek", queue_at(topic, "broker-a"))
    lab.say("nothing committed at the broker", peek)
    for i in range(4):
        producer.send(message(topic, "t", f"n{i}"))
    ears[1].await_keys(12)
    again = lab.ear("Broadcast", "c1", topic, message_model="BROADCASTING")
    again.await_keys(4)
    lab.say("after restart received", again.summary())
