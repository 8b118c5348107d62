"""Splits a long list of messages into batches that a broker takes.

Source: example/batch/SplitBatchProducer.java#ListSplitter (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fakemq.client.messages import Message
from fakemq.protocol.properties import encode_properties_as_java

RECORD_BYTES = 126
"""What a broker stores of a message besides its body, topic and properties: the fields of a record,
two IPv6 hosts, and the properties of the batch, which each of its records has."""

UNIQUE_ID_BYTES = 66
"""The property with a unique id, which a message gets with its first send."""


def stored_bytes(message: Message) -> int:
    """Return the most that a message of a batch takes in a broker's log, without a namespace.

    Differs: Java's example counts characters and less around them, so that a batch of many short
    messages may be larger than what it is split for.
    """
    properties = encode_properties_as_java(message.properties)
    return (
        RECORD_BYTES
        + (0 if message.unique_id else UNIQUE_ID_BYTES)
        + len(message.topic.encode("utf-8", "replace"))
        + len(message.body)
        + len(properties.encode("utf-8", "replace"))
    )


def split(messages: Sequence[Message], limit_bytes: int) -> Iterator[Sequence[Message]]:
    """Yield the messages in their order, in batches of at most ``limit_bytes``.

    A message that is larger is a batch of its own: the broker says what it thinks of it.
    """
    first = size = 0
    for index, message in enumerate(messages):
        added = stored_bytes(message)
        if index > first and size + added > limit_bytes:
            yield messages[first:index]
            first, size = index, 0
        size += added
    if first < len(messages):
        yield messages[first:]
