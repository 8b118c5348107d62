"""Which headers belong to the request codes that only 5.5.0 has, or that have more fields there.

A row is added with the handler of its code. `fakemq.protocol.table` has those of 4.9.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.table import NoHeader, Row
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from fakemq.protocol.headers import offset, pop, query
    from fakemq.protocol.v5.headers import group, namesrv, timer, topic
    from fakemq.protocol.v5.headers import offset as v5_offset
    from fakemq.protocol.v5.headers import query as v5_query


def rows() -> list[Row[Any, Any]]:
    """Return every row, in the order of RequestCode.java."""
    return [row for row in globals().values() if isinstance(row, Row)]


UPDATE_AND_CREATE_TOPIC: Row[topic.CreateTopicRequestHeader5, NoHeader] = Row(
    RequestCode.UPDATE_AND_CREATE_TOPIC, "v5.topic.CreateTopicRequestHeader5"
)
UPDATE_AND_CREATE_TOPIC_LIST: Row[NoHeader, NoHeader] = Row(
    RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST
)
REGISTER_TOPIC_IN_NAMESRV: Row[namesrv.RegisterTopicRequestHeader, NoHeader] = Row(
    RequestCode5.REGISTER_TOPIC_IN_NAMESRV, "v5.namesrv.RegisterTopicRequestHeader"
)
GET_ALL_TOPIC_CONFIG: Row[
    topic.GetAllTopicConfigRequestHeader, topic.GetAllTopicConfigResponseHeader5
] = Row(
    RequestCode.GET_ALL_TOPIC_CONFIG,
    "v5.topic.GetAllTopicConfigRequestHeader",
    "v5.topic.GetAllTopicConfigResponseHeader5",
)
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Row[
    group.GetAllSubscriptionGroupRequestHeader,
    group.GetAllSubscriptionGroupResponseHeader,
] = Row(
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    "v5.group.GetAllSubscriptionGroupRequestHeader",
    "v5.group.GetAllSubscriptionGroupResponseHeader",
)
QUERY_CONSUMER_OFFSET: Row[
    v5_offset.QueryConsumerOffsetRequestHeader5, offset.QueryConsumerOffsetResponseHeader
] = Row(
    RequestCode.QUERY_CONSUMER_OFFSET,
    "v5.offset.QueryConsumerOffsetRequestHeader5",
    "offset.QueryConsumerOffsetResponseHeader",
)
QUERY_MESSAGE: Row[v5_query.QueryMessageRequestHeader5, query.QueryMessageResponseHeader] = Row(
    RequestCode.QUERY_MESSAGE,
    "v5.query.QueryMessageRequestHeader5",
    "query.QueryMessageResponseHeader",
)
SEARCH_OFFSET_BY_TIMESTAMP: Row[
    v5_offset.SearchOffsetRequestHeader5, offset.SearchOffsetResponseHeader
] = Row(
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    "v5.offset.SearchOffsetRequestHeader5",
    "offset.SearchOffsetResponseHeader",
)
DELETE_SUBSCRIPTIONGROUP: Row[group.DeleteSubscriptionGroupRequestHeader5, NoHeader] = Row(
    RequestCode.DELETE_SUBSCRIPTIONGROUP, "v5.group.DeleteSubscriptionGroupRequestHeader5"
)
GET_CONSUME_STATS: Row[group.GetConsumeStatsRequestHeader5, NoHeader] = Row(
    RequestCode.GET_CONSUME_STATS, "v5.group.GetConsumeStatsRequestHeader5"
)
INVOKE_BROKER_TO_RESET_OFFSET: Row[v5_offset.ResetOffsetRequestHeader5, NoHeader] = Row(
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "v5.offset.ResetOffsetRequestHeader5"
)
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: Row[NoHeader, NoHeader] = Row(
    RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
)
GET_TIMER_CHECK_POINT: Row[NoHeader, NoHeader] = Row(RequestCode5.GET_TIMER_CHECK_POINT)
GET_TIMER_METRICS: Row[NoHeader, NoHeader] = Row(RequestCode5.GET_TIMER_METRICS)
GET_TOPIC_CONFIG: Row[topic.GetTopicConfigRequestHeader, NoHeader] = Row(
    RequestCode5.GET_TOPIC_CONFIG, "v5.topic.GetTopicConfigRequestHeader"
)
GET_SUBSCRIPTIONGROUP_CONFIG: Row[group.GetSubscriptionGroupConfigRequestHeader, NoHeader] = Row(
    RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG,
    "v5.group.GetSubscriptionGroupConfigRequestHeader",
)
QUERY_TOPICS_BY_CONSUMER: Row[group.QueryTopicsByConsumerRequestHeader, NoHeader] = Row(
    RequestCode5.QUERY_TOPICS_BY_CONSUMER, "v5.group.QueryTopicsByConsumerRequestHeader"
)
QUERY_SUBSCRIPTION_BY_CONSUMER: Row[group.QuerySubscriptionByConsumerRequestHeader, NoHeader] = Row(
    RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER,
    "v5.group.QuerySubscriptionByConsumerRequestHeader",
)
UPDATE_AND_GET_GROUP_FORBIDDEN: Row[group.UpdateGroupForbiddenRequestHeader, NoHeader] = Row(
    RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN, "v5.group.UpdateGroupForbiddenRequestHeader"
)
GET_BROKER_HA_STATUS: Row[NoHeader, NoHeader] = Row(RequestCode5.GET_BROKER_HA_STATUS)
RECALL_MESSAGE: Row[timer.RecallMessageRequestHeader, timer.RecallMessageResponseHeader] = Row(
    RequestCode5.RECALL_MESSAGE,
    "v5.timer.RecallMessageRequestHeader",
    "v5.timer.RecallMessageResponseHeader",
)
BROKER_HEARTBEAT: Row[namesrv.BrokerHeartbeatRequestHeader, NoHeader] = Row(
    RequestCode5.BROKER_HEARTBEAT, "v5.namesrv.BrokerHeartbeatRequestHeader"
)
GET_BROKER_MEMBER_GROUP: Row[namesrv.GetBrokerMemberGroupRequestHeader, NoHeader] = Row(
    RequestCode5.GET_BROKER_MEMBER_GROUP, "v5.namesrv.GetBrokerMemberGroupRequestHeader"
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
