"""Chooses the queue of the next message."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from fakemq.client.errors import MQClientError
from fakemq.client.messages import Message
from fakemq.client.producing.settings import Selector
from fakemq.client.tasks import Perform, Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import java_hash

_POSITIVE = 0x7FFF_FFFF


class QueueChooser(Protocol):
    """Chooses queues for all topics of a producer, and learns how each send went."""

    def choose(
        self, topic: str, queues: Sequence[MessageQueue], failed_broker: str | None
    ) -> MessageQueue:
        """Return one of ``queues``, which must not be empty; ``failed_broker`` is the last
        attempt's."""

    def report(self, broker_name: str, began_ms: int, *, failed: bool) -> None:
        """Take note of a send to a broker: when it began, in elapsed time, and whether it failed.

        It is over now.
        """


class QueueChoice:
    """Takes queues in turn; after a failure it skips the broker that failed.

    Source: client/impl/producer/TopicPublishInfo.java#selectOneMessageQueue,
    client/common/ThreadLocalIndex.java (4.9.7)
    """

    __slots__ = ("_index",)

    def __init__(self, start: int) -> None:
        self._index = start

    def select(self, queues: Sequence[MessageQueue], failed_broker: str | None) -> MessageQueue:
        """Return the next of ``queues``, which must not be empty."""
        if failed_broker is not None:
            for _ in queues:
                queue = queues[self.next() % len(queues)]
                if queue.broker_name != failed_broker:
                    return queue
        return queues[self.next() % len(queues)]

    def next(self) -> int:
        """Return the next number of the turn."""
        self._index = self._index + 1 & _POSITIVE
        return self._index


class InTurn:
    """Takes the queues of each topic in turn, as a producer does by default."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._turns: dict[str, QueueChoice] = {}

    def turn(self, topic: str) -> QueueChoice:
        """Return the turn of a topic; it begins anywhere."""
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._turns[topic] = QueueChoice(self._random.getrandbits(31))
        return turn

    def choose(
        self, topic: str, queues: Sequence[MessageQueue], failed_broker: str | None
    ) -> MessageQueue:
        """Return the next queue, if possible of another broker than ``failed_broker``."""
        return self.turn(topic).select(queues, failed_broker)

    def report(self, broker_name: str, began_ms: int, *, failed: bool) -> None:
        """Do nothing: every broker has its turn."""


# Chooses the queue of a message by the message, instead of in turn.
#
# Source: client/producer/selector/*.java, DefaultMQProducerImpl.java#sendSelectImpl (4.9.7)
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
