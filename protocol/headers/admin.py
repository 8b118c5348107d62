"""A broker's own configuration and statistics."""

from __future__ import annotations

from fakemq.protocol.header import Header


class GetBrokerConfigResponseHeader(Header):
    """Source: common/protocol/header/GetBrokerConfigResponseHeader.java (4.9.7)"""

    version: str


class ViewBrokerStatsDataRequestHeader(Header):
    """Source: common/protocol/header/ViewBrokerStatsDataRequestHeader.java (4.9.7)"""

    stats_name: str
    stats_key: str
