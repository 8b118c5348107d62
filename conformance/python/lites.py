"""The lite pull consumer, which polls: with queues shared out, and with queues it names."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from conformance.python.lab import Lab
from conformance.python.spelling import spelled
from conformance.python.steps import await_, message, place, places, queue_at
from fakemq.client import LitePullConsumer, Producer, Selector

BROKERS = ("broker-a", "broker-b")


def poll(consumer: LitePullConsumer, count: int) -> dict[str, list[str]]:
    """Poll until ``count`` messages have come; return their keys by queue."""
    polled: dict[str, list[str]] = defaultdict(list)

    def is_done() -> bool:
        for one in consumer.poll(timeout_ms=200):
            polled[f"{one.broker_name}:{one.queue_id}"].append(one.keys)
        return sum(map(len, polled.values())) >= count

    await_(f"{count} polled", is_done)
    return {queue: polled[queue] for queue in sorted(polled)}


def send(producer: Producer, topic: str, name: str) -> None:
    for i in range(12):
        one = message(topic, "other" if i % 3 else "third", f"{name}{i}")
        producer.send(one, queue=queue_at(topic, BROKERS[i % 2], i // 2 % 2))


def say_polled(lab: Lab, key: str, consumer: LitePullConsumer, count: int) -> None:
    for queue, keys in poll(consumer, count).items():
        lab.say(f"{key} {queue}", keys)


def lite_subscribe(lab: Lab) -> None:
    topic = lab.create_topic("Lite", 2)
    producer = lab.producer("Lite")
    send(producer, topic, "a")
    consumer = lab.lite_consumer("Lite", "lite-1", subscribe={topic: "*"}, auto_commit=False)
    say_polled(lab, "polled from", consumer, 12)
    lab.say("polled when there is nothing", len(consumer.poll(timeout_ms=100)))
    queues = sorted(consumer.fetch_message_queues(topic), key=place)
    lab.say("queues", places(queues))
    consumer.commit()
    for queue in queues:
        lab.await_committed("Lite", queue, 3)
        lab.say(f"committed of {place(queue)}", consumer.committed(queue))
    second = lab.lite_consumer("Lite", "lite-2", subscribe={topic: "*"}, auto_commit=False)
    await_("halves", lambda: len(consumer.assignment()) == len(second.assignment()) == 2)
    lab.say("share of the first", places(consumer.assignment()))
    lab.say("share of the second", places(second.assignment()))
    send(producer, topic, "b")
    say_polled(lab, "second polled from", second, 6)
    second.commit()
    threading.Thread(target=second.shutdown).start()
    await_("all again", lambda: len(consumer.assignment()) == 4)
    say_polled(lab, "first polled from", consumer, 6)

    tagged = lab.lite_consumer("LiteTagged", "lite-tagged", subscribe={topic: "third"})
    say_polled(lab, "tagged polled from", tagged, 8)
    wanted = Selector.by_sql("KEYS = 'b4' OR TAGS = 'third'")
    by_sql = lab.lite_consumer("LiteSql", "lite-sql", subscribe={topic: wanted})
    say_polled(lab, "by SQL polled from", by_sql, 9)


def lite_assign(lab: Lab) -> None:
    topic = lab.create_topic("LiteAssign", 2)
    producer = lab.producer("LiteAssign")
    consumer = lab.lite_consumer("LiteAssign", "assigned", auto_commit=False)
    queue, other = queue_at(topic, "broker-a"), queue_at(topic, "broker-b", 1)
    consumer.assign([queue, other])
    before_ms = time.time_ns() // 1_000_000
    send(producer, topic, "a")
    say_polled(lab, "polled from", consumer, 6)
    consumer.seek(queue, 1)
    lab.say("after seek 1", poll(consumer, 2))
    consumer.seek_to_begin(queue)
    lab.say("after seekToBegin", poll(consumer, 3))
    consumer.seek(queue, 0)
    consumer.seek_to_end(queue)
    lab.say("after seekToEnd", len(consumer.poll(timeout_ms=500)))
    lab.say_failure("seek beyond the end", lambda: consumer.seek(queue, 9), "sought")
    elsewhere = queue_at(topic, "broker-a", 1)
    lab.say_failure("seek elsewhere", lambda: consumer.seek(elsewhere, 0), "sought")
    times = [
        consumer.offset_for_timestamp(queue, before_ms + more) for more in (-60_000, 3_600_000)
    ]
    lab.say("offset for a time before, after", " ".join(map(str, times)))
    say_paused(lab, consumer, producer, topic)
    lab.say("committed before", spelled_offset(consumer.committed(queue)))
    consumer.commit({queue: 4, other: 5})
    await_(
        "commit",
        lambda: lab.committed("LiteAssign", queue) == 4 and lab.committed("LiteAssign", other) == 5,
    )
    lab.say("committed", f"{consumer.committed(queue)} {consumer.committed(other)}")
    lab.say_failure("subscribe after assign", lambda: consumer.subscribe(topic, "*"), "subscribed")
    consumer.shutdown()
    again = lab.lite_consumer("LiteAssign", "assigned-again")
    again.assign([queue, other])
    say_polled(lab, "after restart polled from", again, 3)

    def has_committed() -> bool:  # with a poll, when it is due
        nothing = not again.poll(timeout_ms=100)
        return nothing and [lab.committed("LiteAssign", one) for one in (queue, other)] == [6, 6]

    await_("its own commit", has_committed)
    both = [str(lab.committed("LiteAssign", one)) for one in (queue, other)]
    lab.say("committed by itself", " ".join(both))


def say_paused(lab: Lab, consumer: LitePullConsumer, producer: Producer, topic: str) -> None:
    """Tell what a consumer polls while one of its two queues is paused, and then."""
    queue = queue_at(topic, "broker-a")
    consumer.pause([queue])
    time.sleep(0.3)  # a pull may be under way
    send(producer, topic, "b")
    # A pull that the broker held at the time of the pause brings what comes first.
    polled: set[str] = set()

    def has_others() -> bool:
        polled.update(one.keys for one in consumer.poll(timeout_ms=500))
        return polled >= {"b3", "b7", "b11"}

    await_("the other's", has_others)
    polled.update(one.keys for one in consumer.poll(timeout_ms=500))
    lab.say("not all while one is paused", len(polled) < 6)
    consumer.resume([queue])
    for keys in poll(consumer, 6 - len(polled)).values():
        polled.update(keys)
    lab.say("after resume", polled)


def spelled_offset(offset: int | None) -> str:
    """Return a committed offset as Java's lite consumer does: -1 for none."""
    return spelled(-1 if offset is None else offset)
