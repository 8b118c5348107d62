"""Which headers belong to the request codes that 5.5.0 has and 4.9.7 does not.

A row is added with the handler of its code. `fakemq.protocol.table` has those of 4.9.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.protocol.codes_5_5_0 import RequestCode5
from fakemq.protocol.table import NoHeader, Row

if TYPE_CHECKING:
    from fakemq.protocol.headers import group_5_5_0, namesrv_5_5_0, topic_5_5_0


def rows() -> list[Row[Any, Any]]:
    """Return every row, in the order of RequestCode.java."""
    return [row for row in globals().values() if isinstance(row, Row)]


GET_TOPIC_CONFIG: Row[topic_5_5_0.GetTopicConfigRequestHeader, NoHeader] = Row(
    RequestCode5.GET_TOPIC_CONFIG, "topic_5_5_0.GetTopicConfigRequestHeader"
)
GET_SUBSCRIPTIONGROUP_CONFIG: Row[group_5_5_0.GetSubscriptionGroupConfigRequestHeader, NoHeader] = (
    Row(
        RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG,
        "group_5_5_0.GetSubscriptionGroupConfigRequestHeader",
    )
)
BROKER_HEARTBEAT: Row[namesrv_5_5_0.BrokerHeartbeatRequestHeader, NoHeader] = Row(
    RequestCode5.BROKER_HEARTBEAT, "namesrv_5_5_0.BrokerHeartbeatRequestHeader"
)
