"""Tables of offsets, as slaves fetch them and disks keep them."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long


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
