"""Which headers belong to the request codes that only 5.5.0 has, or that have more fields there.

A row is added with the handler of its code. `fakemq.protocol.table` has those of 4.9.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.table import NoHeader, Row, make_rows
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from fakemq.protocol.headers import offset, pop, query
    from fakemq.protocol.v5.headers import acting as v5_acting
    from fakemq.protocol.v5.headers import auth as v5_auth
    from fakemq.protocol.v5.headers import controller as v5_controller
    from fakemq.protocol.v5.headers import group as v5_group
    from fakemq.protocol.v5.headers import lite as v5_lite
    from fakemq.protocol.v5.headers import namesrv as v5_namesrv
    from fakemq.protocol.v5.headers import offset as v5_offset
    from fakemq.protocol.v5.headers import query as v5_query
    from fakemq.protocol.v5.headers import timer as v5_timer
    from fakemq.protocol.v5.headers import topic as v5_topic


def rows() -> list[Row[Any, Any]]:
    """Return every row."""
    return [row for row in globals().values() if isinstance(row, Row)]


UPDATE_AND_CREATE_TOPIC: Row[v5_topic.CreateTopicRequestHeader5, NoHeader]
UPDATE_AND_CREATE_TOPIC_LIST: Row[NoHeader, NoHeader]
REGISTER_TOPIC_IN_NAMESRV: Row[v5_namesrv.RegisterTopicRequestHeader, NoHeader]
GET_ALL_TOPIC_CONFIG: Row[
    v5_topic.GetAllTopicConfigRequestHeader, v5_topic.GetAllTopicConfigResponseHeader5
]
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Row[
    v5_group.GetAllSubscriptionGroupRequestHeader, v5_group.GetAllSubscriptionGroupResponseHeader
]
QUERY_CONSUMER_OFFSET: Row[
    v5_offset.QueryConsumerOffsetRequestHeader5, offset.QueryConsumerOffsetResponseHeader
]
QUERY_MESSAGE: Row[v5_query.QueryMessageRequestHeader5, query.QueryMessageResponseHeader]
SEARCH_OFFSET_BY_TIMESTAMP: Row[
    v5_offset.SearchOffsetRequestHeader5, offset.SearchOffsetResponseHeader
]
DELETE_SUBSCRIPTIONGROUP: Row[v5_group.DeleteSubscriptionGroupRequestHeader5, NoHeader]
GET_CONSUME_STATS: Row[v5_group.GetConsumeStatsRequestHeader5, NoHeader]
INVOKE_BROKER_TO_RESET_OFFSET: Row[v5_offset.ResetOffsetRequestHeader5, NoHeader]
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: Row[NoHeader, NoHeader]
GET_TIMER_CHECK_POINT: Row[NoHeader, NoHeader]
GET_TIMER_METRICS: Row[NoHeader, NoHeader]
GET_TOPIC_CONFIG: Row[v5_topic.GetTopicConfigRequestHeader, NoHeader]
GET_SUBSCRIPTIONGROUP_CONFIG: Row[v5_group.GetSubscriptionGroupConfigRequestHeader, NoHeader]
QUERY_TOPICS_BY_CONSUMER: Row[v5_group.QueryTopicsByConsumerRequestHeader, NoHeader]
QUERY_SUBSCRIPTION_BY_CONSUMER: Row[v5_group.QuerySubscriptionByConsumerRequestHeader, NoHeader]
UPDATE_AND_GET_GROUP_FORBIDDEN: Row[v5_group.UpdateGroupForbiddenRequestHeader, NoHeader]
GET_BROKER_HA_STATUS: Row[NoHeader, NoHeader]
RECALL_MESSAGE: Row[v5_timer.RecallMessageRequestHeader, v5_timer.RecallMessageResponseHeader]
NOTIFY_MIN_BROKER_ID_CHANGE: Row[v5_acting.NotifyMinBrokerIdChangeRequestHeader, NoHeader]
EXCHANGE_BROKER_HA_INFO: Row[
    v5_acting.ExchangeHAInfoRequestHeader, v5_acting.ExchangeHAInfoResponseHeader
]
RESET_MASTER_FLUSH_OFFSET: Row[v5_acting.ResetMasterFlushOffsetHeader, NoHeader]
BROKER_HEARTBEAT: Row[v5_namesrv.BrokerHeartbeatRequestHeader, NoHeader]
GET_BROKER_MEMBER_GROUP: Row[v5_namesrv.GetBrokerMemberGroupRequestHeader, NoHeader]
CONTROLLER_ALTER_SYNC_STATE_SET: Row[
    v5_controller.AlterSyncStateSetRequestHeader, v5_controller.AlterSyncStateSetResponseHeader
]
CONTROLLER_ELECT_MASTER: Row[
    v5_controller.ElectMasterRequestHeader, v5_controller.ElectMasterResponseHeader
]
CONTROLLER_REGISTER_BROKER: Row[
    v5_controller.RegisterBrokerToControllerRequestHeader,
    v5_controller.RegisterBrokerToControllerResponseHeader,
]
CONTROLLER_GET_REPLICA_INFO: Row[
    v5_controller.GetReplicaInfoRequestHeader, v5_controller.GetReplicaInfoResponseHeader
]
CONTROLLER_GET_METADATA_INFO: Row[NoHeader, v5_controller.GetMetaDataResponseHeader]
CONTROLLER_GET_SYNC_STATE_DATA: Row[NoHeader, NoHeader]
GET_BROKER_EPOCH_CACHE: Row[NoHeader, NoHeader]
NOTIFY_BROKER_ROLE_CHANGED: Row[v5_controller.NotifyBrokerRoleChangedRequestHeader, NoHeader]
UPDATE_CONTROLLER_CONFIG: Row[NoHeader, NoHeader]
GET_CONTROLLER_CONFIG: Row[NoHeader, NoHeader]
CLEAN_BROKER_DATA: Row[v5_controller.CleanControllerBrokerDataRequestHeader, NoHeader]
CONTROLLER_GET_NEXT_BROKER_ID: Row[
    v5_controller.GetNextBrokerIdRequestHeader, v5_controller.GetNextBrokerIdResponseHeader
]
CONTROLLER_APPLY_BROKER_ID: Row[
    v5_controller.ApplyBrokerIdRequestHeader, v5_controller.ApplyBrokerIdResponseHeader
]
AUTH_CREATE_USER: Row[v5_auth.UserRequestHeader, NoHeader]
AUTH_UPDATE_USER: Row[v5_auth.UserRequestHeader, NoHeader]
AUTH_DELETE_USER: Row[v5_auth.UserRequestHeader, NoHeader]
AUTH_GET_USER: Row[v5_auth.UserRequestHeader, NoHeader]
AUTH_LIST_USER: Row[v5_auth.ListUsersRequestHeader, NoHeader]
AUTH_CREATE_ACL: Row[v5_auth.AclRequestHeader, NoHeader]
AUTH_UPDATE_ACL: Row[v5_auth.AclRequestHeader, NoHeader]
AUTH_DELETE_ACL: Row[v5_auth.DeleteAclRequestHeader, NoHeader]
AUTH_GET_ACL: Row[v5_auth.AclRequestHeader, NoHeader]
AUTH_LIST_ACL: Row[v5_auth.ListAclsRequestHeader, NoHeader]
POP_MESSAGE: Row[pop.PopMessageRequestHeader, pop.PopMessageResponseHeader]
ACK_MESSAGE: Row[pop.AckMessageRequestHeader, NoHeader]
BATCH_ACK_MESSAGE: Row[NoHeader, NoHeader]
PEEK_MESSAGE: Row[pop.PeekMessageRequestHeader, pop.PopMessageResponseHeader]
CHANGE_MESSAGE_INVISIBLETIME: Row[
    pop.ChangeInvisibleTimeRequestHeader, pop.ChangeInvisibleTimeResponseHeader
]
NOTIFICATION: Row[pop.NotificationRequestHeader, pop.NotificationResponseHeader]
POLLING_INFO: Row[pop.PollingInfoRequestHeader, pop.PollingInfoResponseHeader]
QUERY_ASSIGNMENT: Row[NoHeader, NoHeader]
SET_MESSAGE_REQUEST_MODE: Row[NoHeader, NoHeader]
GET_ALL_MESSAGE_REQUEST_MODE: Row[NoHeader, NoHeader]
POP_LITE_MESSAGE: Row[v5_lite.PopLiteMessageRequestHeader, v5_lite.PopLiteMessageResponseHeader]
LITE_SUBSCRIPTION_CTL: Row[NoHeader, NoHeader]
GET_BROKER_LITE_INFO: Row[NoHeader, NoHeader]
GET_PARENT_TOPIC_INFO: Row[v5_lite.GetParentTopicInfoRequestHeader, NoHeader]
GET_LITE_TOPIC_INFO: Row[v5_lite.GetLiteTopicInfoRequestHeader, NoHeader]
GET_LITE_CLIENT_INFO: Row[v5_lite.GetLiteClientInfoRequestHeader, NoHeader]
GET_LITE_GROUP_INFO: Row[v5_lite.GetLiteGroupInfoRequestHeader, NoHeader]
TRIGGER_LITE_DISPATCH: Row[v5_lite.TriggerLiteDispatchRequestHeader, NoHeader]

make_rows(globals(), RequestCode.__members__ | RequestCode5.__members__)
