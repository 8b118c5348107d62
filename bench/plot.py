"""One picture of all figures: ratios as bars, growth as lines. It needs the extra ``bench``."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.measure import Curve, Figure, curves

_WIDTH, _BAR, _PANEL = 10.0, 0.35, 3.5
_MET, _MISSED, _UNJUDGED = "tab:green", "tab:red", "tab:gray"


def draw(figures: Sequence[Figure], caption: str, path: Path) -> str:
    """Write the picture in the format of the path's suffix. Return its place, or why not."""
    ratios = [figure for figure in figures if figure.ratio is not None]
    panels = _panels(curves(figures))
    heights = [1.2 + _BAR * len(ratios)] * bool(ratios) + [_PANEL] * len(panels)
    if not heights:
        return "nothing to plot"
    try:
        # Without types, so that mypy needs no matplotlib; without a display.
        matplotlib: Any = importlib.import_module("matplotlib")
        matplotlib.use("agg")
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError:
        return "no plot: the extra bench is not installed"
    sheet, grid = pyplot.subplots(
        len(heights), 1, figsize=(_WIDTH, sum(heights)), squeeze=False, height_ratios=heights,
        layout="constrained",
    )  # fmt: skip
    axes = [row[0] for row in grid]
    if ratios:
        _draw_ratios(axes.pop(0), ratios)
    for axis, panel in zip(axes, panels, strict=True):
        _draw_curves(axis, panel)
    sheet.suptitle(caption, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(path)
    pyplot.close(sheet)
    return str(path)


def _panels(found: Sequence[Curve]) -> list[list[Curve]]:
    """Group the curves that share both axes."""
    panels: dict[tuple[str, str, str], list[Curve]] = {}
    for curve in found:
        panels.setdefault((curve.group, curve.x_unit, curve.unit), []).append(curve)
    return list(panels.values())


def _draw_ratios(axis: Any, ratios: Sequence[Figure]) -> None:
    """Draw a bar from 1 to each ratio, and the spread of the rounds as a line."""
    for row, figure in enumerate(ratios):
        ratio = figure.ratio or 0.0
        color = _UNJUDGED if not figure.has_target else _MET if figure.met else _MISSED
        axis.barh(row, ratio - 1, left=1, color=color)
        axis.hlines(row, min(figure.ratios), max(figure.ratios), color="black")
        axis.annotate(f" {ratio:.2f}", (max(1.0, *figure.ratios), row), va="center")
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(ratios)), [f"{one.name} ({_better(one)})" for one in ratios])
    axis.invert_yaxis()
    axis.set_xlabel("fake / Java")


def _better(figure: Figure) -> str:
    return "more is better" if figure.unit.endswith("/s") else "less is better"


def _draw_curves(axis: Any, panel: Sequence[Curve]) -> None:
    for curve in panel:
        axis.plot(curve.x, curve.y, marker="o", label=curve.name)
    axis.set_xscale("log")
    axis.set_ylim(bottom=0)
    axis.set_xlabel(panel[0].x_unit)
    axis.set_ylabel(panel[0].unit)
    axis.set_title(panel[0].group, fontsize="small")
    axis.legend(fontsize="small")
