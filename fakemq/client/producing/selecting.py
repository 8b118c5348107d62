"""Chooses the queue of a message by the message, instead of in turn.

Source: client/producer/selector/*.java, DefaultMQProducerImpl.java#sendSelectImpl (4.9.7)
"""

from __future__ import annotations

from collections.abc import Sequence

from fakemq.client.errors import MQClientError
from fakemq.client.messages import Message
from fakemq.client.producing.settings import Selector
from fakemq.client.tasks import Perform, Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import java_hash


def by_hash(queues: Sequence[MessageQueue], sharding_key: str | int) -> MessageQueue:
    """Return the queue of a key: messages with equal keys go to one queue, as Java's go.

    Source: client/producer/selector/SelectMessageQueueByHash.java#select (4.9.7)
    """
    return queues[abs(java_hash(sharding_key)) % len(queues)]


def by_function(
    selector: Selector, queues: Sequence[MessageQueue], message: Message
) -> Task[MessageQueue]:
    """Return the queue that a function of the user chooses; raise MQClientError if it does not."""
    try:
        chosen = yield Perform(selector, (queues, message))
    except Exception as error:
        raise MQClientError(
            f"select message queue threw exception. {type(error).__name__}: {error}"
        ) from error
    if chosen is None:
        raise MQClientError("select message queue return null.")
    if not isinstance(chosen, MessageQueue):
        raise MQClientError(f"the selector returned {chosen!r}: expected one of the queues")
    return chosen
