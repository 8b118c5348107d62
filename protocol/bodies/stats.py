"""How far queues are filled and consumed, and what a broker has counted."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Double, Long
from fakemq.protocol.bodies.queue import MessageQueue


class OffsetWrapper(Body):
    """Source: common/admin/OffsetWrapper.java (4.9.7)"""

    broker_offset: Long = 0
    consumer_offset: Long = 0
    last_timestamp: Long = 0


class ConsumeStats(Body):
    """How far a group has consumed each queue.

    Source: common/admin/ConsumeStats.java (4.9.7)
    """

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: Double = 0.0

    def compute_total_diff(self) -> int:
        """Return how many messages the group has not consumed yet."""
        return sum(one.broker_offset - one.consumer_offset for one in self.offset_table.values())


class ConsumeStatsList(Body):
    """The groups of one broker, each in a map of its own, with one `ConsumeStats` per topic.

    Source: common/protocol/body/ConsumeStatsList.java (4.9.7)
    """

    consume_stats_list: list[dict[str, list[ConsumeStats]]] = field(default_factory=list)
    broker_addr: str | None = None
    total_diff: Long = 0


class TopicOffset(Body):
    """Source: common/admin/TopicOffset.java (4.9.7)"""

    min_offset: Long = 0
    max_offset: Long = 0
    last_update_timestamp: Long = 0


class TopicStatsTable(Body):
    """Source: common/admin/TopicStatsTable.java (4.9.7)"""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)


class QueueTimeSpan(Body):
    """Stored times of a queue's first and last message and of the last one consumed.

    Each is there as text, too, in the broker's local time: ``yyyy-MM-dd#HH:mm:ss:SSS``; Java
    writes these and reads them over.

    Source: common/protocol/body/QueueTimeSpan.java (4.9.7)
    """

    message_queue: MessageQueue | None = None
    min_time_stamp: Long = 0
    max_time_stamp: Long = 0
    consume_time_stamp: Long = 0
    delay_time: Long = 0
    min_time_stamp_str: str | None = None
    max_time_stamp_str: str | None = None
    consume_time_stamp_str: str | None = None


class QueryConsumeTimeSpanBody(Body):
    """Source: common/protocol/body/QueryConsumeTimeSpanBody.java (4.9.7)"""

    consume_time_span_set: list[QueueTimeSpan] = field(default_factory=list)


class BrokerStatsItem(Body):
    """Sum, sum per second, and sum per time that something was counted.

    Source: common/protocol/body/BrokerStatsItem.java (4.9.7)
    """

    sum: Long = 0
    tps: Double = 0.0
    avgpt: Double = 0.0


class BrokerStatsData(Body):
    """Source: common/protocol/body/BrokerStatsData.java (4.9.7)"""

    stats_minute: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_day: BrokerStatsItem | None = None
