"""Messages found by key, by id and by time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from conformance.python.lab import Lab
from conformance.python.seen import Seen, by_key
from conformance.python.steps import await_, message, queue_at
from fakemq.client import Message, SendResult
from fakemq.protocol.message import MessageExt

BROKERS = ("broker-a", "broker-b")
KEYS = ("one", "one two", "two", "AaAa", "BBBB", "three", "big")
HOUR_MS = 3_600_000


def seen(stored: MessageExt) -> Seen:
    """Return a message that was found by no queue, so that its broker's name is not known."""
    return Seen(stored, None, dict(stored.properties), stored.body)


def query(lab: Lab) -> None:
    topic = lab.create_topic("Query", 2)
    producer = lab.producer("Query")
    begin_ms = time.time_ns() // 1_000_000 - 60_000
    end_ms = begin_ms + HOUR_MS
    sent: list[SendResult] = []
    for i, key in enumerate(KEYS):
        body = bytes(8192) if key == "big" else f"body {i}".encode()
        one = Message(topic, body, tags="t", keys=key)
        sent.append(producer.send(one, queue=queue_at(topic, BROKERS[i % 2], i // 2 % 2)))
    members = [message(topic, "t", key) for key in ("b1", "b2")]
    batch = producer.send_batch(members, queue=queue_at(topic, "broker-a"))
    lab.stored(topic, len(KEYS) + 2)
    client = lab.client

    def found(
        key: str, most: int = 32, begin: int = begin_ms, end: int = end_ms, where: str = topic
    ) -> list[MessageExt]:
        return client.query_messages(where, key, max_num=most, begin_ms=begin, end_ms=end)

    def is_found(key: str) -> bool:
        return bool(found(key))

    # The index follows the log: ask for what was sent last on each broker until it is found.
    for last in ("b2", "three"):
        await_("index", partial(is_found, last))
    for key in ("one", "two", "three", "big", "b1", "b2"):
        for stored in by_key(map(seen, found(key))):
            whose = id_of(stored.stored.msg_id, sent, batch)
            lab.say(f"by key {key}", f"id={whose} {lab.describe(stored)}")
    # Equal hash codes: the client leaves out what only has the other's hash.
    lab.say_failure("by key AaAa", lambda: {one.keys or "" for one in found("AaAa")})
    lab.say_failure("one at most", lambda: len(found("one", 1)))
    lab.say_failure("none at all", lambda: len(found("one", 0)))
    lab.say_failure("no such key", lambda: found("none"))
    lab.say_failure("another case", lambda: found("ONE"))
    lab.say_failure("before its time", lambda: found("one", begin=0, end=begin_ms))
    lab.say_failure("after its time", lambda: found("one", begin=end_ms, end=end_ms + 1))
    lab.say_failure("no such topic", lambda: found("one", where=lab.topic("Nowhere")))
    other = lab.create_topic("QueryOther", 1)
    lab.say_failure("another topic", lambda: found("one", where=other))

    def by_unique_key(key: str, unique: str) -> None:
        say_viewed(lab, key, lambda: client.query_message_by_unique_key(topic, unique))

    def by_offset_id(key: str, offset_id: str) -> None:
        say_viewed(lab, key, lambda: client.view_message(offset_id))

    for i in (0, 3, 6):
        by_unique_key("by unique key", sent[i].msg_id)
        by_offset_id("by offset id", sent[i].offset_msg_id)
    for unique in batch.msg_id.split(","):
        by_unique_key("batch by unique key", unique)
    for offset_id in batch.offset_msg_id.split(","):
        by_offset_id("batch by offset id", offset_id)
    by_unique_key("by the admin", sent[1].msg_id)
    by_offset_id("offset id of nothing", sent[0].offset_msg_id[:16] + "00000000FFFFFFFF")
    by_unique_key("unknown unique key", sent[0].msg_id[:-4] + "FFFF")


def id_of(msg_id: str, sent: Sequence[SendResult], batch: SendResult) -> str:
    for i, result in enumerate(sent):
        if result.msg_id == msg_id:
            return f"of {i}"
    return f"of batch {batch.msg_id.split(',').index(msg_id)}"


def say_viewed(lab: Lab, key: str, view: Callable[[], MessageExt | None]) -> None:
    def text() -> str | None:
        found = view()
        return None if found is None else lab.describe(seen(found))

    lab.say_failure(key, text)
