"""Offsets of queues and of groups."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long
from fakemq.protocol.headers.rpc import RpcRequestHeader


class QueryConsumerOffsetRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/QueryConsumerOffsetRequestHeader.java (4.9.7)"""

    consumer_group: str
    topic: str
    queue_id: int


class QueryConsumerOffsetResponseHeader(Header):
    """Source: common/protocol/header/QueryConsumerOffsetResponseHeader.java (4.9.7)"""

    offset: Long


class UpdateConsumerOffsetRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/UpdateConsumerOffsetRequestHeader.java (4.9.7)"""

    consumer_group: str
    topic: str
    queue_id: int
    commit_offset: Long


class UpdateConsumerOffsetResponseHeader(Header):
    """Source: common/protocol/header/UpdateConsumerOffsetResponseHeader.java (4.9.7)"""


class SearchOffsetRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/SearchOffsetRequestHeader.java (4.9.7)"""

    topic: str
    queue_id: int
    timestamp: Long


class SearchOffsetResponseHeader(Header):
    """Source: common/protocol/header/SearchOffsetResponseHeader.java (4.9.7)"""

    offset: Long


class GetMaxOffsetRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/GetMaxOffsetRequestHeader.java (4.9.7)"""

    topic: str
    queue_id: int


class GetMaxOffsetResponseHeader(Header):
    """Source: common/protocol/header/GetMaxOffsetResponseHeader.java (4.9.7)"""

    offset: Long


class GetMinOffsetRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/GetMinOffsetRequestHeader.java (4.9.7)"""

    topic: str
    queue_id: int


class GetMinOffsetResponseHeader(Header):
    """Source: common/protocol/header/GetMinOffsetResponseHeader.java (4.9.7)"""

    offset: Long


class GetEarliestMsgStoretimeRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/GetEarliestMsgStoretimeRequestHeader.java (4.9.7)"""

    topic: str
    queue_id: int


class GetEarliestMsgStoretimeResponseHeader(Header):
    """Source: common/protocol/header/GetEarliestMsgStoretimeResponseHeader.java (4.9.7)"""

    timestamp: Long


class QueryCorrectionOffsetHeader(Header):
    """Source: common/protocol/header/QueryCorrectionOffsetHeader.java (4.9.7)"""

    filter_groups: str | None = None
    compare_group: str
    topic: str


class ResetOffsetRequestHeader(Header):
    """Source: common/protocol/header/ResetOffsetRequestHeader.java (4.9.7)"""

    topic: str
    group: str
    timestamp: Long = 0
    is_force: bool = False


class CloneGroupOffsetRequestHeader(Header):
    """Source: common/protocol/header/CloneGroupOffsetRequestHeader.java (4.9.7)"""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False
