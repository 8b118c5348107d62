"""The counts of timer messages have Java's form."""

from __future__ import annotations

from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper
from fakemq.store.timer.metrics import TimerMetrics


def test_counts_are_written_and_read() -> None:
    metrics = TimerMetrics()
    metrics.add("%RETRY%CG", 1, 5)
    metrics.add("T", 1, 5)
    metrics.add("%RETRY%CG", -1, 6)
    metrics.add("T", 1, 7)
    text = metrics.persisted().encode()
    assert text == (  # in the order of Java's table
        b'{"dataVersion":{"counter":4,"stateVersion":0,"timestamp":7},'
        b'"timingCount":{"T":{"count":2,"timeStamp":7},"%RETRY%CG":{"count":0,"timeStamp":6}}}'
    )
    again = TimerMetrics()
    again.load(TimerMetricsSerializeWrapper.decode(text))
    assert (again.count("T"), again.count("%RETRY%CG"), again.count("none")) == (2, 0, 0)
    assert again.persisted() == metrics.persisted()


def test_count_of_a_deleted_topic_is_forgotten() -> None:
    metrics = TimerMetrics()
    metrics.add("orders", 1, 5)
    metrics.forget("orders")
    metrics.forget("others")
    assert metrics.persisted().timing_count == {}
    metrics.clear()
    assert metrics.persisted() == TimerMetrics().persisted()
