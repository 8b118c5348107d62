"""The texts that Prometheus reads: its own format, and OpenMetrics.

Libraries for Python write other texts for the same values, such as ``1e+07`` for 1.0E7.
Source: io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter,
OpenMetricsTextFormatWriter (1.3.3)
"""

from __future__ import annotations

import zlib
from heapq import merge
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fakemq.clock.slices import A_STEP
from fakemq.metrics.instruments import COUNTER, INFO, Distribution, Family
from fakemq.protocol.java import java_double_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fakemq.clock.slices import Steps
    from fakemq.metrics.instruments import Labels

    Point = tuple[Labels, int | Distribution]

PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_PART_LINES: Final = 200
_GZIP: Final = 31
"""What zlib calls its largest window with a head and an end of gzip."""
_TARGET: Final = Family("target", INFO, "", "", [((), 1)])


def exposition(families: Iterable[Family], *, open_metrics: bool) -> Steps[list[bytes]]:
    """Return the text of these metrics, in parts; metrics without points are left out."""
    parts, lines = [], list[str]()
    there = [family for family in families if family.points]
    if there:
        there.append(_TARGET)
    for family in sorted(there, key=lambda one: one.name):
        lines += _head(family, open_metrics=open_metrics)
        for labels, value in (yield from _ordered(family.points)):
            lines += _samples(family, labels, value)
            if len(lines) >= _PART_LINES:
                parts.append(_encoded(lines))
                lines = []
                yield
    if open_metrics:
        lines.append("# EOF\n")
    parts.append(_encoded(lines))
    return parts


def compressed(parts: Iterable[bytes]) -> Steps[list[bytes]]:
    """Return a text as gzip has it, in parts."""
    packer, found = zlib.compressobj(wbits=_GZIP), list[bytes]()
    for part in parts:
        found.append(packer.compress(part))
        yield
    found.append(packer.flush())
    return [part for part in found if part]


def names(family: Family) -> tuple[str, ...]:
    """Return the names that a scrape may ask for a metric by."""
    return family.name, family.name + _suffix(family)


def _encoded(lines: list[str]) -> bytes:
    """Half a surrogate pair, which a peer may send, becomes a question mark, as Java's does."""
    return "".join(lines).encode("utf-8", "replace")


def _ordered(points: Sequence[Point]) -> Steps[Iterator[Point]]:
    """Return the points in their order: it is made of sorted parts, one for each step."""
    parts = []
    for begin in range(0, len(points), A_STEP):
        parts.append(sorted(points[begin : begin + A_STEP], key=_order))
        yield
    return merge(*parts, key=_order)


def _order(point: Point) -> tuple[list[str], list[str]]:
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
