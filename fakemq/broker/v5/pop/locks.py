"""The timers of queues that are consumed in order: a held pop may have the next batch at their end.

Source: broker/v5/pop/orderly/QueueLevelConsumerOrderInfoLockManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.config.v5.model import BrokerConfig5


class OrderLocks:
    """Calls ``freed`` with topic, group and queue id when a queue is free again.

    ``free_at_ms`` says when that is, given these and the present wall time; None if it is unknown.
    """

    def __init__(
        self,
        clock: NodeClock,
        config: BrokerConfig5,
        *,
        free_at_ms: Callable[[str, str, int, int], int | None],
        freed: Callable[[str, str, int], None],
    ) -> None:
        self._clock = clock
        self._config = config
        self._free_at_ms = free_at_ms
        self._freed = freed
        self._timers: dict[tuple[str, str, int], Timer] = {}

    def watch(self, topic: str, group: str, queue_id: int) -> None:
        """Follow a change of what is out of a queue.

        Source: QueueLevelConsumerOrderInfoLockManager.java#updateLockFreeTimestamp (5.5.0)
        """
        if not self._config.enable_notify_after_pop_order_lock_release:
            return
        now_ms = self._clock.now_ms()
        free_at_ms = self._free_at_ms(topic, group, queue_id, now_ms)
        if free_at_ms is None:
            return
        queue = (topic, group, queue_id)
        self._clock.cancel(self._timers.pop(queue, None))

        def free() -> None:
            self._timers.pop(queue, None)
            self._freed(*queue)

        if free_at_ms <= now_ms:  # at once: a timer would wait for ever on a frozen clock
            self._freed(*queue)
            return
        self._timers[queue] = self._clock.call_later(free_at_ms - now_ms, free, kind="invisible")

    def found_blocked(self, topic: str, group: str, queue_id: int) -> None:
        """Follow a queue that is not free yet, though its timer has fired.

        The wall clock has gone back since. Differs: Java waits for another message.
        """
        if (topic, group, queue_id) not in self._timers:
            self.watch(topic, group, queue_id)

    def forget(self, topic: str, group: str, queue_id: int) -> None:
        """Wait for a queue no more."""
        self._clock.cancel(self._timers.pop((topic, group, queue_id), None))

    def clear(self) -> None:
        """Wait for no queue."""
        for timer in self._timers.values():
            self._clock.cancel(timer)
        self._timers.clear()
