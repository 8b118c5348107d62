"""How many timer messages wait for each topic, as config/timermetrics and slaves have it."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Long
from fakemq.protocol.v5.bodies.version import DataVersion5


class TimerMetric(Body):
    """Source: store/timer/TimerMetrics.java#Metric (5.5.0)"""

    count: Long = 0
    time_stamp: Long = 0


class TimerMetricsSerializeWrapper(Body):
    """Source: store/timer/TimerMetrics.java#TimerMetricsSerializeWrapper (5.5.0)"""

    data_version: DataVersion5 = field(default_factory=DataVersion5)
    timing_count: dict[str, TimerMetric] = field(default_factory=dict)
