"""The queues of one lite pull consumer: those that rebalances or the user chose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.offsets import OffsetStore
from fakemq.client.consuming.read_ahead import AssignedQueue, ReadAhead
from fakemq.client.producing.namespace import unwrap, unwrap_queue
from fakemq.client.tasks import Perform, Task
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

MessageQueueListener: TypeAlias = Callable[
    [str, Sequence[MessageQueue], Sequence[MessageQueue]], object
]
"""Takes a topic, all its queues and those of this consumer, after a division has changed these.

Source: client/consumer/MessageQueueListener.java (4.9.7)
"""


class LiteQueues:
    """Takes and drops queues for one lite pull consumer: a `QueueOwner`.

    A queue is *owned* when a rebalance has taken it. It is *assigned* when it is read: chosen by
    the user, or a share of a rebalance, also one whose offset the rebalance could not get: its
    reading tries again.

    Source: client/impl/consumer/RebalanceLitePullImpl.java, AssignedMessageQueue.java (4.9.7)
    """

    def __init__(
        self,
        services: ClientServices,
        settings: LitePullSettings,
        offsets: OffsetStore,
        reading: ReadAhead,
        next_offset: Callable[[MessageQueue], Task[int]],
        is_subscribed: Callable[[str], bool],
    ) -> None:
        self._services = services
        self._settings = settings
        self._offsets = offsets
        self._reading = reading
        self._next_offset = next_offset
        self._is_subscribed = is_subscribed
        self._owned: dict[MessageQueue, int] = {}
        """With the offset at which each begins."""
        self.assigned: dict[MessageQueue, AssignedQueue] = {}
        self.is_reading = False
        self.listener: MessageQueueListener | None = None

    def start(self) -> None:
        """Begin to read the queues that were chosen before."""
        self.is_reading = True
        for assigned in self.assigned.values():
            self._reading.begin(assigned)

    def stop(self) -> set[MessageQueue]:
        """Read no more; return the queues whose offsets are to be stored."""
        queues = self.kept()
        self.is_reading = False
        for assigned in self.assigned.values():
            self._reading.drop(assigned)
        self.assigned.clear()
        self._owned.clear()
        self._reading.stop()
        return queues

    def kept(self) -> set[MessageQueue]:
        """Return the queues whose offsets are stored from time to time."""
        return {*self._owned, *self.assigned}

    # -- chosen by the user ---------------------------------------------------

    def assign(self, queues: Iterable[MessageQueue]) -> None:
        """Read exactly these queues."""
        wanted = dict.fromkeys(queues)
        self._leave([queue for queue in self.assigned if queue not in wanted])
        for queue in wanted:
            self._add(queue)

    def leave_topic(self, topic: str) -> None:
        """Read no queue of a topic any more."""
        for queue in self.owned(topic):
            del self._owned[queue]
        self._leave([queue for queue in self.assigned if queue.topic == topic])

    def _add(self, queue: MessageQueue) -> None:
        assigned = self.assigned.get(queue)
        if assigned is None:
            now_ms = self._services.carrier.elapsed_ms()
            assigned = AssignedQueue(queue, self._owned.get(queue), now_ms)
            self.assigned[queue] = assigned
        if self.is_reading:
            self._reading.begin(assigned)

    def _leave(self, queues: Iterable[MessageQueue]) -> None:
        """Read these queues no longer; store what was committed of them."""
        for queue in queues:
            self._reading.drop(self.assigned.pop(queue))
            if self.is_reading:
                self._services.tasks.start(self._forget(queue), "persist offset")

    def _forget(self, queue: MessageQueue) -> Task[None]:
        yield from self._offsets.persist(queue)
        if queue not in self.assigned:
            self._offsets.remove(queue)

    # -- chosen by a rebalance ------------------------------------------------

    def owned(self, topic: str) -> list[MessageQueue]:
        return [queue for queue in self._owned if queue.topic == topic]

    def is_stuck(self, queue: MessageQueue) -> bool:
        return False

    def drop(self, queue: MessageQueue) -> Task[bool]:
        """What was committed is stored; what was only polled, the next owner reads again."""
        self._owned.pop(queue, None)
        assigned = self.assigned.pop(queue, None)
        if assigned is not None:
            self._reading.drop(assigned)
        yield from self._forget(queue)
        return True

    def take(self, queue: MessageQueue) -> Task[bool]:
        if queue not in self.assigned:
            self._offsets.remove(queue)
        try:
            offset = yield from self._next_offset(queue)
        except FakemqError as error:
            _log.info("doRebalance, compute offset failed, %s: %s", queue, error)
            return False
        if offset < 0 or not self.is_reading:
            return False
        self._owned[queue] = offset
        return True

    def divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> Task[None]:
        """Read the queues of a division, and call the listener."""
        if not self.is_reading:
            return
        if not self._is_subscribed(topic):  # any more: the subscription ended during the division
            self.leave_topic(topic)
            return
        wanted = dict.fromkeys(mine)
        self._leave(
            [queue for queue in self.assigned if queue.topic == topic and queue not in wanted]
        )
        for queue in wanted:
            self._add(queue)
        if self.listener is None:
            return
        tenant = self._settings.namespace
        shown = [[unwrap_queue(queue, tenant) for queue in queues] for queues in (all_queues, mine)]
        try:
            yield Perform(self.listener, (unwrap(topic, tenant), *shown))
        except Exception:
            _log.exception("messageQueueChanged exception")
