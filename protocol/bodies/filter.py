"""What a broker keeps of the filter expressions of its consumers: config/consumerFilter.json."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long


class BloomFilterData(Body):
    """Source: filter/util/BloomFilterData.java (4.9.7)"""

    bit_pos: tuple[Int, ...] | None = None
    bit_num: Int = 0


class ConsumerFilterData(Body):
    """The filter of one group for one topic; times are wall times in milliseconds.

    ``dead`` is said again: Java works it out when it reads, as ``dead_time >= born_time``.

    Source: broker/filter/ConsumerFilterData.java (4.9.7)
    """

    consumer_group: str | None = None
    topic: str | None = None
    expression: str | None = None
    expression_type: str | None = None
    born_time: Long = 0
    dead_time: Long = 0
    dead: bool = False
    bloom_filter_data: BloomFilterData | None = None
    client_version: Long = 0


class FilterDataMapByTopic(Body):
    """Source: broker/filter/ConsumerFilterManager.java#FilterDataMapByTopic (4.9.7)"""

    group_filter_data: dict[str, ConsumerFilterData] = field(default_factory=dict)
    topic: str | None = None


class ConsumerFilterTable(Body):
    """Source: broker/filter/ConsumerFilterManager.java#encode (4.9.7)"""

    filter_data_by_topic: dict[str, FilterDataMapByTopic] = field(default_factory=dict)
