"""Series over time, thinned, so that the size of a plot does not depend on the data."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from fakemq.spark.audit.summary import Summary, Verdict

SHOWN_LINES = 8
"""More lines could not be distinguished."""
SHOWN_POINTS = 600
"""More points of a line would not be visible."""


class Line(NamedTuple):
    """How far a group was behind over time: seconds since the epoch and messages."""

    name: str
    points: list[tuple[float, int]]

    @property
    def peak(self) -> tuple[float, int]:
        """Return when it was furthest behind, and how far."""
        return max(self.points, key=lambda point: (point[1], -point[0]))


class SeriesRate(NamedTuple):
    """Deliveries per second from each of ``points`` on, averaged over ``width_s`` seconds."""

    width_s: int
    points: list[tuple[int, float]]


def lag_lines(summary: Summary) -> list[Line]:
    """Return a complete line for each topic and group, the furthest behind first."""
    of: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for point in summary.lag:
        of[f"{point.topic} / {point.group}"].append((point.at_ms / 1000, point.messages))
    lines = [Line(name, sorted(points)) for name, points in of.items()]
    return sorted(lines, key=lambda line: (-line.peak[1], line.name))


def thinned(
    points: list[tuple[float, int]], at_most: int = SHOWN_POINTS
) -> list[tuple[float, int]]:
    """Return at most ``at_most`` points: of close points the highest, and the last point."""
    if len(points) <= at_most:
        return points
    begin, end = points[0][0], points[-1][0]
    width = (end - begin) / (at_most - 1) or 1.0
    highest: dict[int, tuple[float, int]] = {}
    for point in points[:-1]:
        cell = min(int((point[0] - begin) / width), at_most - 2)
        if cell not in highest or point[1] > highest[cell][1]:
            highest[cell] = point
    return [*(highest[cell] for cell in sorted(highest)), points[-1]]


def deliveries(summary: Summary, at_most: int = SHOWN_POINTS) -> SeriesRate:
    """Return deliveries per second without gaps: a second without deliveries counts as zero."""
    if not summary.delivered_per_second:
        return SeriesRate(1, [])
    seconds = [second for second, _ in summary.delivered_per_second]
    begin, end = min(seconds), max(seconds) + 1
    width = -(-(end - begin) // at_most)
    cells = [0] * -(-(end - begin) // width)
    for second, number in summary.delivered_per_second:
        cells[(second - begin) // width] += number
    starts = range(begin, end, width)
    return SeriesRate(
        width, [(at, of / min(width, end - at)) for at, of in zip(starts, cells, strict=True)]
    )


# Colours by their meaning; the page's style sets their dark and light variants.

INK, FAINT, ALARM = "#fa0101", "#fa0102", "#fa0103"
"""Text and axes, grid, and marks of faults."""
VERDICTS = {verdict: f"#fa02{number:02x}" for number, verdict in enumerate(Verdict)}
LINES = [f"#fa03{number:02x}" for number in range(SHOWN_LINES)]

_PROPERTIES = {
    INK: "--ink",
    FAINT: "--faint",
    ALARM: "--alarm",
    **{color: f"--{verdict.name.lower()}" for verdict, color in VERDICTS.items()},
    **{color: f"--line-{number}" for number, color in enumerate(LINES)},
}


def css(color: str) -> str:
    """Return a colour of this module as a style sheet names it."""
    return f"var({_PROPERTIES[color]})"


def themed(svg: str) -> str:
    """Return an SVG drawn in these colours with the colours of its page."""
    return re.sub("#fa0[1-3][0-9a-f]{2}", lambda found: css(found[0]), svg)
