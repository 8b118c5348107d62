"""The recall of a timer message, which only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Header
from fakemq.protocol.headers.rpc import RpcRequestHeader


class RecallMessageRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/RecallMessageRequestHeader.java (5.5.0)"""

    topic: str | None = None
    recall_handle: str | None = None
    producer_group: str | None = None


class RecallMessageResponseHeader(Header):
    """Source: remoting/protocol/header/RecallMessageResponseHeader.java (5.5.0)"""

    msg_id: str
