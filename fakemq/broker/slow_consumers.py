"""Suspend groups that are too far behind, with disableConsumeIfConsumerReadSlowly.

Java looks every 3 minutes. Here a timer is set only while a group may be too far behind.

Source: broker/BrokerController.java#protectBroker,
store/stats/BrokerStatsManager.java#recordDiskFallBehindSize (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.core import Warned

if TYPE_CHECKING:
    from fakemq.broker.groups import SubscriptionGroupManager
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext

PERIOD_MS = 180_000
"""The period of Java's looks, and the time before the first one."""


class SlowConsumers:
    """How far behind the log's end each group last read each queue.

    The grid of looks began at ``began_ms``, in the time of the node's clock.
    """

    def __init__(
        self, node: NodeContext[BrokerConfig], groups: SubscriptionGroupManager, began_ms: int
    ) -> None:
        self._node = node
        self._groups = groups
        self._began_ms = began_ms
        self._behind_bytes: dict[tuple[int, str, str], int] = {}
        """By queue id, topic and group."""
        self._timer: Timer | None = None

    def stop(self) -> None:
        """Look no more."""
        self._node.clock.cancel(self._timer)
        self._timer = None

    def read(self, group: str, topic: str, queue_id: int, behind_bytes: int) -> None:
        """Remember how far behind the log's end a pull has read; below 0: it read nothing."""
        config = self._node.config
        if behind_bytes >= 0 and config.disk_fall_recorded:
            self._behind_bytes[queue_id, topic, group] = behind_bytes
            self._watch()

    def _watch(self) -> None:
        if self._timer is None and self._slow_ones():
            clock = self._node.clock
            past_ms = clock.elapsed_ms() - self._began_ms
            left_ms = PERIOD_MS - past_ms % PERIOD_MS
            self._timer = clock.call_later(left_ms, self._look, kind="protect_broker")

    def _slow_ones(self) -> dict[str, int]:
        config = self._node.config
        if not config.disable_consume_if_consumer_read_slowly:
            return {}
        most = config.consumer_fallbehind_threshold
        return {at[2]: behind for at, behind in self._behind_bytes.items() if behind > most}

    def _look(self) -> None:
        self._timer = None
        for group, behind_bytes in self._slow_ones().items():
            if self._groups.disable_consume(group):
                text = f"group {group} is {behind_bytes} bytes behind: it is suspended"
                self._node.journal.add(Warned(node=self._node.name, text=text))
        self._watch()
