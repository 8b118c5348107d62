"""Subscription groups of a broker."""

from __future__ import annotations

from fakemq.protocol.header import Header


class DeleteSubscriptionGroupRequestHeader(Header):
    """Source: common/protocol/header/DeleteSubscriptionGroupRequestHeader.java (4.9.7)"""

    group_name: str
    remove_offset: bool = False


class GetConsumeStatsRequestHeader(Header):
    """Source: common/protocol/header/GetConsumeStatsRequestHeader.java (4.9.7)"""

    consumer_group: str
    topic: str | None = None


class GetConsumeStatsInBrokerHeader(Header):
    """Source: common/protocol/header/GetConsumeStatsInBrokerHeader.java (4.9.7)"""

    is_order: bool = False


class QueryConsumeTimeSpanRequestHeader(Header):
    """Source: common/protocol/header/QueryConsumeTimeSpanRequestHeader.java (4.9.7)"""

    topic: str
    group: str
