"""Tables of offsets, as slaves fetch them, config files keep them and clients receive them."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.queue import MessageQueue


class ConsumerOffsetSerializeWrapper(Body):
    """``topic@group`` to queue id to offset.

    Source: common/protocol/body/ConsumerOffsetSerializeWrapper.java (4.9.7)
    """

    offset_table: dict[str, dict[Int, Long]] = field(default_factory=dict)


class DelayOffsetSerializeWrapper(Body):
    """Delay level to offset in its queue.

    Source: store/schedule/DelayOffsetSerializeWrapper.java (4.9.7)
    """

    offset_table: dict[Int, Long] = field(default_factory=dict)


class QueryCorrectionOffsetBody(Body):
    """Queue id to offset.

    Source: common/protocol/body/QueryCorrectionOffsetBody.java (4.9.7)
    """

    correction_offsets: dict[Int, Long] = field(default_factory=dict)


class ResetOffsetBody(Body):
    """The offsets from which the consumers of a group shall continue.

    Source: common/protocol/body/ResetOffsetBody.java (4.9.7)
    """

    offset_table: dict[MessageQueue, Long] = field(default_factory=dict)


class MessageQueueForC(Body):
    """Source: common/message/MessageQueueForC.java (4.9.7)"""

    topic: str | None = None
    broker_name: str | None = None
    queue_id: Int = 0
    offset: Long = 0


class ResetOffsetBodyForC(Body):
    """A `ResetOffsetBody` without objects for keys, which C++ cannot read.

    Source: common/protocol/body/ResetOffsetBodyForC.java (4.9.7)
    """

    offset_table: list[MessageQueueForC] = field(default_factory=list)


class GetConsumerStatusBody(Body):
    """How far consumers have got: one client's own word, or that of all by client id.

    Source: common/protocol/body/GetConsumerStatusBody.java (4.9.7)
    """

    message_queue_table: dict[MessageQueue, Long] = field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, Long]] = field(default_factory=dict)
