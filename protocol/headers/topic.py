"""Topics of a broker."""

from __future__ import annotations

from fakemq.protocol.header import Header


class CreateTopicRequestHeader(Header):
    """Source: common/protocol/header/CreateTopicRequestHeader.java (4.9.7)"""

    topic: str
    default_topic: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_filter_type: str
    topic_sys_flag: int | None = None
    order: bool = False


class DeleteTopicRequestHeader(Header):
    """Source: common/protocol/header/DeleteTopicRequestHeader.java (4.9.7)"""

    topic: str


class GetAllTopicConfigResponseHeader(Header):
    """Source: common/protocol/header/GetAllTopicConfigResponseHeader.java (4.9.7)"""


class GetTopicStatsInfoRequestHeader(Header):
    """Source: common/protocol/header/GetTopicStatsInfoRequestHeader.java (4.9.7)"""

    topic: str


class GetTopicsByClusterRequestHeader(Header):
    """Source: common/protocol/header/GetTopicsByClusterRequestHeader.java (4.9.7)"""

    cluster: str


class QueryTopicConsumeByWhoRequestHeader(Header):
    """Source: common/protocol/header/QueryTopicConsumeByWhoRequestHeader.java (4.9.7)"""

    topic: str
