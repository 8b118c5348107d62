"""How many timer messages wait for each topic, as config/timermetrics and slaves have it."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, FrozenBody, Long


class TimerDataVersion(FrozenBody, frozen=True):
    """Source: remoting/protocol/DataVersion.java (5.5.0)"""

    counter: Long = 0
    state_version: Long = 0
    timestamp: Long = 0


class TimerMetric(Body):
    """Source: store/timer/TimerMetrics.java#Metric (5.5.0)"""

    count: Long = 0
    time_stamp: Long = 0


class TimerMetricsSerializeWrapper(Body):
    """Source: store/timer/TimerMetrics.java#TimerMetricsSerializeWrapper (5.5.0)"""

    data_version: TimerDataVersion = field(default_factory=TimerDataVersion)
    timing_count: dict[str, TimerMetric] = field(default_factory=dict)
