"""Pulling queue by queue, and everything about offsets, by the client for work by hand."""

from __future__ import annotations

import threading
import time

from conformance.python.lab import Lab
from conformance.python.seen import pulled
from conformance.python.spelling import spelled
from conformance.python.steps import await_, message, places, queue_at
from fakemq.client import Client, Message, PullResult
from fakemq.protocol.bodies.queue import MessageQueue

BROKER_SUSPEND_MS = 20_000
"""Source: client/consumer/DefaultMQPullConsumer.java#brokerSuspendMaxTimeMillis (4.9.7)"""
HOUR_MS = 3_600_000


def summary(result: PullResult) -> str:
    keys = spelled([one.keys for one in pulled(result)])
    return (
        f"{result.status.name} next={result.next_begin_offset} min={result.min_offset}"
        f" max={result.max_offset} keys={keys}"
    )


def pull(lab: Lab) -> None:
    topic = lab.create_topic("Pull", 2)
    producer = lab.producer("Pull")
    reader = lab.at_end.enter_context(lab.reader("Pull"))
    lab.say("queues", places(reader.subscribe_queues(topic)))
    queue = queue_at(topic, "broker-a")
    lab.say("empty queue", summary(reader.pull(queue, 0)))
    lab.say("beyond an empty queue", summary(reader.pull(queue, 7)))
    for i in range(10):
        producer.send(message(topic, "odd" if i % 2 else "even", f"m{i}"), queue=queue)
    await_("10 messages", lambda: reader.max_offset(queue) == 10)
    lab.say("all", summary(reader.pull(queue, 0)))
    lab.say("first four", summary(reader.pull(queue, 0, max_messages=4)))
    lab.say("from six", summary(reader.pull(queue, 6)))
    lab.say("null expression", summary(reader.pull(queue, 8, expression="")))
    lab.say("odd only", summary(reader.pull(queue, 0, expression="odd")))
    two = reader.pull(queue, 3, expression="odd || even", max_messages=2)
    lab.say("odd or even, two", summary(two))
    lab.say("no such tag", summary(reader.pull(queue, 0, expression="none")))
    lab.say("at the end", summary(reader.pull(queue, 10)))
    lab.say("one beyond the end", summary(reader.pull(queue, 11)))
    lab.say_failure("negative offset", lambda: summary(reader.pull(queue, -1)))
    for one in pulled(reader.pull(queue, 0, max_messages=2)):
        lab.say("pulled", lab.describe(one))
    wide = queue_at(topic, "broker-b", 1)
    plain = lab.producer("Plain", compress_over_bytes=2**31 - 1)
    for i in range(6):
        plain.send(Message(topic, b"x" * 100_000, tags="big", keys=f"w{i}"), queue=wide)
    await_("6 big ones", lambda: reader.max_offset(wide) == 6)
    # The broker stops a pull at 256 KiB of messages in memory.
    lab.say("big ones", summary(reader.pull(wide, 0)))


def offsets(lab: Lab) -> None:
    topic = lab.create_topic("Offsets", 2)
    producer = lab.producer("Offsets")
    reader = lab.at_end.enter_context(lab.reader("Offsets"))
    queue = queue_at(topic, "broker-b", 1)
    lab.say("empty: min max", f"{reader.min_offset(queue)} {reader.max_offset(queue)}")
    lab.say("empty: first boot", committed(reader, queue))
    lab.say("empty: search past, future", past_and_future(reader, queue))
    lab.say_failure("empty: earliest store time", lambda: reader.earliest_store_time_ms(queue))
    for i in range(5):
        producer.send(message(topic, "t", f"m{i}"), queue=queue)
        time.sleep(0.02)  # two messages of one millisecond could not be distinguished by time
    await_("5 messages", lambda: reader.max_offset(queue) == 5)
    lab.say("min max", f"{reader.min_offset(queue)} {reader.max_offset(queue)}")
    times = [one.store_timestamp_ms for one in reader.pull(queue, 0).messages]
    lab.say("search at the store times", [reader.search_offset(queue, at) for at in times])
    lab.say("search just after them", [reader.search_offset(queue, at + 1) for at in times])
    lab.say("search past, future", past_and_future(reader, queue))
    earliest = reader.earliest_store_time_ms(queue)
    lab.say("earliest store time is the first message's", earliest == times[0])
    lab.say("offset of another queue", reader.max_offset(queue_at(topic, "broker-a")))
    lab.say_failure(
        "max offset of a queue that is not there",
        lambda: reader.max_offset(queue_at(topic, "broker-a", 17)),
    )
    lab.say("not committed yet", committed(reader, queue))
    for offset in (3, 1, 5):
        reader.update_offset(queue, offset)
        # The commit is one-way: ask until it has arrived.
        lab.await_committed("Offsets", queue, offset)
        lab.say("committed", committed(reader, queue))
    lab.say("another group", lab.committed("OffsetsOther", queue))


def committed(reader: Client, queue: MessageQueue) -> int:
    """Return a reader's offset; -1 where its group has none, as Java's pull consumer does."""
    found = reader.query_offset(queue)
    return -1 if found is None else found


def past_and_future(reader: Client, queue: MessageQueue) -> str:
    later_ms = time.time_ns() // 1_000_000 + HOUR_MS
    return f"{reader.search_offset(queue, 0)} {reader.search_offset(queue, later_ms)}"


def block(lab: Lab) -> None:
    topic = lab.create_topic("Block", 1)
    producer = lab.producer("Block")
    reader = lab.at_end.enter_context(lab.reader("Block"))
    queue = queue_at(topic, "broker-a")
    producer.send(message(topic, "t", "m0"), queue=queue)
    await_("a message", lambda: reader.max_offset(queue) == 1)
    lab.say("message there", summary(reader.pull(queue, 0, suspend_ms=BROKER_SUSPEND_MS)))

    def send_later() -> None:
        time.sleep(0.5)
        producer.send(message(topic, "t", "m1"), queue=queue)

    sender = threading.Thread(target=send_later)
    began = time.monotonic()
    sender.start()
    woken = reader.pull(queue, 1, suspend_ms=BROKER_SUSPEND_MS)
    lab.say("message on its way", summary(woken))
    lab.say("woken by it", 0.4 <= time.monotonic() - began < 4)
    sender.join()

    # The broker looks at held pulls every 5 s, so a hold of 2 s ends after 2 to 7.
    began = time.monotonic()
    lab.say("nothing comes", summary(reader.pull(queue, 2, suspend_ms=2000)))
    lab.say("held for its time", 1.9 <= time.monotonic() - began < 9)
