"""Bodies and properties at the edges of what is allowed."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from conformance.python.lab import Lab
from conformance.python.seen import by_key
from conformance.python.steps import message, queue_at
from fakemq.client import Message, MQBrokerError
from fakemq.protocol.bodies.queue import MessageQueue

UNIQUE_ID_CHARS = 32
_STATE = (1 << 48) - 1

SMUGGLED = {
    "REAL_TOPIC": "mine",
    "REAL_QID": "7",
    "RETRY_TOPIC": "mine",
    "ORIGIN_MESSAGE_ID": "mine",
    "CLUSTER": "mine",
    "MIN_OFFSET": "7",
    "MAX_OFFSET": "7",
    "CONSUME_START_TIME": "7",
    "RECONSUME_TIME": "7",
    "MSG_REGION": "mine",
    "TRACE_ON": "false",
    "WAIT": "maybe",
    "PGROUP": "mine",
    "DELAY": "0",
    "TRAN_MSG": "false",
    "INNER_NUM": "7",
    "__SHARDINGKEY": "mine",
    "INSTANCE_ID": "mine",
    "MSG_TYPE": "mine",
    "BUYER_ID": "mine",
}


def java_bytes(seed: int, count: int) -> bytes:
    """Return what ``new Random(seed).nextBytes`` puts into an array, four at a time."""
    made = bytearray()
    state = (seed ^ 0x5DEECE66D) & _STATE
    while len(made) < count:
        state = (state * 0x5DEECE66D + 0xB) & _STATE
        made += (state >> 16).to_bytes(4, "little")
    return bytes(made[:count])


def compressed(lab: Lab) -> None:
    topic = lab.create_topic("Compressed", 1)
    queue = queue_at(topic, "broker-a")
    ear = lab.ear("Compressed", "expanding", topic)
    producer = lab.producer("Compressed")
    noise = java_bytes(1, 20_000)
    bodies = {
        "short": bytes(4095),
        "limit": bytes(4096),
        "zeros": bytes(100_000),
        "noise": noise,
        "text": ("Größe 中 " * 2000).encode(),
    }
    for name, body in bodies.items():
        producer.send(Message(topic, body, tags="t", keys=f"{name}-ZLIB"), queue=queue)
    plain = lab.producer("Plain", compress_over_bytes=2**31 - 1)
    plain.send(Message(topic, noise, tags="t", keys="noise-plain"), queue=queue)
    last = Message(topic, bytes(100_000), tags="t", keys="zeros-plain")
    sent = plain.send(last, queue=queue).queue_offset + 1
    ear.await_keys(sent)
    for one in by_key(ear.messages):
        whole = one.body == bodies[one.keys.split("-")[0]]
        lab.say(one.keys, f"whole={str(whole).lower()} {lab.describe(one, 'MAX_OFFSET')}")


def properties(lab: Lab) -> None:
    topic = lab.create_topic("Properties", 1)
    queue = queue_at(topic, "broker-a")
    producer = lab.producer("Properties")

    def wide(value: str) -> Message:
        return message(topic, "t", "wide", wide=value)

    widest, too_wide = 32_000, 32_768
    while too_wide - widest > 1:
        width = (widest + too_wide) // 2
        try:
            producer.send(wide("w" * width), queue=queue)
            widest = width
        except MQBrokerError:
            too_wide = width
    # A machine's address family decides the length of the ids that it makes.
    lab.say("the widest property, with the id", widest + UNIQUE_ID_CHARS)
    for width in (widest, widest + 1, 40_000, 70_000):
        key = f"width {width}" if width > widest + 1 else f"fits by {widest - width}"
        lab.say_failure(key, lab.sending(producer, wide("w" * width), queue=queue))
    for key, value in (
        ("umlauts count twice", "ü" * (widest // 2 + 1)),
        ("and fit", "ü" * (widest // 2)),
    ):
        lab.say_failure(key, lab.sending(producer, wide(value), queue=queue))
    many = message(topic, "t", "many", **{f"name{i}": f"value {i}" for i in range(500)})
    lab.say("many", producer.send(many, queue=queue).status)
    stored = set()
    for one in lab.all(queue):
        is_widest = len(one.properties.get("wide", "null")) == widest
        stored.add(f"{one.keys} {len(one.properties)}" + (" widest" if is_widest else ""))
    lab.say("stored", stored)


class Smuggled(Message):
    """A message whose properties no producer checks: Java's checks no separators."""

    def require_valid(self) -> None: ...


def collisions(lab: Lab) -> None:
    topic = lab.create_topic("Collisions", 1)
    queue = queue_at(topic, "broker-a")
    producer = lab.producer("Collisions")
    # Java's front door refuses names of its own in putUserProperty; ours has no such door.
    for name, value in SMUGGLED.items():
        one = message(topic, "t", f"k-{name}", **{name: value})
        lab.say_failure(f"smuggled {name}", lab.sending(producer, one, queue=queue))
    separators = Smuggled(topic, "body of k-separators", tags="t", keys="k-separators")
    separators.properties["name\x01with"] = "a separator\x02inside"
    lab.say_failure("separators", lambda: producer.send(separators, queue=queue).status)
    spaces = message(topic, "t", " k1  k2 ")
    spaces.properties[" name "] = " value "
    lab.say_failure("spaces", lambda: producer.send(spaces, queue=queue).status)
    for seen in lab.stored(topic, lab.client.max_offset(queue)):
        lab.say("stored", lab.describe(seen))


def selected(lab: Lab) -> None:
    topic = lab.create_topic("Selected", 4)
    producer = lab.producer("Selected")
    orders = [f"order-{number}" for number in range(1, 6)]
    for number in range(5):
        for order in orders:
            producer.send(message(topic, "t", f"{order}-{number}"), sharding_key=order)
    rounds: dict[str, list[str]] = defaultdict(list)
    where: dict[str, set[str]] = defaultdict(set)
    for one in lab.stored(topic, 25):
        order, number_text = one.keys[:7], one.keys[8:]
        rounds[order].append(number_text)
        where[order].add(one.place)
    lab.say("rounds of each order", {order: rounds[order] for order in orders})
    lab.say("queue of each order", {order: " and ".join(sorted(where[order])) for order in orders})

    def cannot(*_: object) -> MessageQueue:
        raise RuntimeError("cannot choose")

    def nothing(*_: object) -> Any:
        return None

    lost = message(topic, "t", "k")
    lab.say_failure("a selector that fails", lab.sending(producer, lost, selector=cannot))
    lab.say_failure(
        "a selector that chooses nothing", lab.sending(producer, lost, selector=nothing)
    )
