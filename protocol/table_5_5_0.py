"""Which headers belong to the request codes that 5.5.0 has and 4.9.7 does not.

A row is added with the handler of its code. `fakemq.protocol.table` has those of 4.9.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.protocol.codes_5_5_0 import RequestCode5
from fakemq.protocol.table import NoHeader, Row

if TYPE_CHECKING:
    from fakemq.protocol.headers import group_5_5_0, namesrv_5_5_0, pop, topic_5_5_0


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
POP_MESSAGE: Row[pop.PopMessageRequestHeader, pop.PopMessageResponseHeader] = Row(
    RequestCode5.POP_MESSAGE, "pop.PopMessageRequestHeader", "pop.PopMessageResponseHeader"
)
ACK_MESSAGE: Row[pop.AckMessageRequestHeader, NoHeader] = Row(
    RequestCode5.ACK_MESSAGE, "pop.AckMessageRequestHeader"
)
BATCH_ACK_MESSAGE: Row[NoHeader, NoHeader] = Row(RequestCode5.BATCH_ACK_MESSAGE)
CHANGE_MESSAGE_INVISIBLETIME: Row[
    pop.ChangeInvisibleTimeRequestHeader, pop.ChangeInvisibleTimeResponseHeader
] = Row(
    RequestCode5.CHANGE_MESSAGE_INVISIBLETIME,
    "pop.ChangeInvisibleTimeRequestHeader",
    "pop.ChangeInvisibleTimeResponseHeader",
)
NOTIFICATION: Row[pop.NotificationRequestHeader, pop.NotificationResponseHeader] = Row(
    RequestCode5.NOTIFICATION, "pop.NotificationRequestHeader", "pop.NotificationResponseHeader"
)
POLLING_INFO: Row[pop.PollingInfoRequestHeader, pop.PollingInfoResponseHeader] = Row(
    RequestCode5.POLLING_INFO, "pop.PollingInfoRequestHeader", "pop.PollingInfoResponseHeader"
)
QUERY_ASSIGNMENT: Row[NoHeader, NoHeader] = Row(RequestCode5.QUERY_ASSIGNMENT)
SET_MESSAGE_REQUEST_MODE: Row[NoHeader, NoHeader] = Row(RequestCode5.SET_MESSAGE_REQUEST_MODE)
GET_ALL_MESSAGE_REQUEST_MODE: Row[NoHeader, NoHeader] = Row(
    RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE
)
