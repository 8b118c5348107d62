"""Headers of the offset family: 14, 15, 29, 30, 31, 32."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long


class GetMaxOffsetRequestHeader(Header):
    """Source: common/protocol/header/GetMaxOffsetRequestHeader.java (4.9.7)"""

    topic: str
    queue_id: int


class GetMaxOffsetResponseHeader(Header):
    """Source: common/protocol/header/GetMaxOffsetResponseHeader.java (4.9.7)"""

    offset: Long
