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
  alternating rounds measured. ``plan.repeat(once)`` makes the rounds, as long as there is time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, process_time

import msgspec

ENVIRONMENT = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""For measured processes: they may use cached bytecode, as an installed package does."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How thoroughly to measure: ``runs`` of short measurements, ``rounds`` of long ones."""

    runs: int = 20
    rounds: int = 5
    """At most; `turns` ends earlier if there is no time for another round."""
    until_s: float = float("inf")
    """When the group should end, as `time.monotonic` counts."""
    tests: int = 100
    """Of each project of group suite."""
    java: bool = True
    """Whether real RocketMQ is available and requested."""
    only: str = ""
    tree: Path | None = None
    """Another checkout, such as the tree before a change; group ``start`` measures it in turns."""

    def wants(self, name: str) -> bool:
        """Return True if this figure was requested; long measurements should ask first."""
        return self.only in name

    def turns(self, now_s: Callable[[], float] = monotonic) -> Iterator[int]:
        """Yield the numbers of the rounds: one at least, and none that would end too late.

        A round is expected to take as long as the longest before it.
        """
        longest_s = 0.0
        for number in range(self.rounds):
            begin_s = now_s()
            if number and begin_s + longest_s > self.until_s:
                return
            yield number
            longest_s = max(longest_s, now_s() - begin_s)

    def repeat(self, once: Callable[[], Mapping[str, Round]]) -> dict[str, list[Round]]:
        """Call ``once`` for each round; return the rounds of each name."""
        found: dict[str, list[Round]] = {}
        for _ in self.turns():
            for name, one in once().items():
                found.setdefault(name, []).append(one)
        return found

    def part(self, share: float) -> Plan:
        """Return a plan for the first part of a group, which has this share of the time left."""
        begin_s = monotonic()
        until_s = begin_s + share * max(self.until_s - begin_s, 0.0)
        return msgspec.structs.replace(self, until_s=until_s)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One result; ``at_most`` or ``at_least`` is its target, if it has one.

    Beside Java, ``value`` and ``java`` are medians over the rounds, ``ratios`` has fake/Java of
    each round, and the target is that of ``ratio``.
    """

    group: str
    name: str
    value: float
    unit: str = ""
    x: float | None = None
    x_unit: str = ""
    java: float | None = None
    ratios: tuple[float, ...] = ()
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""
    others: float | None = None
    """How many cores other processes used meanwhile, on average."""

    @property
    def label(self) -> str:
        """The name, with the place on a curve."""
        return self.name if self.x is None else f"{self.name}, {self.x:,.0f} {self.x_unit}"

    @property
    def ratio(self) -> float | None:
        """The median of the rounds' fake/Java, or None without Java."""
        return median(self.ratios) if self.ratios else None

    @property
    def judged(self) -> float:
        """What the target is for: the ratio, or the value without Java."""
        return self.value if self.ratio is None else self.ratio

    @property
    def more_is_better(self) -> bool:
        """Return True for rates, and where the target is a minimum."""
        return self.at_least is not None or self.unit.endswith("/s")

    @property
    def met(self) -> bool:
        return (self.at_most is None or self.judged <= self.at_most) and (
            self.at_least is None or self.judged >= self.at_least
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
    unit: str = ""
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
