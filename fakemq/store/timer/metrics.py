"""How many timer messages wait for each topic.

Source: store/timer/TimerMetrics.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.java import java_concurrent_map_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper

_CAPACITY = 1024
"""The capacity of Java's table, which decides the order in the file."""


class TimerMetrics:
    """Counts by topic, and when each last changed, in ms."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything, as before the first start."""
        self._counts: dict[str, tuple[int, int]] = {}
        self.are_kept = False
        """Whether their file has them as they are, which the caller sets."""
        self._changes = 0
        self._state_version = 0
        self._changed_ms = 0

    def begin(self, now_ms: int) -> None:
        """Give a table that was never changed the time of its broker's start."""
        if not self._changed_ms:
            self._changed_ms, self.are_kept = now_ms, False

    def add(self, topic: str, change: int, now_ms: int) -> None:
        """Count a message more, or with -1 one less."""
        count, _ = self._counts.get(topic, (0, 0))
        self._counts[topic] = (count + change, now_ms)
        self._changes += 1
        self._changed_ms, self.are_kept = now_ms, False

    def revise(self, counts: Mapping[str, int], now_ms: int) -> bool:
        """Take over the right counts; return whether any differs.

        Source: TimerMessageStore.java#checkAndReviseMetrics (5.5.0)
        """
        wrong = {
            topic: counts.get(topic, 0) - self.count(topic)
            for topic in sorted({*counts, *self._counts})
        }
        for topic, change in wrong.items():
            if change:
                self.add(topic, change, now_ms)
        return any(wrong.values())

    def count(self, topic: str) -> int:
        """Return how many messages wait for a topic."""
        return self._counts.get(topic, (0, 0))[0]

    def topics(self) -> list[str]:
        """Return the topics for which messages wait, or have waited."""
        return list(self._counts)

    @property
    def total(self) -> int:
        """How many messages wait for all topics together."""
        return sum(count for count, _ in self._counts.values())

    def forget(self, topic: str) -> None:
        """Remove the count of a deleted topic. Source: TimerMetrics.java#removeTimingCount"""
        self._counts.pop(topic, None)
        self.are_kept = False

    def persisted(self) -> TimerMetricsSerializeWrapper:
        """Return the counts as Java writes them."""
        from fakemq.protocol.v5.bodies.timer import TimerMetric, TimerMetricsSerializeWrapper
        from fakemq.protocol.v5.bodies.version import DataVersion5

        version = DataVersion5(
            counter=self._changes, state_version=self._state_version, timestamp=self._changed_ms
        )
        counts = {
            topic: TimerMetric(*self._counts[topic])
            for topic in java_concurrent_map_order(self._counts, _CAPACITY)
        }
        return TimerMetricsSerializeWrapper(version, counts)

    def load(self, saved: TimerMetricsSerializeWrapper) -> None:
        """Take over what a file, or a master, says."""
        version, self.are_kept = saved.data_version, False
        self._changes, self._state_version = version.counter, version.state_version
        self._changed_ms = version.timestamp
        self._counts = {
            topic: (metric.count, metric.time_stamp) for topic, metric in saved.timing_count.items()
        }

    def __repr__(self) -> str:
        return f"<{self.total} timer messages>"
