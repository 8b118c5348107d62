"""How far queues are filled and consumed, as 5.5.0 says it."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Double, Long
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.stats import OffsetWrapper, TopicStatsTable


class OffsetWrapper5(OffsetWrapper):
    """Source: remoting/protocol/admin/OffsetWrapper.java (5.5.0)"""

    pull_offset: Long = 0


class ConsumeStats5(Body):
    """How far a group has pulled and consumed each queue.

    Source: remoting/protocol/admin/ConsumeStats.java (5.5.0)
    """

    offset_table: dict[MessageQueue, OffsetWrapper5] = field(default_factory=dict)
    consume_tps: Double = 0.0

    def compute_total_diff(self) -> int:
        """Return how many messages the group has not consumed yet."""
        return sum(one.broker_offset - one.consumer_offset for one in self.offset_table.values())

    def compute_inflight_total_diff(self) -> int:
        """Return how many messages the group has pulled and not consumed yet."""
        return sum(one.pull_offset - one.consumer_offset for one in self.offset_table.values())


class ConsumeStatsList5(Body):
    """Source: remoting/protocol/body/ConsumeStatsList.java (5.5.0)"""

    consume_stats_list: list[dict[str, list[ConsumeStats5]]] = field(default_factory=list)
    broker_addr: str | None = None
    total_diff: Long = 0
    total_inflight_diff: Long = 0


class TopicStatsTable5(TopicStatsTable):
    """Source: remoting/protocol/admin/TopicStatsTable.java (5.5.0)"""

    topic_put_tps: Double = 0.0
