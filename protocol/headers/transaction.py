"""Transactions."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long
from fakemq.protocol.headers.rpc import RpcRequestHeader


class EndTransactionRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/EndTransactionRequestHeader.java (4.9.7)"""

    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: int
    from_transaction_check: bool = False
    msg_id: str
    transaction_id: str | None = None


class EndTransactionResponseHeader(Header):
    """Source: common/protocol/header/EndTransactionResponseHeader.java (4.9.7)"""


class CheckTransactionStateRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/CheckTransactionStateRequestHeader.java (4.9.7)"""

    tran_state_table_offset: Long
    commit_log_offset: Long
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None


class CheckTransactionStateResponseHeader(Header):
    """Source: common/protocol/header/CheckTransactionStateResponseHeader.java (4.9.7)"""

    producer_group: str
    tran_state_table_offset: Long
    commit_log_offset: Long
    commit_or_rollback: int


class ResumeCheckHalfMessageRequestHeader(Header):
    """Source: common/protocol/header/ResumeCheckHalfMessageRequestHeader.java (4.9.7)"""

    msg_id: str | None = None
