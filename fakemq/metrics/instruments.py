"""What metrics are made of: counters and histograms that others add to, and families to be read.

Names, units and the limit of series are those of OpenTelemetry's exporter in RocketMQ.
Source: io.opentelemetry.exporter.prometheus.Otel2PrometheusConverter (1.44.1),
io.opentelemetry.sdk.metrics.internal.state.DefaultSynchronousMetricStorage (1.44.1)
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fakemq.clock.slices import A_STEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fakemq.clock.slices import Steps

Labels: TypeAlias = "tuple[tuple[str, str], ...]"
"""Names and values, in the order of the names."""

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"
INFO: Final = "info"
SCOPE: Final = "otel_scope_name"
OVERFLOW: Final = "otel_metric_overflow"
"""The label of the one series that takes what is recorded beyond the limit."""
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_]|^(?=[0-9])")


class Distribution:
    """How many values are below each bound, and the sum of all."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0

    def record(self, value: int) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Family(NamedTuple):
    """One metric with its points, as it is at this moment."""

    name: str
    """Without the ``_total`` of a counter."""
    kind: str
    help: str
    unit: str
    points: Sequence[tuple[Labels, int | Distribution]]


class Meter:
    """Makes the series of one node: each has the node's labels, and the scope's.

    A metric has at most ``limit`` series.
    """

    def __init__(self, scope: str, labels: Mapping[str, str], limit: int) -> None:
        self._labels = {**labels, SCOPE: scope}
        self._of_overflow = ((OVERFLOW, "true"), (SCOPE, scope))
        self.limit = limit

    def labels(self, more: Mapping[str, str]) -> Labels:
        """Return all labels of a series."""
        return tuple(sorted({**self._labels, **more}.items()))

    def room(self, taken: Mapping[Labels, object], labels: Labels) -> Labels:
        """Return under which labels a value is kept: that of the overflow if there is no room."""
        if labels in taken or len(taken) < self.limit - 1:
            return labels
        return self._of_overflow

    def gauge(
        self, name: str, rows: Iterable[tuple[Mapping[str, str], int]], unit: str = ""
    ) -> Steps[Family]:
        """Return a metric whose values are read now; of equal labels the last one counts."""
        found: dict[Labels, int] = {}
        for number, (more, value) in enumerate(rows, 1):
            found[self.room(found, self.labels(more))] = value
            if not number % A_STEP:
                yield
        return Family(with_unit(name, unit), GAUGE, OF_GAUGES, unit, list(found.items()))


OF_GAUGES: Final = "default view for gauge."
OF_COUNTERS: Final = "default view for counter."
"""What the views of RocketMQ make of the descriptions."""


class Tally:
    """A sum for each set of labels."""

    def __init__(self, meter: Meter, name: str, help: str = OF_COUNTERS) -> None:
        self._meter = meter
        self._name = name
        self._help = help
        self._sums: dict[Labels, int] = {}

    def add(self, value: int, **labels: str) -> None:
        full = self._meter.labels(labels)
        at = self._meter.room(self._sums, full)
        self._sums[at] = self._sums.get(at, 0) + value

    def read(self) -> Family:
        return Family(self._name, COUNTER, self._help, "", list(self._sums.items()))

    def clear(self) -> None:
        self._sums.clear()


class Histogram:
    """A distribution for each set of labels."""

    def __init__(
        self, meter: Meter, name: str, help: str, bounds: Sequence[int], unit: str = ""
    ) -> None:
        self._meter = meter
        self._name = with_unit(name, unit)
        self._help = help
        self._bounds = bounds
        self._unit = unit
        self._series: dict[Labels, Distribution] = {}

    def record(self, value: int, **labels: str) -> None:
        full = self._meter.labels(labels)
        at = self._meter.room(self._series, full)
        found = self._series.get(at)
        if found is None:
            found = self._series[at] = Distribution(self._bounds)
        found.record(value)

    def read(self) -> Family:
        return Family(self._name, HISTOGRAM, self._help, self._unit, list(self._series.items()))

    def clear(self) -> None:
        self._series.clear()


def with_unit(name: str, unit: str) -> str:
    """Return the name that a metric with a unit is exported under."""
    return f"{name}_{unit}" if unit and not name.endswith(unit) else name


def own_labels(text: str) -> dict[str, str]:
    """Return the labels of ``metricsLabel``: ``name:value,name:value``. Others are left out.

    Source: broker/metrics/BrokerMetricsManager.java#init (5.5.0)
    """
    found = {}
    for item in filter(None, text.split(",")):
        parts = item.rstrip(":").split(":")  # as Java's split, without empty parts at the end
        if len(parts) == 2 and parts[0]:
            found[_legal(parts[0])] = parts[1]
    return found


def _legal(name: str) -> str:
    """Source: io.prometheus.metrics.model.snapshots.PrometheusNaming#sanitizeLabelName (1.3.3)"""
    legal = _ILLEGAL.sub("_", name)
    while legal.startswith("__"):
        legal = legal[1:]
    return legal
