"""What a broker stores for monitors when it moves a consumer to another offset."""

from __future__ import annotations

from fakemq.protocol.bodies.body import Body, Long
from fakemq.protocol.bodies.queue import MessageQueue


class OffsetMovedEvent(Body):
    """Source: common/protocol/topic/OffsetMovedEvent.java (4.9.7)"""

    consumer_group: str | None = None
    message_queue: MessageQueue | None = None
    offset_request: Long = 0
    offset_new: Long = 0
