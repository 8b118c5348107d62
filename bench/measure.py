"""A measured figure, and how figures are printed.

Machines are shared and stall: of several runs the smallest duration is what the code costs, the
rest is what the machine was doing meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from time import perf_counter

import msgspec

ENVIRONMENT = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""Of the processes measured: they are to find bytecode, as an installed package has it."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One result. ``at_most`` is the target, if there is one."""

    group: str
    name: str
    value: float
    unit: str
    at_most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        return self.at_most is None or self.value <= self.at_most


def best_ms(function: Callable[[], object], runs: int) -> float:
    """The shortest of several runs, in milliseconds."""
    durations = []
    for _ in range(runs):
        begin = perf_counter()
        function()
        durations.append(perf_counter() - begin)
    return min(durations) * 1000


def line(figure: Figure) -> str:
    """A figure as one line of a table."""
    number = f"{figure.value:,.0f}" if figure.value >= 1000 else f"{figure.value:,.1f}"
    target = "" if figure.at_most is None else f"≤ {figure.at_most:g}"
    verdict = "" if figure.at_most is None else "ok" if figure.met else "MISSED"
    text = f"{figure.group:<10} {figure.name:<44} {number:>9} {figure.unit:<6} {target:<7}"
    return f"{text} {verdict:<6} {figure.note}".rstrip()


def missed(figures: Iterable[Figure]) -> list[Figure]:
    """The figures past their targets."""
    return [figure for figure in figures if not figure.met]
