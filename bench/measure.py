"""A measured figure, and the form of a module of measurements.

Machines are shared and stall: the smallest duration of several runs is the cost of the code, the
rest is other load of the machine.

A group of measurements is a module of this folder with ``figures(plan: Plan) -> Iterator[Figure]``
and its name in ``bench.__main__.GROUPS``. Its figures are printed at once, and are part of the JSON
and the plot at the end. There are three kinds of figures:

- a single one: ``Figure(group="start", name="reset", value=0.4, unit="ms", at_most=1)``;
- a point of a growth curve, with an ``x``: ``Figure(group="growth", name="route", x=1000,
  x_unit="topics", value=11.2, unit="µs")``; points with equal group, name and ``x_unit`` make a
  curve of the plot (``curves``). A single figure beside them says whether the curve is flat: the
  last ``value`` divided by the first, with an ``at_most``;
- the fake beside Java: ``compared(group, name, rounds, unit, at_least=1.0)`` from the pairs that
  alternating rounds measured.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import msgspec

ENVIRONMENT = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""For measured processes: they may use cached bytecode, as an installed package does."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How thoroughly to measure: ``runs`` of short measurements, ``rounds`` of long ones."""

    runs: int = 20
    rounds: int = 3
    java: bool = True
    """Whether real RocketMQ is available and requested."""
    only: str = ""
    tree: Path | None = None
    """Another checkout, such as the tree before a change; group ``start`` measures it in turns."""

    def wants(self, name: str) -> bool:
        """Return True if this figure was requested; long measurements should ask first."""
        return self.only in name


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One result; ``at_most`` or ``at_least`` is its target, if it has one.

    Beside Java, ``value`` and ``java`` are medians over the rounds, ``ratios`` has fake/Java of
    each round, and the target is that of ``ratio``.
    """

    group: str
    name: str
    value: float
    unit: str
    x: float | None = None
    x_unit: str = ""
    java: float | None = None
    ratios: tuple[float, ...] = ()
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def label(self) -> str:
        """The name, with the place on a curve."""
        return self.name if self.x is None else f"{self.name}, {self.x:,.0f} {self.x_unit}"

    @property
    def ratio(self) -> float | None:
        """The median of the rounds' fake/Java, or None without Java."""
        return median(self.ratios) if self.ratios else None

    @property
    def met(self) -> bool:
        judged = self.value if self.ratio is None else self.ratio
        return (self.at_most is None or judged <= self.at_most) and (
            self.at_least is None or judged >= self.at_least
        )

    @property
    def has_target(self) -> bool:
        return self.at_most is not None or self.at_least is not None


class Round(msgspec.Struct, frozen=True):
    """The values that one round measured of Java and, right after it, of the fake."""

    java: float
    fake: float


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A cost over a size: ``y`` in ``unit`` at each ``x`` of ``x_unit``."""

    group: str
    name: str
    x_unit: str
    unit: str
    x: list[float]
    y: list[float]


def compared(
    group: str,
    name: str,
    rounds: Sequence[Round],
    unit: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    note: str = "",
) -> Figure:
    """Return the fake beside Java over several rounds; the target is that of fake/Java."""
    return Figure(
        group=group,
        name=name,
        value=median(one.fake for one in rounds),
        java=median(one.java for one in rounds),
        ratios=tuple(one.fake / one.java for one in rounds),
        unit=unit,
        at_least=at_least,
        at_most=at_most,
        note=note,
    )


def curves(figures: Iterable[Figure]) -> list[Curve]:
    """Return the curves of the figures with an ``x``, each sorted by ``x``."""
    found: dict[tuple[str, str, str], list[Figure]] = {}
    for figure in figures:
        if figure.x is not None:
            found.setdefault((figure.group, figure.name, figure.x_unit), []).append(figure)
    made = []
    for (group, name, x_unit), points in found.items():
        ordered = sorted((point.x, point.value) for point in points if point.x is not None)
        x, y = [x for x, _ in ordered], [y for _, y in ordered]
        made.append(Curve(group=group, name=name, x_unit=x_unit, unit=points[0].unit, x=x, y=y))
    return made


def best_cpu_s(function: Callable[[], object], runs: int) -> float:
    """Return the processor time of the cheapest run, in seconds."""
    best = float("inf")
    for _ in range(runs):
        begin = process_time()
        function()
        best = min(best, process_time() - begin)
    return best


def best_ms(function: Callable[[], object], runs: int) -> float:
    """Return the duration of the shortest run, in milliseconds."""
    durations = []
    for _ in range(runs):
        begin = perf_counter()
        function()
        durations.append(perf_counter() - begin)
    return min(durations) * 1000


def missed(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that miss their targets."""
    return [figure for figure in figures if not figure.met]
