"""Divisions of queues that are drawn at random, and what our strategies make of them.

`divided` answers in the words of ``conformance/java/.../Allocations.java``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from fakemq.client.consuming.allocation import (
    AllocateStrategy,
    averagely,
    averagely_by_circle,
    by_config,
    by_machine_room,
    consistent_hash,
    machine_room_nearby,
)
from fakemq.client.consuming.allocation.strategies import java_order, queue_order
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.imports import ROOT

RECORDING = ROOT / "tests/client/consuming/allocation/data/java_allocations.txt"

TOPICS = ("orders", "%RETRY%g", "t", "ünïcode")
ROOMS = ("a", "b", "cd", "shanghai", "房", "\uff5e", "\U0001d563", "a-b")
"""Two of them are sorted otherwise by UTF-16 units than by characters."""
NODES = (10, 10, 10, 10, 1, 2, 3, 40, 0, -1)


class Input(NamedTuple):
    """One division; the names are those of ``Allocations.Input``.

    Queues are ``TOPIC BROKER ID``. A client or a broker is in the room before its last dash, and
    a broker in the room before its ``@``.
    """

    group: str
    current: str
    ids: list[str]
    queues: list[str]
    config: list[str]
    rooms: list[str]
    nodes: int
    inner: str

    def to_json(self) -> str:
        """Return one line of ASCII."""
        return json.dumps(self._asdict(), separators=(",", ":"))


def inputs(seed: int, count: int, *, most_queues: int = 16, most_ids: int = 12) -> Iterator[Input]:
    """Yield ``count`` inputs: usual ones, and all at the edges of the checks."""
    random = Random(seed)
    for _ in range(count):
        yield _drawn(random, most_queues, most_ids)


def _drawn(random: Random, most_queues: int, most_ids: int) -> Input:
    rooms = random.sample(ROOMS, random.randint(1, 4))
    ids = [
        f"{random.choice(rooms)}-10.0.0.{random.randint(1, 99)}@{random.randint(1, 9999)}"
        for _ in range(random.randint(0 if random.random() < 0.05 else 1, most_ids))
    ]
    if ids and random.random() < 0.05:
        # An id without a room, one that is there twice, one with half a surrogate pair.
        ids.append(random.choice(["10.0.0.1@7#8", ids[0], "a-\ud800", "a-?"]))
    queues = _queues(random, rooms, most_queues)
    stranger = random.choice(["", "a-stranger"]) if random.random() < 0.08 or not ids else None
    return Input(
        group="g",
        current=random.choice(ids) if stranger is None else stranger,
        ids=ids,
        queues=queues,
        config=[f"orders named {number}" for number in range(random.randint(0, 3))],
        rooms=random.sample(rooms, random.randint(0, len(rooms))),
        nodes=random.choice(NODES),
        inner=random.choice(["AVG", "AVG_BY_CIRCLE", "MACHINE_ROOM", "CONSISTENT_HASH"]),
    )


def _queues(random: Random, rooms: list[str], most: int) -> list[str]:
    topic = random.choice(TOPICS)
    brokers = set()
    for number in range(random.randint(1, 4)):
        room = random.choice(rooms)
        name = random.choice(
            [f"{room}@b-{number}", f"{room}-{number}", f"{room}@x-@{number}", f"{room}@y-{number}@"]
        )
        brokers.add(f"broker{number}" if random.random() < 0.03 else name)
    queues = [
        f"{topic} {broker} {queue_id}"
        for broker in sorted(brokers)
        for queue_id in range(random.choice([0, 1, 2, 4, 8, random.randint(1, most)]))
    ]
    random.shuffle(queues)
    return queues


class _Rooms:
    def broker_deploy_in(self, queue: MessageQueue) -> str:
        return (queue.broker_name or "").rpartition("-")[0]

    def consumer_deploy_in(self, client_id: str) -> str:
        return client_id.rpartition("-")[0]


def divided(one: Input) -> list[str]:
    """Return what our six strategies make of an input."""
    texts = [*one.queues, *one.config]
    places = {_queue(text): number for number, text in enumerate(texts)}
    config = [_queue(text) for text in one.config]
    queues = sorted(map(_queue, one.queues), key=queue_order)
    ids = sorted(one.ids, key=java_order)
    inner: dict[str, Callable[[], AllocateStrategy]] = {
        "AVG": lambda: averagely,
        "AVG_BY_CIRCLE": lambda: averagely_by_circle,
        "MACHINE_ROOM": lambda: by_machine_room(one.rooms),
        "CONSISTENT_HASH": lambda: consistent_hash(one.nodes),
    }
    strategies: list[Callable[[], AllocateStrategy]] = [
        inner["AVG"],
        inner["AVG_BY_CIRCLE"],
        lambda: by_config(config),
        inner["MACHINE_ROOM"],
        lambda: machine_room_nearby(inner[one.inner](), _Rooms()),
        inner["CONSISTENT_HASH"],
    ]
    results = []
    for strategy in strategies:
        try:
            mine = strategy()(one.group, one.current, queues, ids)
            results.append(" ".join(str(places[queue]) for queue in mine or ()))
        except ValueError as refused:
            results.append(json.dumps(f"!IllegalArgumentException: {refused}")[1:-1])
    return results


def _queue(text: str) -> MessageQueue:
    topic, broker, queue_id = text.split(" ")
    return MessageQueue(topic, broker, int(queue_id))


def recorded() -> Iterator[tuple[Input, list[str]]]:
    """Yield each recorded input with what RocketMQ's classes made of it."""
    for line in RECORDING.read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            text, *results = line.split("\t")
            yield Input(**json.loads(text)), results
