"""The texts that Prometheus reads: its own format, and OpenMetrics.

Libraries for Python write other texts for the same values, such as ``1e+07`` for 1.0E7.
Source: io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter,
OpenMetricsTextFormatWriter (1.3.3)
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fakemq.metrics.instruments import COUNTER, INFO, Distribution, Family
from fakemq.protocol.java import java_double_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fakemq.clock.slices import Steps
    from fakemq.metrics.instruments import Labels

PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_PART_LINES: Final = 200
_TARGET: Final = Family("target", INFO, "", "", [((), 1)])


def exposition(families: Iterable[Family], *, open_metrics: bool) -> Steps[list[bytes]]:
    """Return the text of these metrics, in parts; metrics without points are left out."""
    parts, lines = [], list[str]()
    there = [family for family in families if family.points]
    if there:
        there.append(_TARGET)
    for family in sorted(there, key=lambda one: one.name):
        lines += _head(family, open_metrics=open_metrics)
        for labels, value in sorted(family.points, key=_order):
            lines += _samples(family, labels, value)
            if len(lines) >= _PART_LINES:
                parts.append("".join(lines).encode())
                lines = []
                yield
    if open_metrics:
        lines.append("# EOF\n")
    parts.append("".join(lines).encode())
    return parts


def names(family: Family) -> tuple[str, ...]:
    """Return the names that a scrape may ask for a metric by."""
    return family.name, family.name + _suffix(family)


def _order(point: tuple[Labels, object]) -> tuple[list[str], list[str]]:
    """Points are ordered by the names of their labels, then by the values."""
    return [name for name, _ in point[0]], [value for _, value in point[0]]


def _suffix(family: Family) -> str:
    return {COUNTER: "_total", INFO: "_info"}.get(family.kind, "")


def _head(family: Family, *, open_metrics: bool) -> list[str]:
    if open_metrics:
        unit = [f"# UNIT {family.name} {family.unit}\n"] if family.unit else []
        text = [f"# HELP {family.name} {_escaped(family.help)}\n"] if family.help else []
        return [f"# TYPE {family.name} {family.kind}\n", *unit, *text]
    name = family.name + _suffix(family)
    text = [f"# HELP {name} {family.help}\n"] if family.help else []
    return [*text, f"# TYPE {name} {'gauge' if family.kind == INFO else family.kind}\n"]


def _samples(family: Family, labels: Labels, value: int | Distribution) -> Iterator[str]:
    name, shown = family.name, _shown(labels)
    if not isinstance(value, Distribution):
        number = str(value) if family.kind == INFO else java_double_text(float(value))
        yield f"{name}{_suffix(family)}{shown} {number}\n"
        return
    begin = shown[:-1] + "," if shown else "{"
    counts = list(accumulate(value.counts))
    for bound, count in zip(value.bounds, counts, strict=False):
        yield f'{name}_bucket{begin}le="{java_double_text(float(bound))}"}} {count}\n'
    yield f'{name}_bucket{begin}le="+Inf"}} {counts[-1]}\n'
    yield f"{name}_count{shown} {counts[-1]}\n"
    yield f"{name}_sum{shown} {java_double_text(float(value.sum))}\n"


def _shown(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in labels]) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
