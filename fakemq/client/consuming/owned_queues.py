"""The queues that a push consumer has: how it takes and drops them.

Source: client/impl/consumer/RebalancePushImpl.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from fakemq.client.consuming.process_queue import ProcessQueue
from fakemq.client.consuming.start_offset import start_offset
from fakemq.client.tasks import Sleep, Task
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.consuming.context import ConsumerContext, ConsumeService
    from fakemq.client.consuming.locks import QueueLocks
    from fakemq.client.consuming.pulling import PullService

_log = logging.getLogger("fakemq.client")

UNLOCK_DELAY_MS = 20_000
"""When a dropped queue is unlocked that has messages left.

Source: RebalancePushImpl.java#UNLOCK_DELAY_TIME_MILLS (4.9.7)"""


class OwnedQueues:
    """The `QueueOwner` of a push consumer's `Rebalancer`."""

    def __init__(
        self,
        context: ConsumerContext,
        service: ConsumeService,
        pulling: PullService,
        locks: QueueLocks,
        subscriptions: Mapping[str, SubscriptionData],
    ) -> None:
        self._context = context
        self._service = service
        self._pulling = pulling
        self._locks = locks
        self._subscriptions = subscriptions
        self._carrier = context.services.carrier
        self.is_open = False
        """Whether queues may be taken: while the consumer runs."""

    def owned(self, topic: str) -> Collection[MessageQueue]:
        """Return the queues of a topic that it has now."""
        return [queue for queue in self._context.queues if queue.topic == topic]

    def is_stuck(self, queue: MessageQueue) -> bool:
        """Return whether a queue is dropped and taken again: no pull for 120 s.

        Differs: a queue that could not be unlocked, since the listener had its messages, is not
        left for 120 s if the next rebalance returns it to this member.
        """
        process_queue = self._context.queues.get(queue)
        if process_queue is None:
            return False
        return process_queue.is_pull_expired(self._carrier.elapsed_ms()) or (
            process_queue.dropped and process_queue.try_unlock_times > 0
        )

    def take(self, queue: MessageQueue) -> Task[bool]:
        """Begin to consume a queue, which is locked if it is ordered.

        Source: RebalanceImpl.java#updateProcessQueueTableInRebalance (4.9.7)
        """
        context = self._context
        context.offsets.remove(queue)  # what is remembered is of an earlier time
        try:
            offset = yield from start_offset(context, queue, self._pulling.started_ms)
        except FakemqError as error:
            _log.info("doRebalance, %s, compute offset failed, %s: %s", context.group, queue, error)
            return False
        if not self.is_open or queue.topic not in self._subscriptions:
            if context.is_locking:  # it was locked for this
                yield from self._locks.unlock([queue], oneway=True)
            return False
        if offset < 0 or queue in context.queues:
            return False
        process_queue = ProcessQueue(queue, offset, self._carrier.elapsed_ms())
        process_queue.locked = context.is_locking
        context.queues[queue] = process_queue
        self._pulling.begin(process_queue)
        return True

    def drop(self, queue: MessageQueue) -> Task[bool]:
        """Stop consuming a queue, and commit its offset. Return False if it stays locked, because
        the listener has its messages.

        Source: RebalancePushImpl.java#removeUnnecessaryMessageQueue (4.9.7)
        """
        context = self._context
        process_queue = context.queues.get(queue)
        if process_queue is None:
            return True
        self._service.collect()
        self._pulling.end(process_queue)
        yield from context.offsets.persist(queue)
        context.offsets.remove(queue)
        if not (yield from self._unlock(process_queue)):
            return False
        if context.queues.get(queue) is process_queue:
            del context.queues[queue]
        return True

    def give_up(self, process_queue: ProcessQueue) -> Task[None]:
        """Drop a queue, whether or not it can be unlocked."""
        queue = process_queue.queue
        yield from self.drop(queue)
        if self._context.queues.get(queue) is process_queue:
            del self._context.queues[queue]

    def _unlock(self, process_queue: ProcessQueue) -> Task[bool]:
        """Unlock an ordered queue; return False if the listener has its messages for a second."""
        if not self._context.is_locking:
            return True
        if not (yield from self._service.released(process_queue)):
            return False
        if process_queue.waiting:
            self._context.tasks.start(self._unlock_later(process_queue.queue), "unlock a queue")
        else:
            yield from self._locks.unlock([process_queue.queue], oneway=True)
        return True

    def _unlock_later(self, queue: MessageQueue) -> Task[None]:
        yield Sleep(UNLOCK_DELAY_MS, "client_lock")
        if queue not in self._context.queues:
            yield from self._locks.unlock([queue], oneway=True)

    def divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> Task[None]:
        """Let brokers know of the change, by a new version of the subscription.

        Source: RebalancePushImpl.java#messageQueueChanged (4.9.7)
        """
        subscription = self._subscriptions.get(topic)
        if subscription is not None:
            subscription.sub_version = self._carrier.wall_ms()
        self._pulling.divide_thresholds(len(self._context.queues))
        yield from self._context.services.heartbeat()

    # -- the end --------------------------------------------------------------

    def stop_pulling(self) -> None:
        """Pull no more from any queue; messages that are consumed now still count."""
        for process_queue in self._context.queues.values():
            self._pulling.stop(process_queue)

    def forget_all(self) -> None:
        """Drop all queues as they are."""
        for process_queue in self._context.queues.values():
            process_queue.dropped = True
        self._context.queues.clear()
