"""Series of metrics: labels, distributions, and what is recorded beyond the limit."""

from __future__ import annotations

import pytest

from fakemq.clock.slices import finished
from fakemq.metrics.instruments import Distribution, Histogram, Meter, Tally, own_labels

METER = Meter("scope", {"cluster": "c"}, 4)


def test_labels_of_a_series_are_in_order_with_those_of_its_node() -> None:
    tally = Tally(METER, "sent")
    tally.add(2, topic="orders")
    tally.add(3, topic="orders")
    [(labels, value)] = tally.read().points
    assert value == 5
    assert labels == (("cluster", "c"), ("otel_scope_name", "scope"), ("topic", "orders"))


def test_value_at_a_bound_is_counted_below_it() -> None:
    distribution = Distribution((1, 10))
    for value in (0, 1, 2, 10, 11):
        distribution.record(value)
    assert distribution.counts == [2, 2, 1]
    assert distribution.sum == 24


def test_series_beyond_the_limit_are_one() -> None:
    """OpenTelemetry keeps one place of the limit for all further ones."""
    tally = Tally(METER, "sent")
    for number in range(6):
        tally.add(1, topic=f"t{number}")
    tally.add(1, topic="t0")
    assert [(dict(labels).get("topic"), value) for labels, value in tally.read().points] == [
        *(("t0", 2), ("t1", 1), ("t2", 1)),
        (None, 3),
    ]
    overflow = tally.read().points[-1][0]
    assert overflow == (("otel_metric_overflow", "true"), ("otel_scope_name", "scope"))


def test_limit_holds_for_gauges_and_histograms() -> None:
    rows = [({"topic": f"t{number}"}, number) for number in range(9)]
    assert len(finished(METER.gauge("lag", rows)).points) == 4
    histogram = Histogram(METER, "size", "", (1,))
    for number in range(9):
        histogram.record(1, topic=f"t{number}")
    assert len(histogram.read().points) == 4


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("", {}),
        ("region:eu,zone:1", {"region": "eu", "zone": "1"}),
        ("a:b:c,,alone,ok:yes", {"ok": "yes"}),
        ("9-a.b:x,____c:y", {"_9_a_b": "x", "_c": "y"}),
    ],
)
def test_labels_of_the_config_are_read_as_java_reads_them(
    text: str, labels: dict[str, str]
) -> None:
    assert own_labels(text) == labels
