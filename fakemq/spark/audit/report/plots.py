"""Plots of an audit as SVG inside a page: no display, no fonts, no date, reproducible bytes.

matplotlib would read ``$`` in texts of the data as mathematics, and warn of letters that its font
lacks. Such labels are therefore inserted afterwards, escaped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator

from fakemq.dump.show import time_text
from fakemq.spark.audit.report.answer import several, totals
from fakemq.spark.audit.report.series import (
    ALARM,
    FAINT,
    INK,
    LINES,
    SHOWN_LINES,
    VERDICTS,
    deliveries,
    lag_lines,
    themed,
    thinned,
)
from fakemq.spark.audit.report.tables import in_time, plain
from fakemq.spark.audit.summary import Summary, Verdict

SHOWN_MARKS = 40
"""A plot marks at most this number of faults."""
SHOWN_RANGES = 20
"""A plot of latencies has at most this number of rows."""

NEAR = 50
"""Numbers of which the largest is at most this many times the smallest are on a linear scale."""
_WIDTH, _HEIGHT, _ROW = 8.0, 2.6, 0.28
_LABEL_CHARACTERS = 30
_DASHES = ((), (6, 2), (2, 2), (6, 2, 2, 2))
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "fakemq",
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    "grid.color": FAINT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_STEPS_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200),
    *(86_400 * days for days in (1, 2, 5, 10, 30, 60, 180, 365, 730, 1_825, 3_650, 36_500)),
)
_TICKS = 6


class PlotKey(NamedTuple):
    """How the line with a name is drawn; ``dashes`` in SVG form, "" for none."""

    color: str
    dashes: str
    name: str


class Plot(NamedTuple):
    """A drawing and its text for readers that cannot see it; ``left_out`` names what is missing."""

    name: str
    title: str
    description: str
    svg: str
    legend: tuple[PlotKey, ...] = ()
    left_out: str = ""


def plots(summary: Summary) -> list[Plot]:
    """Return every plot that has data."""
    # The settings are restored afterwards; a thread that draws meanwhile sees these.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # not the user's settings, so that equal summaries make equal bytes
        matplotlib.rcParams.update(_SETTINGS)
        drawn = (_verdicts(summary), _lag(summary), _deliveries(summary), _latency(summary))
        return [plot for plot in drawn if plot is not None]


def _verdicts(summary: Summary) -> Plot | None:
    of = totals(summary.counts)
    if not of.total():
        return None
    figure, axes = _axes(_ROW * len(Verdict) + 0.7, left=0.14)
    for row, verdict in enumerate(Verdict):
        axes.barh(row, float(of[verdict]), color=VERDICTS[verdict], height=0.7)
        axes.annotate(
            f"{of[verdict]:,}",
            (float(of[verdict]), row),
            (3, 0),
            textcoords="offset points",
            va="center",
        )
    _rows(axes, [verdict.value for verdict in Verdict])
    scale = _scale(axes, list(of.values()))
    axes.set_xlim(0, max(of.values()) * (3.0 if scale else 1.1))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel(f"messages{scale}")
    said = ", ".join(f"{of[verdict]:,} {verdict.value}" for verdict in Verdict)
    return Plot("verdicts", "Messages by verdict", said, _svg(figure, "verdicts"))


def _lag(summary: Summary) -> Plot | None:
    lines = lag_lines(summary)
    if not lines:
        return None
    figure, axes = _axes()
    shown = lines[:SHOWN_LINES]
    for number, line in enumerate(shown):
        points = thinned(line.points)
        axes.plot(
            [at for at, _ in points],
            [float(behind) for _, behind in points],
            color=LINES[number],
            linestyle=(0, _dashes(number)) if _dashes(number) else "-",
            marker="o" if len(points) == 1 else "",
            linewidth=1.5,
        )
    axes.set_ylabel("messages behind")
    less = len(lines) - len(shown)
    left_out = [f"{several(less, 'group')} less far behind"] * bool(less)
    left_out += _over_time(axes, summary)
    name, (at, most) = lines[0].name, lines[0].peak
    return Plot(
        "lag",
        "Lag over time",
        f"Messages behind by topic and group; {plain(name)} was furthest behind, by {most:,} at"
        f" {time_text(round(at * 1000))} UTC",
        _svg(figure, "lag"),
        tuple(
            PlotKey(LINES[number], " ".join(map(str, _dashes(number))), line.name)
            for number, line in enumerate(shown)
        ),
        "; ".join(left_out),
    )


def _deliveries(summary: Summary) -> Plot | None:
    rate = deliveries(summary)
    if not rate.points:
        return None
    figure, axes = _axes()
    edges = [*(float(at) for at, _ in rate.points), float(rate.points[-1][0] + rate.width_s)]
    numbers = [number for _, number in rate.points]
    axes.stairs(numbers, edges, fill=True, color=LINES[0], alpha=0.35)
    axes.stairs(numbers, edges, color=LINES[0], linewidth=1)
    axes.set_ylabel("deliveries per second")
    left_out = _over_time(axes, summary)
    mean = f", mean of {rate.width_s:,} s each" * (rate.width_s > 1)
    return Plot(
        "deliveries",
        "Deliveries per second",
        f"Deliveries per second{mean}: {max(numbers):,.0f} at most",
        _svg(figure, "deliveries"),
        left_out="; ".join(left_out),
    )


def _latency(summary: Summary) -> Plot | None:
    slowest = sorted(summary.latency_ms, key=lambda one: (-one[2], -one[3], one[0]))
    shown = slowest[:SHOWN_RANGES]
    if not shown:
        return None
    figure, axes = _axes(_ROW * len(shown) + 0.9, left=0.3)
    for row, (_, half, most, every) in enumerate(shown):
        axes.plot([float(half), float(every)], [row, row], color=FAINT, linewidth=3, zorder=1)
        for at, marker in ((half, "o"), (most, "D"), (every, "|")):
            axes.plot([float(at)], [row], color=LINES[0], marker=marker, markersize=7)
    _rows(axes, [f"LABEL{row}LABEL" for row in range(len(shown))])
    scale = _scale(axes, [ms for _, *all_ms in shown for ms in all_ms])
    first, last = min(half for _, half, *_ in shown), max(every for *_, every in shown)
    axes.set_xlim(min(0, first), max(1.0, last * (1.5 if scale else 1.05)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel(f"ms from stored to delivered{scale}: ● half ◆ 99 % | all within")
    labels = [name for name, *_ in shown]
    faster = len(slowest) - len(shown)
    return Plot(
        "latency",
        "Latency",
        f"Milliseconds from stored to first delivered; slowest is {plain(slowest[0][0])}, 99 % of"
        f" it within {slowest[0][2]:,} ms",
        _svg(figure, "latency", lambda row: _short(labels[row])),
        left_out=f"{several(faster, 'faster group')}" * bool(faster),
    )


def _scale(axes: Axes, numbers: Sequence[int]) -> str:
    """Choose the scale of the numbers' axis: linear where they are near each other.

    Return what its label says of a logarithmic one.
    """
    some = [abs(number) for number in numbers if number]
    if not some or max(some) <= NEAR * min(some):
        return ""
    axes.set_xscale("symlog", linthresh=1)
    return ", logarithmic"


def _dashes(number: int) -> tuple[int, ...]:
    return _DASHES[number % len(_DASHES)]


def _axes(height: float = _HEIGHT, left: float = 0.1) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height))
    bottom, top = 0.45 / height, 1 - 0.2 / height
    return figure, figure.add_axes((left, bottom, 0.98 - left, top - bottom))


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _over_time(axes: Axes, summary: Summary) -> list[str]:
    """Label the time axis and draw faults as numbered lines; return what was left out."""
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    begin = min(float(axes.dataLim.xmin), summary.begin_ms / 1000)
    end = max(float(axes.dataLim.xmax), summary.end_ms / 1000, begin + 1)
    axes.set_xlim(begin, end)
    fits = (one for one in _STEPS_S if (end - begin) / one <= _TICKS)
    step = next(fits, int((end - begin) // _TICKS))
    first = int(-(-begin // step)) * step
    axes.set_xticks([float(first + tick * step) for tick in range(int((end - first) // step) + 1)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _tick(x, step)))
    axes.set_xlabel(f"UTC, from {time_text(round(begin * 1000))}")
    return _marks(axes, summary, begin, end)


def _tick(at_s: float, step_s: int) -> str:
    text = time_text(round(at_s * 1000))
    return text[5:16] if step_s >= 43_200 else text[11:19]


def _marks(axes: Axes, summary: Summary, begin: float, end: float) -> list[str]:
    numbered = enumerate(in_time(summary), 1)
    inside = [(number, one) for number, one in numbered if begin <= one.at_ms / 1000 <= end]
    # If not all faults fit, mark those that explain most.
    marked = sorted(sorted(inside, key=lambda of: -of[1].messages)[:SHOWN_MARKS])
    labelled = begin - (end - begin)
    for number, fault in marked:
        at = fault.at_ms / 1000
        axes.axvline(at, color=ALARM, linewidth=0.9, linestyle=(0, (4, 3)))
        if at - labelled > (end - begin) / 50:  # otherwise it would cover the previous label
            axes.text(
                *(at, 1.01, str(number)),
                transform=axes.get_xaxis_transform(),
                color=ALARM,
                ha="center",
            )
            labelled = at
    outside = len(summary.faults) - len(inside)
    unmarked = len(inside) - len(marked)
    parts = [f"{several(unmarked, 'fault')} of those that explain least"] * bool(unmarked)
    return parts + [f"{several(outside, 'fault')} before or after"] * bool(outside)


def _short(name: str) -> str:
    name = plain(name)
    if len(name) <= _LABEL_CHARACTERS:
        return escape(name)
    # The beginning names the topic, the end the group.
    head = (_LABEL_CHARACTERS - 1) // 2
    short = f"{name[:head]}…{name[-head:]}"
    return f"{escape(short)}<title>{escape(name)}</title>"


def _svg(figure: Figure, name: str, label: Callable[[int], str] | None = None) -> str:
    """Return a figure as an element: no prologue, no metadata, unique ids, theme colours."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].rstrip()
    # Its style would apply to the whole page; page.css.txt has it for plots alone.
    svg = re.sub(r"\s*<(metadata|style)\b.*?</\1>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[0-9.]+pt"', "", svg, count=2)
    svg = svg.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    svg = svg.replace(' xmlns="http://www.w3.org/2000/svg"', "").replace("xlink:href", "href")
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", svg)
    if label is not None:
        svg = re.sub("LABEL([0-9]+)LABEL", lambda found: label(int(found[1])), svg)
    return themed(svg)
