"""Pulling queue by queue with the pull consumer, and everything about offsets."""

from __future__ import annotations

import threading
import time

from conformance.python.lab import Lab
from conformance.python.reaching import persist
from conformance.python.seen import by_key, received
from conformance.python.spelling import spelled
from conformance.python.steps import await_, message, places, queue_at
from fakemq.client import Message, PullConsumer
from fakemq.client.consuming.received import Pulled
from fakemq.protocol.bodies.queue import MessageQueue

HOUR_MS = 3_600_000
PLAIN_FROM_BYTES = 2**31 - 1


def summary(result: Pulled) -> str:
    keys = spelled([one.keys for one in result.messages])
    return (
        f"{result.status.name} next={result.next_begin_offset} min={result.min_offset}"
        f" max={result.max_offset} keys={keys}"
    )


def pull(lab: Lab) -> None:
    topic = lab.create_topic("Pull", 2)
    producer = lab.producer("Pull")
    consumer = lab.pull_consumer("Pull")
    lab.say("queues", places(consumer.fetch_subscribe_message_queues(topic)))
    queue = queue_at(topic, "broker-a")
    lab.say("empty queue", summary(consumer.pull(queue, 0)))
    lab.say("beyond an empty queue", summary(consumer.pull(queue, 7)))
    for i in range(10):
        producer.send(message(topic, "odd" if i % 2 else "even", f"m{i}"), queue=queue)
    await_("10 messages", lambda: consumer.max_offset(queue) == 10)
    lab.say("all", summary(consumer.pull(queue, 0)))
    lab.say("first four", summary(consumer.pull(queue, 0, max_messages=4)))
    lab.say("from six", summary(consumer.pull(queue, 6)))
    lab.say("null expression", summary(consumer.pull(queue, 8, "")))
    lab.say("odd only", summary(consumer.pull(queue, 0, "odd")))
    lab.say("odd or even, two", summary(consumer.pull(queue, 3, "odd || even", max_messages=2)))
    lab.say("no such tag", summary(consumer.pull(queue, 0, "none")))
    lab.say("at the end", summary(consumer.pull(queue, 10)))
    lab.say("one beyond the end", summary(consumer.pull(queue, 11)))
    lab.say_failure("negative offset", lambda: summary(consumer.pull(queue, -1)))
    for one in consumer.pull(queue, 0, max_messages=2).messages:
        lab.say("pulled", lab.describe(received(one)))
    wide = queue_at(topic, "broker-b", 1)
    plain = lab.producer("Plain", compress_over_bytes=PLAIN_FROM_BYTES)
    for i in range(6):
        plain.send(Message(topic, b"x" * 100_000, tags="big", keys=f"w{i}"), queue=wide)
    await_("6 big ones", lambda: consumer.max_offset(wide) == 6)
    # The broker stops a pull at 256 KiB of messages in memory.
    lab.say("big ones", summary(consumer.pull(wide, 0)))


def offsets(lab: Lab) -> None:
    topic = lab.create_topic("Offsets", 2)
    producer = lab.producer("Offsets")
    consumer = lab.pull_consumer("Offsets")
    queue = queue_at(topic, "broker-b", 1)
    lab.say("empty: min max", f"{consumer.min_offset(queue)} {consumer.max_offset(queue)}")
    lab.say("empty: first boot", committed(consumer, queue))
    lab.say("empty: search past, future", past_and_future(consumer, queue))
    lab.say_failure("empty: earliest store time", lambda: lab.client.earliest_store_time_ms(queue))
    for i in range(5):
        producer.send(message(topic, "t", f"m{i}"), queue=queue)
        time.sleep(0.02)  # two messages of one millisecond could not be distinguished by time
    await_("5 messages", lambda: consumer.max_offset(queue) == 5)
    lab.say("min max", f"{consumer.min_offset(queue)} {consumer.max_offset(queue)}")
    times = [one.store_timestamp_ms for one in consumer.pull(queue, 0).messages]
    lab.say("search at the store times", [consumer.search_offset(queue, at) for at in times])
    lab.say("search just after them", [consumer.search_offset(queue, at + 1) for at in times])
    lab.say("search past, future", past_and_future(consumer, queue))
    earliest = lab.client.earliest_store_time_ms(queue)
    lab.say("earliest store time is the first message's", earliest == times[0])
    lab.say("offset of another queue", consumer.max_offset(queue_at(topic, "broker-a")))
    lab.say_failure(
        "max offset of a queue that is not there",
        lambda: consumer.max_offset(queue_at(topic, "broker-a", 17)),
    )
    lab.say("not committed yet", committed(consumer, queue))
    for offset in (3, 1, 5):
        consumer.update_consume_offset(queue, offset)
        persist(consumer)
        lab.await_committed("Offsets", queue, offset)  # the commit is one-way
        lab.say("committed", committed(consumer, queue))
    lab.say("in memory", consumer.fetch_consume_offset(queue))
    lab.say("another group", committed(lab.pull_consumer("OffsetsOther"), queue))


def committed(consumer: PullConsumer, queue: MessageQueue) -> int:
    """Return the broker's offset of a queue; -1 where the group has none, as in Java."""
    found = consumer.fetch_consume_offset(queue, from_store=True)
    return -1 if found is None else found


def past_and_future(consumer: PullConsumer, queue: MessageQueue) -> str:
    later_ms = time.time_ns() // 1_000_000 + HOUR_MS
    return f"{consumer.search_offset(queue, 0)} {consumer.search_offset(queue, later_ms)}"


def block(lab: Lab) -> None:
    topic = lab.create_topic("Block", 1)
    producer = lab.producer("Block")
    consumer = lab.pull_consumer("Block")
    queue = queue_at(topic, "broker-a")
    producer.send(message(topic, "t", "m0"), queue=queue)
    await_("a message", lambda: consumer.max_offset(queue) == 1)
    lab.say("message there", summary(consumer.pull_block_if_not_found(queue, 0)))

    def send_later() -> None:
        time.sleep(0.5)
        producer.send(message(topic, "t", "m1"), queue=queue)

    sender = threading.Thread(target=send_later)
    began = time.monotonic()
    sender.start()
    lab.say("message on its way", summary(consumer.pull_block_if_not_found(queue, 1)))
    lab.say("woken by it", 0.4 <= time.monotonic() - began < 4)
    sender.join()

    # The broker looks at held pulls every 5 s, so a hold of 2 s ends after 2 to 7.
    impatient = lab.pull_consumer("Impatient", broker_suspend_max_time_ms=2000)
    began = time.monotonic()
    lab.say("nothing comes", summary(impatient.pull_block_if_not_found(queue, 2)))
    lab.say("held for its time", 1.9 <= time.monotonic() - began < 9)


def send_back(lab: Lab) -> None:
    topic = lab.create_topic("SendBack", 1)
    producer = lab.producer("SendBack")
    queue = queue_at(topic, "broker-a")
    for key in ("default", "first", "dead"):
        producer.send(message(topic, "t", key), queue=queue)
    consumer = lab.pull_consumer("SendBack")
    await_("3 messages", lambda: consumer.max_offset(queue) == 3)
    messages = consumer.pull(queue, 0).messages
    for one, level in zip(messages, (0, 1, -1), strict=True):
        consumer.send_message_back(one, level)
    retries = f"%RETRY%{lab.group('SendBack')}"
    for seen in by_key(lab.stored(retries, 2)):
        lab.say("stored for a retry", lab.describe(seen))
    for seen in lab.stored(f"%DLQ%{lab.group('SendBack')}", 1):
        lab.say("buried", lab.describe(seen))
    # A retry of a retry keeps the first one's id.
    retried = consumer.pull(queue_at(retries, "broker-a"), 0).messages
    consumer.send_message_back(next(one for one in retried if one.keys == "default"), 1)
    all_three = lab.stored(retries, 3)
    twice = next(one for one in all_three if one.stored.reconsume_times >= 2)
    lab.say("sent back twice", lab.describe(twice))
    is_first = twice.properties["ORIGIN_MESSAGE_ID"] == messages[0].offset_message_id
    lab.say("its origin is the first", is_first)
    # Where the broker does not find it, the client sends it to the retry topic itself.
    lost = messages[1]
    lost.stored.commit_log_offset += 1
    lost.properties["KEYS"] = "lost"
    consumer.send_message_back(lost, 0)
    by_client = next(one for one in lab.stored(retries, 4) if one.keys == "lost")
    # It is on a queue that the client chose.
    lab.say("sent by the client", lab.describe(by_client, "MAX_OFFSET"))
