"""Small steps that every scenario takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from fakemq.client import Message, MQClientError
from fakemq.protocol.bodies.queue import MessageQueue

PATIENCE_S = 60.0


def await_(what: str, condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Poll until ``condition`` holds. Raises TimeoutError."""
    if not within(seconds, condition):
        raise TimeoutError(f"{seconds} s have passed without: {what}")


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Poll until ``condition`` holds; return whether it does in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def message(topic: str, tags: str, key: str, **properties: str) -> Message:
    """Return the message of a key."""
    return Message(topic, f"body of {key}", tags=tags, keys=key, properties=properties)


def queue_at(topic: str, broker: str, queue_id: int = 0) -> MessageQueue:
    """Return a queue by its place."""
    return MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id)


def place(queue: MessageQueue) -> str:
    """Return a queue as ``broker-a:0``."""
    return f"{queue.broker_name}:{queue.queue_id}"


def places(queues: Iterable[MessageQueue]) -> str:
    """Return queues as ``broker-a:0 broker-a:1``."""
    return " ".join(sorted(map(place, queues)))


def routed(condition: Callable[[], bool]) -> bool:
    """Return whether something holds; not while there is no route to ask about it."""
    try:
        return condition()
    except MQClientError:
        return False
