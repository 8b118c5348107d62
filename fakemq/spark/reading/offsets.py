"""Offsets of queues as JSON: ``{"topic": {"broker-a": {"0": 42}}}``, in options and checkpoints.

A checkpoint has the next offset to read of every queue of the stream. Topics, brokers and queues
are sorted, so that equal offsets are equal texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, TypeAlias

import msgspec

from fakemq.errors import ConfigError
from fakemq.protocol.bodies.body import Long
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import INT_MAX

Offsets: TypeAlias = dict[MessageQueue, int]
Nested: TypeAlias = dict[str, dict[str, dict[str, int]]]

_QueueId: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)]
_Numbers: TypeAlias = dict[str, dict[str, dict[_QueueId, Long]]]
_Queues: TypeAlias = dict[str, dict[str, list[_QueueId]]]

LATEST = -1
EARLIEST = -2
"""A placeholder for an offset, as in Spark's Kafka connector."""

SHAPE = '{"topic": {"broker-a": {"0": 42}}}'
ASSIGN_SHAPE = '{"topic": {"broker-a": [0, 1]}}'


def nested(offsets: Mapping[MessageQueue, int]) -> Nested:
    """Return offsets in the nested form that Spark stores."""
    found: Nested = {}
    for queue in sorted(offsets):
        brokers = found.setdefault(queue.topic or "", {})
        brokers.setdefault(queue.broker_name or "", {})[str(queue.queue_id)] = offsets[queue]
    return found


def flat(offsets: Nested) -> Offsets:
    """Reverse `nested`. Raise ConfigError for another shape."""
    try:
        return _of_queues(msgspec.convert(offsets, _Numbers, str_keys=True))
    except msgspec.ValidationError as error:
        raise ConfigError(f"rocketmq: {offsets} is not an offset of this source: {error}") from None


def parse_offsets(text: str) -> Offsets:
    """Return a number for each queue from an option's text. Raise ConfigError for another shape."""
    try:
        return _of_queues(msgspec.json.decode(text, type=_Numbers))
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ConfigError(str(error)) from None


def parse_queues(text: str) -> list[MessageQueue]:
    """Return the queues from the text of ``assign``. Raise ConfigError for another shape."""
    try:
        parsed = msgspec.json.decode(text, type=_Queues)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ConfigError(str(error)) from None
    found = {
        MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id)
        for topic, brokers in parsed.items()
        for broker, queue_ids in brokers.items()
        for queue_id in queue_ids
    }
    if not found:
        raise ConfigError("it names no queue")
    return sorted(found)


def _of_queues(numbers: _Numbers) -> Offsets:
    return {
        MessageQueue(topic=topic, broker_name=broker, queue_id=queue_id): number
        for topic, brokers in numbers.items()
        for broker, queues in brokers.items()
        for queue_id, number in queues.items()
    }


def queue_text(queue: MessageQueue) -> str:
    """Return a queue as error messages name it."""
    return f"topic {queue.topic}, broker {queue.broker_name}, queue {queue.queue_id}"


def queue_texts(queues: Iterable[MessageQueue]) -> str:
    """Return queues as error messages name them: the first three, and the number of others."""
    some = sorted(queues)
    more = f" and {len(some) - 3} more" if len(some) > 3 else ""
    return "; ".join(map(queue_text, some[:3])) + more
