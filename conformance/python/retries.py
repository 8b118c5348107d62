"""Messages that consumers could not do; on the clusters' levels retries come after 1 s."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from conformance.python.lab import Lab
from conformance.python.reaching import assigned, refresh
from conformance.python.seen import by_key, keys, received
from conformance.python.steps import await_, message, place, places, queue_at
from fakemq.client import ConsumeResult, Producer, PushConsumer, ReceivedMessage

BROKERS = ("broker-a", "broker-b")


class Deliveries:
    """What a listener was given, described before it changes for the next time."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._texts: list[str] = []
        self._at_ms: dict[str, list[int]] = defaultdict(list)
        self._adding = threading.Lock()

    def add(self, one: ReceivedMessage) -> None:
        with self._adding:
            times = self._at_ms[one.keys]
            times.append(time.monotonic_ns() // 1_000_000)
            described = self._lab.describe(received(one), "MAX_OFFSET")
            self._texts.append(f"{one.keys} for the {len(times)}. time: {described}")

    def times_ms(self, key: str) -> list[int]:
        return self._at_ms[key]

    def total(self) -> int:
        with self._adding:
            return sum(map(len, self._at_ms.values()))

    def say(self) -> None:
        for text in sorted(self._texts):
            self._lab.say("received", text)

    def each_after_a_second(self, key: str) -> bool:
        """Return whether a key came again not before, and soon after, a second each time."""
        times = self._at_ms[key]
        gaps = [after - before for before, after in pairwise(times)]
        return all(990 <= gap <= 7000 for gap in gaps)


def ready(lab: Lab, consumer: PushConsumer, group: str) -> PushConsumer:
    """Wait until a consumer reads its retry topic too, which its first heartbeat has made."""
    retries = "%RETRY%" + lab.group(group)

    def has_queues() -> bool:
        refresh(consumer)
        return len(assigned(consumer, retries)) == 2

    await_("retry queues", has_queues)
    return consumer


def retrying(
    lab: Lab, name: str, decide: Callable[[ReceivedMessage], None], **options: int
) -> tuple[str, Producer, Deliveries]:
    """Return a topic, its producer, and what a consumer of it is given that decides on each."""
    topic = lab.create_topic(name, 1)
    producer = lab.producer(name)
    deliveries = Deliveries(lab)

    def listen(one: ReceivedMessage) -> None:
        deliveries.add(one)
        decide(one)

    ready(lab, lab.push_consumer(name, "retrying", {topic: "*"}, listen, **options), name)
    return topic, producer, deliveries


def retry(lab: Lab) -> None:
    def decide(one: ReceivedMessage) -> None:
        if one.keys == "throws":
            raise RuntimeError("cannot")
        if one.keys != "good" and not (one.keys == "once" and one.reconsume_times > 0):
            one.retry_later()

    topic, producer, deliveries = retrying(lab, "Retry", decide, max_reconsume_times=2)
    for key in ("good", "once", "bad", "throws"):
        producer.send(message(topic, "t", key), queue=queue_at(topic, "broker-a"))
    dead = "%DLQ%" + lab.group("Retry")
    buried = lab.stored(dead, 2)
    deliveries.say()
    lab.say("bad came each second", deliveries.each_after_a_second("bad"))
    lab.say("once came after a second", deliveries.each_after_a_second("once"))
    lab.say("dead letter queues", places(lab.queues(dead)))
    for one in by_key(buried):
        lab.say("buried", lab.describe(one))
    retries = "%RETRY%" + lab.group("Retry")
    again = sorted(lab.stored(retries, 5), key=lambda one: (one.keys, one.stored.reconsume_times))
    for one in again:
        lab.say("stored for a retry", lab.describe(one))
    lab.say("retry queues", places(lab.queues(retries)))

    undertaker = lab.ear("RetryDead", "undertaker", dead)
    undertaker.await_keys(2)
    lab.say("another group reads the dead letters", undertaker.keys())


def retry_levels(lab: Lab) -> None:
    def decide(one: ReceivedMessage) -> None:
        if one.reconsume_times == 0:
            one.retry_later(int(one.keys.split("_")[1]))

    topic, producer, deliveries = retrying(lab, "RetryLevels", decide)
    for level in (-1, 0, 1, 2, 18, 99):
        failing = message(topic, "t", f"level_{level}")
        producer.send(failing, queue=queue_at(topic, "broker-b"))
    buried = lab.stored("%DLQ%" + lab.group("RetryLevels"), 1)
    await_("all but the dead again", lambda: deliveries.total() == 11)
    deliveries.say()
    for one in buried:
        lab.say("buried", lab.describe(one))
    for key in ("level_0", "level_1"):
        lab.say(f"{key} after a second", deliveries.each_after_a_second(key))
    second = deliveries.times_ms("level_2")[1]
    lab.say("level_2 later than level_1", second > deliveries.times_ms("level_1")[1])


def retry_rest(lab: Lab) -> None:
    topic = lab.create_topic("RetryRest", 1)
    producer = lab.producer("RetryRest")
    for i in range(6):
        producer.send(message(topic, "t", f"m{i}"), queue=queue_at(topic, "broker-a"))
    await_("6 messages", lambda: lab.total(topic) == 6)
    deliveries = Deliveries(lab)
    sizes: list[int] = []

    def listen(batch: Sequence[ReceivedMessage]) -> ConsumeResult | None:
        for one in batch:
            deliveries.add(one)
        if batch[0].reconsume_times > 0:
            return None
        sizes.append(len(batch))
        return ConsumeResult(ack_index=1)

    consumer = lab.batch_consumer(
        "RetryRest", "retrying", {topic: "*"}, listen, consume_message_batch_max_size=6
    )
    ready(lab, consumer, "RetryRest")
    await_("the rest again", lambda: deliveries.total() == 10)
    lab.say("batches", sizes)
    for i in range(6):
        lab.say(f"m{i} came", f"{len(deliveries.times_ms(f'm{i}'))} times")
    lab.say("for a retry", keys(lab.stored("%RETRY%" + lab.group("RetryRest"), 4)))


def orderly_retry(lab: Lab) -> None:
    topic = lab.create_topic("OrderlyRetry", 1)
    producer = lab.producer("OrderlyRetry")
    send_numbered(producer, topic)
    order: dict[str, list[str]] = defaultdict(list)
    adding = threading.Lock()

    def listen(one: ReceivedMessage) -> None:
        with adding:
            text = f"{one.keys[9:]}x{one.reconsume_times}"
            order[f"{one.broker_name}:{one.queue_id}"].append(text)
        # The second message of one queue fails twice, of the other always.
        if one.keys == "broker-b-m2" or (one.keys == "broker-a-m2" and one.reconsume_times < 2):
            one.retry_later()

    consumer = lab.push_consumer(
        "OrderlyRetry",
        "suspending",
        {topic: "*"},
        listen,
        ordered=True,
        max_reconsume_times=3,
        suspend_current_queue_time_ms=100,
    )
    buried = lab.stored("%DLQ%" + lab.group("OrderlyRetry"), 1)

    def is_whole() -> bool:
        with adding:
            return sum("m4x0" in text for text in order.values()) == 2

    await_("both queues to their end", is_whole)
    for queue in sorted(order):
        lab.say(f"order in {queue}", order[queue])
    for one in buried:
        lab.say("buried", lab.describe(one))
    consumer.close()
    for committed in lab.queues(topic):
        lab.say(f"committed of {place(committed)}", lab.committed("OrderlyRetry", committed))


def send_numbered(producer: Producer, topic: str) -> None:
    for broker in BROKERS:
        for i in range(5):
            one = message(topic, "t", f"{broker}-m{i}")
            producer.send(one, queue=queue_at(topic, broker))
