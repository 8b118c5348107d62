"""Offsets of groups, in requests with fields that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Long
from fakemq.protocol.headers.offset import (
    QueryConsumerOffsetRequestHeader,
    ResetOffsetRequestHeader,
    SearchOffsetRequestHeader,
)


class ResetOffsetRequestHeader5(ResetOffsetRequestHeader):
    """Source: remoting/protocol/header/ResetOffsetRequestHeader.java (5.5.0)"""

    queue_id: int = -1
    offset: Long | None = None


class SearchOffsetRequestHeader5(SearchOffsetRequestHeader):
    """Source: remoting/protocol/header/SearchOffsetRequestHeader.java (5.5.0)"""

    boundary_type: str | None = None
    lite_topic: str | None = None


class QueryConsumerOffsetRequestHeader5(QueryConsumerOffsetRequestHeader):
    """Source: remoting/protocol/header/QueryConsumerOffsetRequestHeader.java (5.5.0)"""

    set_zero_if_not_found: bool | None = None
