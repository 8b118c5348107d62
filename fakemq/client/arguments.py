"""Checks of what programs pass to consumers: each returns the value, or raises ConfigError."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fakemq.config.checked import text, whole
from fakemq.errors import ArgumentError, ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import INT_MAX, LONG_MAX
from fakemq.protocol.topics import topic_name_error

_EXAMPLE = "as fetch_message_queues(topic) or assignment() returns them"


def are_several(values: object) -> bool:
    """Return whether this is a collection of values, and no text."""
    return isinstance(values, Collection) and not isinstance(values, str | bytes)


def topic_name(name: str, value: object) -> str:
    """Return the name of a topic that can exist."""
    topic = text(name, value)
    error = topic_name_error(topic)
    if error is not None:
        raise ConfigError(f"{name}={topic!r}: {error}")
    return topic


def one_queue(queue: object) -> MessageQueue:
    """Return a queue with topic, broker and number."""
    if not isinstance(queue, MessageQueue):
        raise ConfigError(f"queue={queue!r}: expected a MessageQueue")
    text("topic of the queue", queue.topic)
    text("broker_name of the queue", queue.broker_name)
    whole("queue_id of the queue", queue.queue_id, 0, INT_MAX)
    return queue


def require_queue(queue: object) -> None:
    """Raise ArgumentError for what is no queue, such as a topic, in a request of a `Client`."""
    if not isinstance(queue, MessageQueue):
        raise ArgumentError(
            f"queue={queue!r}: expected a MessageQueue, as of subscribe_queues(topic)"
        )


def several_queues(queues: object) -> list[MessageQueue]:
    """Return queues."""
    if not isinstance(queues, Collection) or isinstance(queues, str | bytes | Mapping):
        raise ConfigError(f"queues={queues!r}: expected several MessageQueues, {_EXAMPLE}")
    return [one_queue(queue) for queue in queues]


def queue_offset(offset: object) -> int:
    """Return an offset in a queue."""
    return whole("offset", offset, 0, LONG_MAX)


def wait_ms(timeout_ms: object) -> int:
    """Return how long a call waits."""
    return whole("timeout_ms", timeout_ms, 0, INT_MAX)
