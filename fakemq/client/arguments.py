"""Checks of what programs pass to consumers: each returns the value, or raises ConfigError."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from fakemq.config.checked import text, whole
from fakemq.errors import ArgumentError, ConfigError
from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.header import Header
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


# Numbers of the caller: each must fit its field, or ConfigError says what would.
#
# Otherwise a broker would take them for null or for other numbers, or a transport would fail.
def require_int(name: str, value: int) -> None:
    """Raise ConfigError unless a value is an int of Java."""
    whole(name, value, -INT_MAX - 1, INT_MAX)


def require_fit(header: Header) -> None:
    """Raise ConfigError for a number that does not fit its field of a header."""
    for name, value, limit in header.numbers():
        if type(value) is not int or not -limit <= value < limit:
            whole(name, value, -limit, limit - 1)


def require_fit_body(body: Body) -> None:
    """Raise ConfigError for a number that does not fit its field of a body, which has no others."""
    for field in msgspec.structs.fields(body):
        most = INT_MAX if field.type == Int else LONG_MAX if field.type == Long else None
        if most is not None:
            whole(field.name, getattr(body, field.name), -most - 1, most)


def require_wait(timeout_ms: int) -> None:
    """Raise ConfigError for a time that no socket can wait: over 24 days, or below 0."""
    whole("timeout_ms", timeout_ms, 0, INT_MAX)
