"""Chooses the queue of the next message."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from fakemq.protocol.bodies.queue import MessageQueue

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
