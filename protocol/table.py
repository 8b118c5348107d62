"""Which headers belong to which code: the protocol's own table.

A row names its header classes as ``module.Class`` below ``fakemq.protocol.headers``, or as
``v5.module.Class`` below ``fakemq.protocol.v5.headers``, and loads them when first asked, because
most runs never see most codes. The type parameters say the same to the type checker: a handler
whose header types do not match its row does not pass.
"""

from __future__ import annotations

from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.header import Header

if TYPE_CHECKING:
    from fakemq.protocol.headers import (
        acl,
        admin,
        client,
        filter,
        group,
        kv,
        namesrv,
        offset,
        pull,
        query,
        send,
        topic,
        transaction,
    )

RequestHeader = TypeVar("RequestHeader", bound=Header)
ResponseHeader = TypeVar("ResponseHeader", bound=Header)


class NoHeader(Header):
    """The header of a request or response that has none."""


class Row(Generic[RequestHeader, ResponseHeader]):
    """One request code with its request and response header."""

    __slots__ = ("_request", "_response", "code")

    def __init__(self, code: IntEnum, request: str = "", response: str = "") -> None:
        self.code = code
        self._request = request
        self._response = response

    @property
    def request_header(self) -> type[RequestHeader]:
        return cast("type[RequestHeader]", _load(self._request))

    @property
    def response_header(self) -> type[ResponseHeader]:
        return cast("type[ResponseHeader]", _load(self._response))

    def __repr__(self) -> str:
        return f"<{self.code.name} ({self.code}) {self._request or '-'} {self._response or '-'}>"


def _load(path: str) -> type[Header]:
    if not path:
        return NoHeader
    module, _, name = path.rpartition(".")
    release, _, module = module.rpartition(".")
    folder = ".".join(one for one in ("fakemq.protocol", release, "headers") if one)
    return cast("type[Header]", getattr(import_module(f"{folder}.{module}"), name))


def rows() -> list[Row[Any, Any]]:
    """Return every row, in the order of RequestCode.java."""
    return [row for row in globals().values() if isinstance(row, Row)]


SEND_MESSAGE: Row[send.SendMessageRequestHeader, send.SendMessageResponseHeader] = Row(
    RequestCode.SEND_MESSAGE, "send.SendMessageRequestHeader", "send.SendMessageResponseHeader"
)
PULL_MESSAGE: Row[pull.PullMessageRequestHeader, pull.PullMessageResponseHeader] = Row(
    RequestCode.PULL_MESSAGE, "pull.PullMessageRequestHeader", "pull.PullMessageResponseHeader"
)
QUERY_MESSAGE: Row[query.QueryMessageRequestHeader, query.QueryMessageResponseHeader] = Row(
    RequestCode.QUERY_MESSAGE, "query.QueryMessageRequestHeader", "query.QueryMessageResponseHeader"
)
QUERY_BROKER_OFFSET: Row[NoHeader, NoHeader] = Row(RequestCode.QUERY_BROKER_OFFSET)
QUERY_CONSUMER_OFFSET: Row[
    offset.QueryConsumerOffsetRequestHeader, offset.QueryConsumerOffsetResponseHeader
] = Row(
    RequestCode.QUERY_CONSUMER_OFFSET,
    "offset.QueryConsumerOffsetRequestHeader",
    "offset.QueryConsumerOffsetResponseHeader",
)
UPDATE_CONSUMER_OFFSET: Row[
    offset.UpdateConsumerOffsetRequestHeader, offset.UpdateConsumerOffsetResponseHeader
] = Row(
    RequestCode.UPDATE_CONSUMER_OFFSET,
    "offset.UpdateConsumerOffsetRequestHeader",
    "offset.UpdateConsumerOffsetResponseHeader",
)
UPDATE_AND_CREATE_TOPIC: Row[topic.CreateTopicRequestHeader, NoHeader] = Row(
    RequestCode.UPDATE_AND_CREATE_TOPIC, "topic.CreateTopicRequestHeader"
)
GET_ALL_TOPIC_CONFIG: Row[NoHeader, topic.GetAllTopicConfigResponseHeader] = Row(
    RequestCode.GET_ALL_TOPIC_CONFIG, "", "topic.GetAllTopicConfigResponseHeader"
)
GET_TOPIC_CONFIG_LIST: Row[NoHeader, NoHeader] = Row(RequestCode.GET_TOPIC_CONFIG_LIST)
GET_TOPIC_NAME_LIST: Row[NoHeader, NoHeader] = Row(RequestCode.GET_TOPIC_NAME_LIST)
UPDATE_BROKER_CONFIG: Row[NoHeader, NoHeader] = Row(RequestCode.UPDATE_BROKER_CONFIG)
GET_BROKER_CONFIG: Row[NoHeader, admin.GetBrokerConfigResponseHeader] = Row(
    RequestCode.GET_BROKER_CONFIG, "", "admin.GetBrokerConfigResponseHeader"
)
TRIGGER_DELETE_FILES: Row[NoHeader, NoHeader] = Row(RequestCode.TRIGGER_DELETE_FILES)
GET_BROKER_RUNTIME_INFO: Row[NoHeader, NoHeader] = Row(RequestCode.GET_BROKER_RUNTIME_INFO)
SEARCH_OFFSET_BY_TIMESTAMP: Row[
    offset.SearchOffsetRequestHeader, offset.SearchOffsetResponseHeader
] = Row(
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,
    "offset.SearchOffsetRequestHeader",
    "offset.SearchOffsetResponseHeader",
)
GET_MAX_OFFSET: Row[offset.GetMaxOffsetRequestHeader, offset.GetMaxOffsetResponseHeader] = Row(
    RequestCode.GET_MAX_OFFSET,
    "offset.GetMaxOffsetRequestHeader",
    "offset.GetMaxOffsetResponseHeader",
)
GET_MIN_OFFSET: Row[offset.GetMinOffsetRequestHeader, offset.GetMinOffsetResponseHeader] = Row(
    RequestCode.GET_MIN_OFFSET,
    "offset.GetMinOffsetRequestHeader",
    "offset.GetMinOffsetResponseHeader",
)
GET_EARLIEST_MSG_STORETIME: Row[
    offset.GetEarliestMsgStoretimeRequestHeader, offset.GetEarliestMsgStoretimeResponseHeader
] = Row(
    RequestCode.GET_EARLIEST_MSG_STORETIME,
    "offset.GetEarliestMsgStoretimeRequestHeader",
    "offset.GetEarliestMsgStoretimeResponseHeader",
)
VIEW_MESSAGE_BY_ID: Row[query.ViewMessageRequestHeader, NoHeader] = Row(
    RequestCode.VIEW_MESSAGE_BY_ID, "query.ViewMessageRequestHeader"
)
HEART_BEAT: Row[NoHeader, NoHeader] = Row(RequestCode.HEART_BEAT)
UNREGISTER_CLIENT: Row[
    client.UnregisterClientRequestHeader, client.UnregisterClientResponseHeader
] = Row(
    RequestCode.UNREGISTER_CLIENT,
    "client.UnregisterClientRequestHeader",
    "client.UnregisterClientResponseHeader",
)
CONSUMER_SEND_MSG_BACK: Row[send.ConsumerSendMsgBackRequestHeader, NoHeader] = Row(
    RequestCode.CONSUMER_SEND_MSG_BACK, "send.ConsumerSendMsgBackRequestHeader"
)
END_TRANSACTION: Row[transaction.EndTransactionRequestHeader, NoHeader] = Row(
    RequestCode.END_TRANSACTION, "transaction.EndTransactionRequestHeader"
)
GET_CONSUMER_LIST_BY_GROUP: Row[
    client.GetConsumerListByGroupRequestHeader, client.GetConsumerListByGroupResponseHeader
] = Row(
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    "client.GetConsumerListByGroupRequestHeader",
    "client.GetConsumerListByGroupResponseHeader",
)
CHECK_TRANSACTION_STATE: Row[transaction.CheckTransactionStateRequestHeader, NoHeader] = Row(
    RequestCode.CHECK_TRANSACTION_STATE, "transaction.CheckTransactionStateRequestHeader"
)
NOTIFY_CONSUMER_IDS_CHANGED: Row[client.NotifyConsumerIdsChangedRequestHeader, NoHeader] = Row(
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, "client.NotifyConsumerIdsChangedRequestHeader"
)
LOCK_BATCH_MQ: Row[NoHeader, NoHeader] = Row(RequestCode.LOCK_BATCH_MQ)
UNLOCK_BATCH_MQ: Row[NoHeader, NoHeader] = Row(RequestCode.UNLOCK_BATCH_MQ)
GET_ALL_CONSUMER_OFFSET: Row[NoHeader, NoHeader] = Row(RequestCode.GET_ALL_CONSUMER_OFFSET)
GET_ALL_DELAY_OFFSET: Row[NoHeader, NoHeader] = Row(RequestCode.GET_ALL_DELAY_OFFSET)
CHECK_CLIENT_CONFIG: Row[NoHeader, NoHeader] = Row(RequestCode.CHECK_CLIENT_CONFIG)
UPDATE_AND_CREATE_ACL_CONFIG: Row[acl.CreateAccessConfigRequestHeader, NoHeader] = Row(
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, "acl.CreateAccessConfigRequestHeader"
)
DELETE_ACL_CONFIG: Row[acl.DeleteAccessConfigRequestHeader, NoHeader] = Row(
    RequestCode.DELETE_ACL_CONFIG, "acl.DeleteAccessConfigRequestHeader"
)
GET_BROKER_CLUSTER_ACL_INFO: Row[NoHeader, acl.GetBrokerAclConfigResponseHeader] = Row(
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO, "", "acl.GetBrokerAclConfigResponseHeader"
)
UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: Row[acl.UpdateGlobalWhiteAddrsConfigRequestHeader, NoHeader] = (
    Row(
        RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
        "acl.UpdateGlobalWhiteAddrsConfigRequestHeader",
    )
)
GET_BROKER_CLUSTER_ACL_CONFIG: Row[NoHeader, acl.GetBrokerClusterAclConfigResponseHeader] = Row(
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG, "", "acl.GetBrokerClusterAclConfigResponseHeader"
)
PUT_KV_CONFIG: Row[kv.PutKVConfigRequestHeader, NoHeader] = Row(
    RequestCode.PUT_KV_CONFIG, "kv.PutKVConfigRequestHeader"
)
GET_KV_CONFIG: Row[kv.GetKVConfigRequestHeader, kv.GetKVConfigResponseHeader] = Row(
    RequestCode.GET_KV_CONFIG, "kv.GetKVConfigRequestHeader", "kv.GetKVConfigResponseHeader"
)
DELETE_KV_CONFIG: Row[kv.DeleteKVConfigRequestHeader, NoHeader] = Row(
    RequestCode.DELETE_KV_CONFIG, "kv.DeleteKVConfigRequestHeader"
)
REGISTER_BROKER: Row[namesrv.RegisterBrokerRequestHeader, namesrv.RegisterBrokerResponseHeader] = (
    Row(
        RequestCode.REGISTER_BROKER,
        "namesrv.RegisterBrokerRequestHeader",
        "namesrv.RegisterBrokerResponseHeader",
    )
)
UNREGISTER_BROKER: Row[namesrv.UnRegisterBrokerRequestHeader, NoHeader] = Row(
    RequestCode.UNREGISTER_BROKER, "namesrv.UnRegisterBrokerRequestHeader"
)
GET_ROUTEINFO_BY_TOPIC: Row[namesrv.GetRouteInfoRequestHeader, NoHeader] = Row(
    RequestCode.GET_ROUTEINFO_BY_TOPIC, "namesrv.GetRouteInfoRequestHeader"
)
GET_BROKER_CLUSTER_INFO: Row[NoHeader, NoHeader] = Row(RequestCode.GET_BROKER_CLUSTER_INFO)
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Row[NoHeader, NoHeader] = Row(
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
)
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Row[NoHeader, NoHeader] = Row(
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
)
GET_TOPIC_STATS_INFO: Row[topic.GetTopicStatsInfoRequestHeader, NoHeader] = Row(
    RequestCode.GET_TOPIC_STATS_INFO, "topic.GetTopicStatsInfoRequestHeader"
)
GET_CONSUMER_CONNECTION_LIST: Row[client.GetConsumerConnectionListRequestHeader, NoHeader] = Row(
    RequestCode.GET_CONSUMER_CONNECTION_LIST, "client.GetConsumerConnectionListRequestHeader"
)
GET_PRODUCER_CONNECTION_LIST: Row[client.GetProducerConnectionListRequestHeader, NoHeader] = Row(
    RequestCode.GET_PRODUCER_CONNECTION_LIST, "client.GetProducerConnectionListRequestHeader"
)
WIPE_WRITE_PERM_OF_BROKER: Row[
    namesrv.WipeWritePermOfBrokerRequestHeader, namesrv.WipeWritePermOfBrokerResponseHeader
] = Row(
    RequestCode.WIPE_WRITE_PERM_OF_BROKER,
    "namesrv.WipeWritePermOfBrokerRequestHeader",
    "namesrv.WipeWritePermOfBrokerResponseHeader",
)
GET_ALL_TOPIC_LIST_FROM_NAMESERVER: Row[NoHeader, NoHeader] = Row(
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
)
DELETE_SUBSCRIPTIONGROUP: Row[group.DeleteSubscriptionGroupRequestHeader, NoHeader] = Row(
    RequestCode.DELETE_SUBSCRIPTIONGROUP, "group.DeleteSubscriptionGroupRequestHeader"
)
GET_CONSUME_STATS: Row[group.GetConsumeStatsRequestHeader, NoHeader] = Row(
    RequestCode.GET_CONSUME_STATS, "group.GetConsumeStatsRequestHeader"
)
SUSPEND_CONSUMER: Row[NoHeader, NoHeader] = Row(RequestCode.SUSPEND_CONSUMER)
RESUME_CONSUMER: Row[NoHeader, NoHeader] = Row(RequestCode.RESUME_CONSUMER)
RESET_CONSUMER_OFFSET_IN_CONSUMER: Row[NoHeader, NoHeader] = Row(
    RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER
)
RESET_CONSUMER_OFFSET_IN_BROKER: Row[NoHeader, NoHeader] = Row(
    RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER
)
ADJUST_CONSUMER_THREAD_POOL: Row[NoHeader, NoHeader] = Row(RequestCode.ADJUST_CONSUMER_THREAD_POOL)
WHO_CONSUME_THE_MESSAGE: Row[NoHeader, NoHeader] = Row(RequestCode.WHO_CONSUME_THE_MESSAGE)
DELETE_TOPIC_IN_BROKER: Row[topic.DeleteTopicRequestHeader, NoHeader] = Row(
    RequestCode.DELETE_TOPIC_IN_BROKER, "topic.DeleteTopicRequestHeader"
)
DELETE_TOPIC_IN_NAMESRV: Row[namesrv.DeleteTopicFromNamesrvRequestHeader, NoHeader] = Row(
    RequestCode.DELETE_TOPIC_IN_NAMESRV, "namesrv.DeleteTopicFromNamesrvRequestHeader"
)
GET_KVLIST_BY_NAMESPACE: Row[kv.GetKVListByNamespaceRequestHeader, NoHeader] = Row(
    RequestCode.GET_KVLIST_BY_NAMESPACE, "kv.GetKVListByNamespaceRequestHeader"
)
RESET_CONSUMER_CLIENT_OFFSET: Row[offset.ResetOffsetRequestHeader, NoHeader] = Row(
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET, "offset.ResetOffsetRequestHeader"
)
GET_CONSUMER_STATUS_FROM_CLIENT: Row[client.GetConsumerStatusRequestHeader, NoHeader] = Row(
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, "client.GetConsumerStatusRequestHeader"
)
INVOKE_BROKER_TO_RESET_OFFSET: Row[offset.ResetOffsetRequestHeader, NoHeader] = Row(
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, "offset.ResetOffsetRequestHeader"
)
INVOKE_BROKER_TO_GET_CONSUMER_STATUS: Row[client.GetConsumerStatusRequestHeader, NoHeader] = Row(
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, "client.GetConsumerStatusRequestHeader"
)
QUERY_TOPIC_CONSUME_BY_WHO: Row[topic.QueryTopicConsumeByWhoRequestHeader, NoHeader] = Row(
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, "topic.QueryTopicConsumeByWhoRequestHeader"
)
GET_TOPICS_BY_CLUSTER: Row[topic.GetTopicsByClusterRequestHeader, NoHeader] = Row(
    RequestCode.GET_TOPICS_BY_CLUSTER, "topic.GetTopicsByClusterRequestHeader"
)
REGISTER_FILTER_SERVER: Row[
    filter.RegisterFilterServerRequestHeader, filter.RegisterFilterServerResponseHeader
] = Row(
    RequestCode.REGISTER_FILTER_SERVER,
    "filter.RegisterFilterServerRequestHeader",
    "filter.RegisterFilterServerResponseHeader",
)
REGISTER_MESSAGE_FILTER_CLASS: Row[filter.RegisterMessageFilterClassRequestHeader, NoHeader] = Row(
    RequestCode.REGISTER_MESSAGE_FILTER_CLASS, "filter.RegisterMessageFilterClassRequestHeader"
)
QUERY_CONSUME_TIME_SPAN: Row[group.QueryConsumeTimeSpanRequestHeader, NoHeader] = Row(
    RequestCode.QUERY_CONSUME_TIME_SPAN, "group.QueryConsumeTimeSpanRequestHeader"
)
GET_SYSTEM_TOPIC_LIST_FROM_NS: Row[NoHeader, NoHeader] = Row(
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS
)
GET_SYSTEM_TOPIC_LIST_FROM_BROKER: Row[NoHeader, NoHeader] = Row(
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER
)
CLEAN_EXPIRED_CONSUMEQUEUE: Row[NoHeader, NoHeader] = Row(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
GET_CONSUMER_RUNNING_INFO: Row[client.GetConsumerRunningInfoRequestHeader, NoHeader] = Row(
    RequestCode.GET_CONSUMER_RUNNING_INFO, "client.GetConsumerRunningInfoRequestHeader"
)
QUERY_CORRECTION_OFFSET: Row[offset.QueryCorrectionOffsetHeader, NoHeader] = Row(
    RequestCode.QUERY_CORRECTION_OFFSET, "offset.QueryCorrectionOffsetHeader"
)
CONSUME_MESSAGE_DIRECTLY: Row[client.ConsumeMessageDirectlyResultRequestHeader, NoHeader] = Row(
    RequestCode.CONSUME_MESSAGE_DIRECTLY, "client.ConsumeMessageDirectlyResultRequestHeader"
)
SEND_MESSAGE_V2: Row[send.SendMessageRequestHeaderV2, send.SendMessageResponseHeader] = Row(
    RequestCode.SEND_MESSAGE_V2, "send.SendMessageRequestHeaderV2", "send.SendMessageResponseHeader"
)
GET_UNIT_TOPIC_LIST: Row[NoHeader, NoHeader] = Row(RequestCode.GET_UNIT_TOPIC_LIST)
GET_HAS_UNIT_SUB_TOPIC_LIST: Row[NoHeader, NoHeader] = Row(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)
GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: Row[NoHeader, NoHeader] = Row(
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST
)
CLONE_GROUP_OFFSET: Row[offset.CloneGroupOffsetRequestHeader, NoHeader] = Row(
    RequestCode.CLONE_GROUP_OFFSET, "offset.CloneGroupOffsetRequestHeader"
)
VIEW_BROKER_STATS_DATA: Row[admin.ViewBrokerStatsDataRequestHeader, NoHeader] = Row(
    RequestCode.VIEW_BROKER_STATS_DATA, "admin.ViewBrokerStatsDataRequestHeader"
)
CLEAN_UNUSED_TOPIC: Row[NoHeader, NoHeader] = Row(RequestCode.CLEAN_UNUSED_TOPIC)
GET_BROKER_CONSUME_STATS: Row[group.GetConsumeStatsInBrokerHeader, NoHeader] = Row(
    RequestCode.GET_BROKER_CONSUME_STATS, "group.GetConsumeStatsInBrokerHeader"
)
UPDATE_NAMESRV_CONFIG: Row[NoHeader, NoHeader] = Row(RequestCode.UPDATE_NAMESRV_CONFIG)
GET_NAMESRV_CONFIG: Row[NoHeader, NoHeader] = Row(RequestCode.GET_NAMESRV_CONFIG)
SEND_BATCH_MESSAGE: Row[send.SendMessageRequestHeaderV2, send.SendMessageResponseHeader] = Row(
    RequestCode.SEND_BATCH_MESSAGE,
    "send.SendMessageRequestHeaderV2",
    "send.SendMessageResponseHeader",
)
QUERY_CONSUME_QUEUE: Row[query.QueryConsumeQueueRequestHeader, NoHeader] = Row(
    RequestCode.QUERY_CONSUME_QUEUE, "query.QueryConsumeQueueRequestHeader"
)
QUERY_DATA_VERSION: Row[
    namesrv.QueryDataVersionRequestHeader, namesrv.QueryDataVersionResponseHeader
] = Row(
    RequestCode.QUERY_DATA_VERSION,
    "namesrv.QueryDataVersionRequestHeader",
    "namesrv.QueryDataVersionResponseHeader",
)
RESUME_CHECK_HALF_MESSAGE: Row[transaction.ResumeCheckHalfMessageRequestHeader, NoHeader] = Row(
    RequestCode.RESUME_CHECK_HALF_MESSAGE, "transaction.ResumeCheckHalfMessageRequestHeader"
)
SEND_REPLY_MESSAGE: Row[send.SendMessageRequestHeader, send.SendMessageResponseHeader] = Row(
    RequestCode.SEND_REPLY_MESSAGE,
    "send.SendMessageRequestHeader",
    "send.SendMessageResponseHeader",
)
SEND_REPLY_MESSAGE_V2: Row[send.SendMessageRequestHeaderV2, send.SendMessageResponseHeader] = Row(
    RequestCode.SEND_REPLY_MESSAGE_V2,
    "send.SendMessageRequestHeaderV2",
    "send.SendMessageResponseHeader",
)
PUSH_REPLY_MESSAGE_TO_CLIENT: Row[send.ReplyMessageRequestHeader, NoHeader] = Row(
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, "send.ReplyMessageRequestHeader"
)
ADD_WRITE_PERM_OF_BROKER: Row[
    namesrv.AddWritePermOfBrokerRequestHeader, namesrv.AddWritePermOfBrokerResponseHeader
] = Row(
    RequestCode.ADD_WRITE_PERM_OF_BROKER,
    "namesrv.AddWritePermOfBrokerRequestHeader",
    "namesrv.AddWritePermOfBrokerResponseHeader",
)
GET_ALL_PRODUCER_INFO: Row[client.GetAllProducerInfoRequestHeader, NoHeader] = Row(
    RequestCode.GET_ALL_PRODUCER_INFO, "client.GetAllProducerInfoRequestHeader"
)
DELETE_EXPIRED_COMMITLOG: Row[NoHeader, NoHeader] = Row(RequestCode.DELETE_EXPIRED_COMMITLOG)
LITE_PULL_MESSAGE: Row[pull.PullMessageRequestHeader, pull.PullMessageResponseHeader] = Row(
    RequestCode.LITE_PULL_MESSAGE, "pull.PullMessageRequestHeader", "pull.PullMessageResponseHeader"
)
