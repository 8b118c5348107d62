"""Which headers belong to the request codes that only 5.5.0 has, or that have more fields there.

A row is added with the handler of its code. `fakemq.protocol.table` has those of 4.9.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.codes_5_5_0 import RequestCode5
from fakemq.protocol.table import NoHeader, Row

if TYPE_CHECKING:
    from fakemq.protocol.headers import (
        group_5_5_0,
        namesrv_5_5_0,
        offset,
        offset_5_5_0,
        pop,
        query,
        query_5_5_0,
        timer_5_5_0,
        topic_5_5_0,
    )


def rows() -> list[Row[Any, Any]]:
    """Return every row, in the order of RequestCode.java."""
    return [row for row in globals().values() if isinstance(row, Row)]


UPDATE_AND_CREATE_TOPIC: Row[topic_5_5_0.CreateTopicRequestHeader5, NoHeader] = Row(
    RequestCode.UPDATE_AND_CREATE_TOPIC, "topic_5_5_0.CreateTopicRequestHeader5"
)
UPDATE_AND_CREATE_TOPIC_LIST: Row[NoHeader, NoHeader] = Row(
    RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST
)
REGISTER_TOPIC_IN_NAMESRV: Row[namesrv_5_5_0.RegisterTopicRequestHeader, NoHeader] = Row(
    RequestCode5.REGISTER_TOPIC_IN_NAMESRV, "namesrv_5_5_0.RegisterTopicRequestHeader"
)
GET_ALL_TOPIC_CONFIG: Row[
    topic_5_5_0.GetAllTopicConfigRequestHeader, topic_5_5_0.GetAllTopicConfigResponseHeader5
] = Row(
    RequestCode.GET_ALL_TOPIC_CONFIG,
    "topic_5_5_0.GetAllTopicConfigRequestHeader",
    "topic_5_5_0.GetAllTopicConfigResponseHeader5",
)
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Row[
    group_5_5_0.GetAllSubscriptionGroupRequestHeader,
    group_5_5_0.GetAllSubscriptionGroupResponseHeader,
] = Row(
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    "group_5_5_0.GetAllSubscriptionGroupRequestHeader",
    "group_5_5_0.GetAllSubscriptionGroupResponseHeader",
)
QUERY_CONSUMER_OFFSET: Row[
    offset_5_5_0.QueryConsumerOffsetRequestHeader5, offset.QueryConsumerOffsetResponseHeader
] = Row(
    RequestCode.QUERY_CONSUMER_OFFSET,
    "offset_5_5_0.QueryConsumerOffsetRequestHeader5",
    "offset.QueryConsumerOffsetResponseHeader",
)
QUERY_MESSAGE: Row[query_5_5_0.QueryMessageRequestHeader5, query.QueryMessageResponseHeader] = Row(
    RequestCode.QUERY_MESSAGE,
    "query_5_5_0.QueryMessageRequestHeader5",
    "query.QueryMessageResponseHeader",
)
SEARCH_OFFSET_BY_TIMESTAMP: Row[
    offset_5_5_0.SearchOffsetRequestHeader5, offset.SearchOffsetResponseHeader
] = Row(
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    "offset_5_5_0.SearchOffsetRequestHeader5",
    "offset.SearchOffsetResponseHeader",
)
DELETE_SUBSCRIPTIONGROUP: Row[group_5_5_0.DeleteSubscriptionGroupRequestHeader5, NoHeader] = Row(
    RequestCode.DELETE_SUBSCRIPTIONGROUP, "group_5_5_0.DeleteSubscriptionGroupRequestHeader5"
)
GET_CONSUME_STATS: Row[group_5_5_0.GetConsumeStatsRequestHeader5, NoHeader] = Row(
    RequestCode.GET_CONSUME_STATS, "group_5_5_0.GetConsumeStatsRequestHeader5"
)
INVOKE_BROKER_TO_RESET_OFFSET: Row[offset_5_5_0.ResetOffsetRequestHeader5, NoHeader] = Row(
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "offset_5_5_0.ResetOffsetRequestHeader5"
)
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: Row[NoHeader, NoHeader] = Row(
    RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
)
GET_TIMER_CHECK_POINT: Row[NoHeader, NoHeader] = Row(RequestCode5.GET_TIMER_CHECK_POINT)
GET_TIMER_METRICS: Row[NoHeader, NoHeader] = Row(RequestCode5.GET_TIMER_METRICS)
GET_TOPIC_CONFIG: Row[topic_5_5_0.GetTopicConfigRequestHeader, NoHeader] = Row(
    RequestCode5.GET_TOPIC_CONFIG, "topic_5_5_0.GetTopicConfigRequestHeader"
)
GET_SUBSCRIPTIONGROUP_CONFIG: Row[group_5_5_0.GetSubscriptionGroupConfigRequestHeader, NoHeader] = (
    Row(
        RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG,
        "group_5_5_0.GetSubscriptionGroupConfigRequestHeader",
    )
)
QUERY_TOPICS_BY_CONSUMER: Row[group_5_5_0.QueryTopicsByConsumerRequestHeader, NoHeader] = Row(
    RequestCode5.QUERY_TOPICS_BY_CONSUMER, "group_5_5_0.QueryTopicsByConsumerRequestHeader"
)
QUERY_SUBSCRIPTION_BY_CONSUMER: Row[
    group_5_5_0.QuerySubscriptionByConsumerRequestHeader, NoHeader
] = Row(
    RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER,
    "group_5_5_0.QuerySubscriptionByConsumerRequestHeader",
)
UPDATE_AND_GET_GROUP_FORBIDDEN: Row[group_5_5_0.UpdateGroupForbiddenRequestHeader, NoHeader] = Row(
    RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN, "group_5_5_0.UpdateGroupForbiddenRequestHeader"
)
GET_BROKER_HA_STATUS: Row[NoHeader, NoHeader] = Row(RequestCode5.GET_BROKER_HA_STATUS)
RECALL_MESSAGE: Row[
    timer_5_5_0.RecallMessageRequestHeader, timer_5_5_0.RecallMessageResponseHeader
] = Row(
    RequestCode5.RECALL_MESSAGE,
    "timer_5_5_0.RecallMessageRequestHeader",
    "timer_5_5_0.RecallMessageResponseHeader",
)
BROKER_HEARTBEAT: Row[namesrv_5_5_0.BrokerHeartbeatRequestHeader, NoHeader] = Row(
    RequestCode5.BROKER_HEARTBEAT, "namesrv_5_5_0.BrokerHeartbeatRequestHeader"
)
GET_BROKER_MEMBER_GROUP: Row[namesrv_5_5_0.GetBrokerMemberGroupRequestHeader, NoHeader] = Row(
    RequestCode5.GET_BROKER_MEMBER_GROUP, "namesrv_5_5_0.GetBrokerMemberGroupRequestHeader"
)
POP_MESSAGE: Row[pop.PopMessageRequestHeader, pop.PopMessageResponseHeader] = Row(
    RequestCode5.POP_MESSAGE, "pop.PopMessageRequestHeader", "pop.PopMessageResponseHeader"
)
ACK_MESSAGE: Row[pop.AckMessageRequestHeader, NoHeader] = Row(
    RequestCode5.ACK_MESSAGE, "pop.AckMessageRequestHeader"
)
BATCH_ACK_MESSAGE: Row[NoHeader, NoHeader] = Row(RequestCode5.BATCH_ACK_MESSAGE)
PEEK_MESSAGE: Row[pop.PeekMessageRequestHeader, pop.PopMessageResponseHeader] = Row(
    RequestCode5.PEEK_MESSAGE, "pop.PeekMessageRequestHeader", "pop.PopMessageResponseHeader"
)
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
