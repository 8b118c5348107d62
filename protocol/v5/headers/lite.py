"""Requests about lite topics."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long
from fakemq.protocol.headers.rpc import RpcRequestHeader


class PopLiteMessageRequestHeader(RpcRequestHeader):
    """Times are in milliseconds; ``born_time`` is the client's clock.

    Source: remoting/protocol/header/PopLiteMessageRequestHeader.java (5.5.0)
    """

    client_id: str
    consumer_group: str
    topic: str
    max_msg_num: int = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    attempt_id: str | None = None


class PopLiteMessageResponseHeader(Header):
    """Source: remoting/protocol/header/PopLiteMessageResponseHeader.java (5.5.0)"""

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: int = 0
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class NotifyUnsubscribeLiteRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/NotifyUnsubscribeLiteRequestHeader.java (5.5.0)"""

    lite_topic: str
    consumer_group: str
    client_id: str


class GetParentTopicInfoRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/GetParentTopicInfoRequestHeader.java (5.5.0)"""

    topic: str


class GetLiteTopicInfoRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/GetLiteTopicInfoRequestHeader.java (5.5.0)"""

    parent_topic: str | None = None
    lite_topic: str | None = None


class GetLiteClientInfoRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/GetLiteClientInfoRequestHeader.java (5.5.0)"""

    parent_topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    max_count: int = 1000


class GetLiteGroupInfoRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/GetLiteGroupInfoRequestHeader.java (5.5.0)"""

    group: str
    lite_topic: str | None = None
    top_k: int = 0


class TriggerLiteDispatchRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/TriggerLiteDispatchRequestHeader.java (5.5.0)"""

    group: str
    client_id: str | None = None
