"""Offsets of groups, in requests with fields that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Long
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader


class ResetOffsetRequestHeader5(ResetOffsetRequestHeader):
    """Source: remoting/protocol/header/ResetOffsetRequestHeader.java (5.5.0)"""

    queue_id: int = -1
    offset: Long | None = None
