"""Which headers belong to which code: the protocol's own table.

A row is an annotation: the name of the code, and its header classes, which the type checker
compares with those of the handler. ``module.Class`` is one below ``fakemq.protocol.headers``,
``v5_module.Class`` one below ``fakemq.protocol.v5.headers``. They are loaded when first asked
for, because most runs never see most codes.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    def __init__(self, code: IntEnum, request: str, response: str) -> None:
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
        return f"<{self.code.name} ({self.code}) {self._request} {self._response}>"


def _load(path: str) -> type[Header]:
    if path == NoHeader.__name__:
        return NoHeader
    module, _, name = path.rpartition(".")
    release, _, module = module.rpartition("_")
    folder = ".".join(one for one in ("fakemq.protocol", release, "headers") if one)
    return cast("type[Header]", getattr(import_module(f"{folder}.{module}"), name))


def make_rows(module: dict[str, Any], codes: Mapping[str, IntEnum]) -> None:
    """Make the rows that a module's annotations declare; ``module`` is its namespace."""
    for name, text in module["__annotations__"].items():
        request, response = text.removeprefix("Row[").removesuffix("]").split(", ")
        module[name] = Row(codes[name], request, response)


def rows() -> list[Row[Any, Any]]:
    """Return every row, in the order of RequestCode.java."""
    return [row for row in globals().values() if isinstance(row, Row)]


SEND_MESSAGE: Row[send.SendMessageRequestHeader, send.SendMessageResponseHeader]
PULL_MESSAGE: Row[pull.PullMessageRequestHeader, pull.PullMessageResponseHeader]
QUERY_MESSAGE: Row[query.QueryMessageRequestHeader, query.QueryMessageResponseHeader]
QUERY_BROKER_OFFSET: Row[NoHeader, NoHeader]
QUERY_CONSUMER_OFFSET: Row[
    offset.QueryConsumerOffsetRequestHeader, offset.QueryConsumerOffsetResponseHeader
]
UPDATE_CONSUMER_OFFSET: Row[
    offset.UpdateConsumerOffsetRequestHeader, offset.UpdateConsumerOffsetResponseHeader
]
UPDATE_AND_CREATE_TOPIC: Row[topic.CreateTopicRequestHeader, NoHeader]
GET_ALL_TOPIC_CONFIG: Row[NoHeader, topic.GetAllTopicConfigResponseHeader]
GET_TOPIC_CONFIG_LIST: Row[NoHeader, NoHeader]
GET_TOPIC_NAME_LIST: Row[NoHeader, NoHeader]
UPDATE_BROKER_CONFIG: Row[NoHeader, NoHeader]
GET_BROKER_CONFIG: Row[NoHeader, admin.GetBrokerConfigResponseHeader]
TRIGGER_DELETE_FILES: Row[NoHeader, NoHeader]
GET_BROKER_RUNTIME_INFO: Row[NoHeader, NoHeader]
SEARCH_OFFSET_BY_TIMESTAMP: Row[offset.SearchOffsetRequestHeader, offset.SearchOffsetResponseHeader]
GET_MAX_OFFSET: Row[offset.GetMaxOffsetRequestHeader, offset.GetMaxOffsetResponseHeader]
GET_MIN_OFFSET: Row[offset.GetMinOffsetRequestHeader, offset.GetMinOffsetResponseHeader]
GET_EARLIEST_MSG_STORETIME: Row[
    offset.GetEarliestMsgStoretimeRequestHeader, offset.GetEarliestMsgStoretimeResponseHeader
]
VIEW_MESSAGE_BY_ID: Row[query.ViewMessageRequestHeader, NoHeader]
HEART_BEAT: Row[NoHeader, NoHeader]
UNREGISTER_CLIENT: Row[client.UnregisterClientRequestHeader, client.UnregisterClientResponseHeader]
CONSUMER_SEND_MSG_BACK: Row[send.ConsumerSendMsgBackRequestHeader, NoHeader]
END_TRANSACTION: Row[transaction.EndTransactionRequestHeader, NoHeader]
GET_CONSUMER_LIST_BY_GROUP: Row[
    client.GetConsumerListByGroupRequestHeader, client.GetConsumerListByGroupResponseHeader
]
CHECK_TRANSACTION_STATE: Row[transaction.CheckTransactionStateRequestHeader, NoHeader]
NOTIFY_CONSUMER_IDS_CHANGED: Row[client.NotifyConsumerIdsChangedRequestHeader, NoHeader]
LOCK_BATCH_MQ: Row[NoHeader, NoHeader]
UNLOCK_BATCH_MQ: Row[NoHeader, NoHeader]
GET_ALL_CONSUMER_OFFSET: Row[NoHeader, NoHeader]
GET_ALL_DELAY_OFFSET: Row[NoHeader, NoHeader]
CHECK_CLIENT_CONFIG: Row[NoHeader, NoHeader]
UPDATE_AND_CREATE_ACL_CONFIG: Row[acl.CreateAccessConfigRequestHeader, NoHeader]
DELETE_ACL_CONFIG: Row[acl.DeleteAccessConfigRequestHeader, NoHeader]
GET_BROKER_CLUSTER_ACL_INFO: Row[NoHeader, acl.GetBrokerAclConfigResponseHeader]
UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: Row[acl.UpdateGlobalWhiteAddrsConfigRequestHeader, NoHeader]
GET_BROKER_CLUSTER_ACL_CONFIG: Row[NoHeader, acl.GetBrokerClusterAclConfigResponseHeader]
PUT_KV_CONFIG: Row[kv.PutKVConfigRequestHeader, NoHeader]
GET_KV_CONFIG: Row[kv.GetKVConfigRequestHeader, kv.GetKVConfigResponseHeader]
DELETE_KV_CONFIG: Row[kv.DeleteKVConfigRequestHeader, NoHeader]
REGISTER_BROKER: Row[namesrv.RegisterBrokerRequestHeader, namesrv.RegisterBrokerResponseHeader]
UNREGISTER_BROKER: Row[namesrv.UnRegisterBrokerRequestHeader, NoHeader]
GET_ROUTEINFO_BY_TOPIC: Row[namesrv.GetRouteInfoRequestHeader, NoHeader]
GET_BROKER_CLUSTER_INFO: Row[NoHeader, NoHeader]
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Row[NoHeader, NoHeader]
GET_ALL_SUBSCRIPTIONGROUP_CONFIG: Row[NoHeader, NoHeader]
GET_TOPIC_STATS_INFO: Row[topic.GetTopicStatsInfoRequestHeader, NoHeader]
GET_CONSUMER_CONNECTION_LIST: Row[client.GetConsumerConnectionListRequestHeader, NoHeader]
GET_PRODUCER_CONNECTION_LIST: Row[client.GetProducerConnectionListRequestHeader, NoHeader]
WIPE_WRITE_PERM_OF_BROKER: Row[
    namesrv.WipeWritePermOfBrokerRequestHeader, namesrv.WipeWritePermOfBrokerResponseHeader
]
GET_ALL_TOPIC_LIST_FROM_NAMESERVER: Row[NoHeader, NoHeader]
DELETE_SUBSCRIPTIONGROUP: Row[group.DeleteSubscriptionGroupRequestHeader, NoHeader]
GET_CONSUME_STATS: Row[group.GetConsumeStatsRequestHeader, NoHeader]
SUSPEND_CONSUMER: Row[NoHeader, NoHeader]
RESUME_CONSUMER: Row[NoHeader, NoHeader]
RESET_CONSUMER_OFFSET_IN_CONSUMER: Row[NoHeader, NoHeader]
RESET_CONSUMER_OFFSET_IN_BROKER: Row[NoHeader, NoHeader]
ADJUST_CONSUMER_THREAD_POOL: Row[NoHeader, NoHeader]
WHO_CONSUME_THE_MESSAGE: Row[NoHeader, NoHeader]
DELETE_TOPIC_IN_BROKER: Row[topic.DeleteTopicRequestHeader, NoHeader]
DELETE_TOPIC_IN_NAMESRV: Row[namesrv.DeleteTopicFromNamesrvRequestHeader, NoHeader]
GET_KVLIST_BY_NAMESPACE: Row[kv.GetKVListByNamespaceRequestHeader, NoHeader]
RESET_CONSUMER_CLIENT_OFFSET: Row[offset.ResetOffsetRequestHeader, NoHeader]
GET_CONSUMER_STATUS_FROM_CLIENT: Row[client.GetConsumerStatusRequestHeader, NoHeader]
INVOKE_BROKER_TO_RESET_OFFSET: Row[offset.ResetOffsetRequestHeader, NoHeader]
INVOKE_BROKER_TO_GET_CONSUMER_STATUS: Row[client.GetConsumerStatusRequestHeader, NoHeader]
QUERY_TOPIC_CONSUME_BY_WHO: Row[topic.QueryTopicConsumeByWhoRequestHeader, NoHeader]
GET_TOPICS_BY_CLUSTER: Row[topic.GetTopicsByClusterRequestHeader, NoHeader]
REGISTER_FILTER_SERVER: Row[
    filter.RegisterFilterServerRequestHeader, filter.RegisterFilterServerResponseHeader
]
REGISTER_MESSAGE_FILTER_CLASS: Row[filter.RegisterMessageFilterClassRequestHeader, NoHeader]
QUERY_CONSUME_TIME_SPAN: Row[group.QueryConsumeTimeSpanRequestHeader, NoHeader]
GET_SYSTEM_TOPIC_LIST_FROM_NS: Row[NoHeader, NoHeader]
GET_SYSTEM_TOPIC_LIST_FROM_BROKER: Row[NoHeader, NoHeader]
CLEAN_EXPIRED_CONSUMEQUEUE: Row[NoHeader, NoHeader]
GET_CONSUMER_RUNNING_INFO: Row[client.GetConsumerRunningInfoRequestHeader, NoHeader]
QUERY_CORRECTION_OFFSET: Row[offset.QueryCorrectionOffsetHeader, NoHeader]
CONSUME_MESSAGE_DIRECTLY: Row[client.ConsumeMessageDirectlyResultRequestHeader, NoHeader]
SEND_MESSAGE_V2: Row[send.SendMessageRequestHeaderV2, send.SendMessageResponseHeader]
GET_UNIT_TOPIC_LIST: Row[NoHeader, NoHeader]
GET_HAS_UNIT_SUB_TOPIC_LIST: Row[NoHeader, NoHeader]
GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: Row[NoHeader, NoHeader]
CLONE_GROUP_OFFSET: Row[offset.CloneGroupOffsetRequestHeader, NoHeader]
VIEW_BROKER_STATS_DATA: Row[admin.ViewBrokerStatsDataRequestHeader, NoHeader]
CLEAN_UNUSED_TOPIC: Row[NoHeader, NoHeader]
GET_BROKER_CONSUME_STATS: Row[group.GetConsumeStatsInBrokerHeader, NoHeader]
UPDATE_NAMESRV_CONFIG: Row[NoHeader, NoHeader]
GET_NAMESRV_CONFIG: Row[NoHeader, NoHeader]
SEND_BATCH_MESSAGE: Row[send.SendMessageRequestHeaderV2, send.SendMessageResponseHeader]
QUERY_CONSUME_QUEUE: Row[query.QueryConsumeQueueRequestHeader, NoHeader]
QUERY_DATA_VERSION: Row[
    namesrv.QueryDataVersionRequestHeader, namesrv.QueryDataVersionResponseHeader
]
RESUME_CHECK_HALF_MESSAGE: Row[transaction.ResumeCheckHalfMessageRequestHeader, NoHeader]
SEND_REPLY_MESSAGE: Row[send.SendMessageRequestHeader, send.SendMessageResponseHeader]
SEND_REPLY_MESSAGE_V2: Row[send.SendMessageRequestHeaderV2, send.SendMessageResponseHeader]
PUSH_REPLY_MESSAGE_TO_CLIENT: Row[send.ReplyMessageRequestHeader, NoHeader]
ADD_WRITE_PERM_OF_BROKER: Row[
    namesrv.AddWritePermOfBrokerRequestHeader, namesrv.AddWritePermOfBrokerResponseHeader
]
GET_ALL_PRODUCER_INFO: Row[client.GetAllProducerInfoRequestHeader, NoHeader]
DELETE_EXPIRED_COMMITLOG: Row[NoHeader, NoHeader]
LITE_PULL_MESSAGE: Row[pull.PullMessageRequestHeader, pull.PullMessageResponseHeader]

make_rows(globals(), RequestCode.__members__)
