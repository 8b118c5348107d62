"""Suspend groups that are too far behind, with disableConsumeIfConsumerReadSlowly.

Java looks every 3 minutes. Here a timer is set only when a group has read something.

Source: broker/BrokerController.java#protectBroker,
store/stats/BrokerStatsManager.java#recordDiskFallBehindSize (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.clock.slices import Steps, removed_where
from fakemq.events.core import Warned

if TYPE_CHECKING:
    from fakemq.broker.tables.groups import SubscriptionGroupManager
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext

PERIOD_MS = 180_000
"""The period of Java's looks, and the time before the first one."""


class SlowConsumers:
    """How far behind the log's end each group last read each queue.

    A look forgets the queues of deleted topics and groups, so that no more is remembered than
    existed at the last look, or was read since. The grid of looks began at ``began_ms``, in the
    time of the node's clock.
    """

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        topics: TopicConfigManager,
        groups: SubscriptionGroupManager,
        began_ms: int,
    ) -> None:
        self._node = node
        self._topics = topics
        self._groups = groups
        self._began_ms = began_ms
        self._behind_bytes: dict[tuple[int, str, str], int] = {}
        """By queue id, topic and group."""
        self._timer: Timer | None = None

    def __len__(self) -> int:
        """Return how many queues of groups are remembered."""
        return len(self._behind_bytes)

    def stop(self) -> None:
        """Look no more."""
        self._node.clock.cancel(self._timer)
        self._timer = None

    def read(self, group: str, topic: str, queue_id: int, behind_bytes: int) -> None:
        """Remember how far behind the log's end a pull has read; below 0: it read nothing."""
        if behind_bytes >= 0 and self._node.config.disk_fall_recorded:
            self._behind_bytes[queue_id, topic, group] = behind_bytes
            self._watch()

    def _watch(self) -> None:
        if self._timer is None and self._behind_bytes:
            clock = self._node.clock
            past_ms = clock.elapsed_ms() - self._began_ms
            left_ms = PERIOD_MS - past_ms % PERIOD_MS
            self._timer = clock.call_later(left_ms, self._look, kind="protect_broker")

    def _look(self) -> None:
        self._timer = None
        self._node.clock.carry_out(self._look_at_each(), peer=self)

    def _look_at_each(self) -> Steps[None]:
        config, topics, groups = self._node.config, self._topics, self._groups
        yield from removed_where(
            self._behind_bytes, lambda at: at[1] not in topics or at[2] not in groups
        )
        if config.disable_consume_if_consumer_read_slowly:
            most = config.consumer_fallbehind_threshold
            for place in list(self._behind_bytes):
                yield
                behind, group = self._behind_bytes.get(place, 0), place[2]
                if behind > most and self._groups.disable_consume(group):
                    text = f"group {group} is {behind} bytes behind: it is suspended"
                    self._node.journal.add(Warned(node=self._node.name, text=text))
        self._watch()
