"""Offsets, in bodies with fields that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper
from fakemq.protocol.bodies.timer import TimerDataVersion


class DelayOffsetSerializeWrapper5(DelayOffsetSerializeWrapper):
    """Source: broker/schedule/DelayOffsetSerializeWrapper.java (5.5.0)"""

    data_version: TimerDataVersion | None = None
