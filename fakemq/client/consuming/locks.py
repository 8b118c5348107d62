"""Locks of ordered queues: the broker lets one member of a group have a queue.

Source: client/impl/consumer/RebalanceImpl.java#lock, #lockAll, #unlockAll (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakemq.client.pull_operations import PullOperations
from fakemq.client.tasks import Task
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.consuming.context import ConsumerContext
    from fakemq.client.consuming.process_queue import ProcessQueue

_log = logging.getLogger("fakemq.client")

FIRST_LOCK_MS = 1_000
LOCK_INTERVAL_MS = 20_000
"""Source: ProcessQueue.java#REBALANCE_LOCK_INTERVAL (4.9.7)"""


class QueueLocks:
    """The locks of one consumer. Errors are logged: the next attempt comes soon."""

    def __init__(self, context: ConsumerContext, operations: PullOperations) -> None:
        self._context = context
        self._operations = operations

    def lock(self, process_queue: ProcessQueue) -> Task[bool]:
        """Lock one queue, or renew its lock; return whether it is had."""
        queue = process_queue.queue
        locked = yield from self._ask([queue])
        if locked is None or queue not in locked:
            return False
        self._has_lock(process_queue)
        return True

    def lock_all(self) -> Task[None]:
        """Renew the locks of all queues. One that another member has is no longer consumed."""
        for queues in self._by_broker():
            locked = yield from self._ask(queues)
            if locked is None:
                continue
            for queue in queues:
                process_queue = self._context.queues.get(queue)
                if process_queue is None:
                    continue
                if queue in locked:
                    self._has_lock(process_queue)
                else:
                    process_queue.locked = False
                    _log.warning(
                        "the message queue locked Failed, Group: %s %s", self._context.group, queue
                    )

    def unlock(self, queues: Iterable[MessageQueue], *, oneway: bool) -> Task[None]:
        """Unlock queues, so that another member need not wait until their locks end."""
        try:
            yield from self._operations.unlock(queues, oneway=oneway)
        except FakemqError as error:
            _log.error("unlockBatchMQ exception: %s", error)

    def unlock_all(self) -> Task[None]:
        """Unlock all queues, and wait for the brokers' answers."""
        for queues in self._by_broker():
            yield from self.unlock(queues, oneway=False)

    def _has_lock(self, process_queue: ProcessQueue) -> None:
        process_queue.locked = True
        process_queue.last_lock_ms = self._context.services.carrier.elapsed_ms()

    def _ask(self, queues: list[MessageQueue]) -> Task[set[MessageQueue] | None]:
        try:
            return (yield from self._operations.lock(queues))
        except FakemqError as error:
            _log.error("lockBatchMQ exception, %s: %s", queues, error)
            return None

    def _by_broker(self) -> list[list[MessageQueue]]:
        """Return the queues of each broker: one that does not answer concerns only its own."""
        found: dict[str | None, list[MessageQueue]] = {}
        for queue in self._context.queues:
            found.setdefault(queue.broker_name, []).append(queue)
        return list(found.values())
