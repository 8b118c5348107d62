"""Pulling."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long
from fakemq.protocol.headers.rpc import RpcRequestHeader


class PullMessageRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/PullMessageRequestHeader.java (4.9.7)"""

    fast = True

    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: Long
    max_msg_nums: int
    sys_flag: int
    commit_offset: Long
    suspend_timeout_millis: Long
    subscription: str | None = None
    sub_version: Long
    expression_type: str | None = None


class PullMessageResponseHeader(Header):
    """Source: common/protocol/header/PullMessageResponseHeader.java (4.9.7)"""

    fast = True

    suggest_which_broker_id: Long
    next_begin_offset: Long
    min_offset: Long
    max_offset: Long
