"""Figures as text: lines of the table, and the JSON."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bench.kept import Change
from bench.measure import Figure, curves

HEADER = (
    f"{'group':<11} {'measure':<46} {'unit':<7} {'Java':>9} {'fake':>9} {'ratio':>7} "
    f"{'spread':<12} {'others':>6} {'target':<8} {'verdict':<7} {'kept':>9} {'change':<11} notes"
)


def line(figure: Figure, change: Change | None = None) -> str:
    """Return a figure as one line of the table, under ``HEADER``."""
    java = "" if figure.java is None else number(figure.java)
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    others = "" if figure.others is None else f"{figure.others:.2f}"
    verdict = "" if not figure.has_target else "ok" if figure.met else "MISSED"
    before = "" if change is None else number(change.before)
    return (
        f"{figure.group:<11} {figure.label:<46} {figure.unit:<7} {java:>9} "
        f"{number(figure.value):>9} {ratio:>7} {spread(figure):<12} {others:>6} "
        f"{target(figure):<8} {verdict:<7} {before:>9} {changed(change):<11} {figure.note}"
    ).rstrip()


def changed(change: Change | None) -> str:
    """Return by how much a figure differs from the kept one, and a word if that is no chance."""
    if change is None:
        return ""
    percent = f"{change.percent:+.0f} %" if change.before else ""
    return f"{percent} {change.verdict}".strip()


def number(value: float) -> str:
    """Return a number with at most four digits."""
    for at_least, digits in ((100, 0), (10, 1)):
        if abs(value) >= at_least:
            return f"{value:,.{digits}f}"
    return f"{value:.2f}"


def target(figure: Figure) -> str:
    """Return the target of the ratio, or of the value if there is no Java."""
    if figure.at_least is not None:
        return f"≥ {figure.at_least:g}"
    return "" if figure.at_most is None else f"≤ {figure.at_most:g}"


def spread(figure: Figure) -> str:
    """Return the lowest and the highest ratio of the rounds, if there were several."""
    if len(figure.ratios) < 2:
        return ""
    return f"{min(figure.ratios):.2f}..{max(figure.ratios):.2f}"


def report(machine: dict[str, str], figures: Sequence[Figure]) -> bytes:
    """Return the JSON: ``machine``, ``figures`` with their ``ratio`` and ``met``, ``curves``."""
    whole = {
        "machine": machine,
        "figures": [
            msgspec.to_builtins(figure) | {"ratio": figure.ratio, "met": figure.met}
            for figure in figures
        ],
        "curves": curves(figures),
    }
    return msgspec.json.format(msgspec.json.encode(whole)) + b"\n"
