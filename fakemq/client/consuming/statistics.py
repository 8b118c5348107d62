"""What a consumer counts of each topic: pulls, messages consumed, and how long both took."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from fakemq.protocol.bodies.consumer import ConsumeStatus

MINUTE_SAMPLE_MS = 10_000
HOUR_SAMPLE_MS = 10 * 60_000
SAMPLES = 7
"""The number of samples that span a minute, or an hour."""


class _Total(NamedTuple):
    at_ms: int
    total: int
    times: int


class _Counter:
    """A total, and how it grew within the last minute and hour.

    Java samples totals by timers. Here a sample is taken by the first event after its time: before
    the event, so that the sample has the total that a timer would have seen.

    Source: common/stats/StatsItem.java (4.9.7)
    """

    __slots__ = ("_hour", "_minute", "_next_ms", "times", "total")

    def __init__(self) -> None:
        self.total = self.times = 0
        self._minute: deque[_Total] = deque(maxlen=SAMPLES)
        self._hour: deque[_Total] = deque(maxlen=SAMPLES)
        self._next_ms = 0

    def add(self, value: int, now_ms: int, times: int = 1) -> None:
        if now_ms >= self._next_ms:
            self._sample(now_ms)
        self.total += value
        self.times += times

    def _sample(self, now_ms: int) -> None:
        for samples, interval_ms in (
            (self._minute, MINUTE_SAMPLE_MS),
            (self._hour, HOUR_SAMPLE_MS),
        ):
            at_ms = now_ms // interval_ms * interval_ms
            if samples and samples[-1].at_ms == at_ms:
                continue
            if samples:
                # The total has not changed between the last event and this one.
                for one in range(samples[-1].at_ms + interval_ms, at_ms, interval_ms)[-SAMPLES:]:
                    samples.append(_Total(one, self.total, self.times))
            samples.append(_Total(at_ms, self.total, self.times))
        self._next_ms = self._minute[-1].at_ms + MINUTE_SAMPLE_MS

    def _since(self, samples: deque[_Total], now_ms: int) -> tuple[int, int, int]:
        """Return growth, events and milliseconds since the oldest sample."""
        if now_ms >= self._next_ms:
            self._sample(now_ms)
        first = samples[0]
        return self.total - first.total, self.times - first.times, now_ms - first.at_ms

    def per_second(self, now_ms: int) -> float:
        """Return the growth per second within the last minute."""
        grown, _, passed_ms = self._since(self._minute, now_ms)
        return grown * 1000 / passed_ms if passed_ms else 0.0

    def average(self, now_ms: int) -> float:
        """Return the growth per event within the last minute."""
        grown, times, _ = self._since(self._minute, now_ms)
        return grown / times if times else 0.0

    def average_of_hour(self, now_ms: int) -> float:
        """Return the growth per event within the last hour."""
        grown, times, _ = self._since(self._hour, now_ms)
        return grown / times if times else 0.0

    def in_hour(self, now_ms: int) -> int:
        """Return the growth within the last hour."""
        return self._since(self._hour, now_ms)[0]


class _TopicCounters:
    __slots__ = ("consume_ms", "failed", "ok", "pull_ms", "pulled")

    def __init__(self) -> None:
        self.pull_ms = _Counter()
        self.pulled = _Counter()
        self.consume_ms = _Counter()
        self.ok = _Counter()
        self.failed = _Counter()


class ConsumeStatistics:
    """The counters of one consumer, by topic.

    Source: client/stat/ConsumerStatsManager.java (4.9.7)
    """

    def __init__(self, elapsed_ms: Callable[[], int]) -> None:
        self._elapsed_ms = elapsed_ms
        self._topics: dict[str, _TopicCounters] = {}

    def _of(self, topic: str) -> _TopicCounters:
        counters = self._topics.get(topic)
        if counters is None:
            counters = self._topics[topic] = _TopicCounters()
        return counters

    def pulled(self, topic: str, messages: int, took_ms: int) -> None:
        """Count a pull that found something."""
        counters, now_ms = self._of(topic), self._elapsed_ms()
        counters.pull_ms.add(took_ms, now_ms)
        counters.pulled.add(messages, now_ms)

    def consumed(self, topic: str, *, ok: int, failed: int, took_ms: int, calls: int = 1) -> None:
        """Count calls of the listener."""
        counters, now_ms = self._of(topic), self._elapsed_ms()
        counters.consume_ms.add(took_ms, now_ms, calls)
        if ok:
            counters.ok.add(ok, now_ms)
        if failed:
            counters.failed.add(failed, now_ms)

    def status(self, topic: str) -> ConsumeStatus:
        """Return what was counted of a topic."""
        counters, now_ms = self._of(topic), self._elapsed_ms()
        return ConsumeStatus(
            pull_rt=counters.pull_ms.average(now_ms),
            pull_tps=counters.pulled.per_second(now_ms),
            consume_rt=counters.consume_ms.average(now_ms)
            or counters.consume_ms.average_of_hour(now_ms),
            consume_ok_tps=counters.ok.per_second(now_ms),
            consume_failed_tps=counters.failed.per_second(now_ms),
            consume_failed_msgs=counters.failed.in_hour(now_ms),
        )
