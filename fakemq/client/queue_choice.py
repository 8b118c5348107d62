"""Chooses the queue of the next message."""

from __future__ import annotations

from collections.abc import Sequence

from fakemq.protocol.bodies.queue import MessageQueue

_POSITIVE = 0x7FFF_FFFF


class QueueChoice:
    """Takes queues in turn; after a failure it skips the broker that failed.

    Source: client/impl/producer/TopicPublishInfo.java#selectOneMessageQueue,
    client/common/ThreadLocalIndex.java (4.9.7)
    """

    def __init__(self, start: int) -> None:
        self._index = start

    def select(self, queues: Sequence[MessageQueue], failed_broker: str | None) -> MessageQueue:
        """Return the next of ``queues``, which must not be empty."""
        if failed_broker is not None:
            for _ in queues:
                queue = self._next(queues)
                if queue.broker_name != failed_broker:
                    return queue
        return self._next(queues)

    def _next(self, queues: Sequence[MessageQueue]) -> MessageQueue:
        self._index = self._index + 1 & _POSITIVE
        return queues[self._index % len(queues)]
