"""Results that are kept: ``python -m bench --keep`` adds one to ``bench/results``, to be committed.

Each later run is compared with the newest one of the same form, compiled or pure Python. Ratios are
compared wherever both were measured; values without a ratio only if processor and cores are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from bench.measure import Figure

FOLDER = Path(__file__).parent / "results"
LEAST_SPREAD = 0.03
"""How far, as a share, equal rounds are taken to spread: three may agree by chance."""
SINGLE_SPREAD = 0.10
"""The same for what was measured in one round, or as the shortest of several runs."""
COUNTED_SPREAD = 0.005
"""The same for instructions, which are counted."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A result: the machine, with date, commit and form, and all single figures."""

    machine: dict[str, str]
    figures: tuple[Figure, ...]

    def find(self, like: Figure) -> Figure | None:
        """Return the kept figure of this group, name and unit."""
        for one in self.figures:
            if (one.group, one.label, one.unit) == (like.group, like.label, like.unit):
                return one
        return None


class Change(NamedTuple):
    """What became of a ratio, or of a value: ``verdict`` says if that is beyond both spreads."""

    before: float
    after: float
    verdict: Literal["LOSS", "gain", ""]

    @property
    def percent(self) -> float:
        """The difference in percent of the kept one."""
        return 100 * (self.after / self.before - 1) if self.before else 0.0


def newest(form: str, folder: Path = FOLDER) -> Kept | None:
    """Return the last kept result of a form, or None. Raise msgspec.DecodeError for others."""
    found = [read(path) for path in folder.glob("*.json")]
    of_form = [one for one in found if one.machine["form"] == form]
    return max(of_form, key=lambda one: one.machine["date"], default=None)


def read(path: Path) -> Kept:
    """Read a kept result. Raise msgspec.DecodeError if the file is none."""
    return msgspec.json.decode(path.read_bytes(), type=Kept)


def keep(machine: dict[str, str], figures: Sequence[Figure], folder: Path = FOLDER) -> Path:
    """Write a result, one figure a line without what it lacks; return the file."""
    lines = [
        msgspec.json.encode(
            {key: value for key, value in one.items() if value not in (None, "", [])}
        )
        for one in msgspec.to_builtins([figure for figure in figures if figure.x is None])
    ]
    path = folder / f"{machine['date'][:10]}-{machine['commit']}-{machine['form'].split()[0]}.json"
    folder.mkdir(exist_ok=True)
    path.write_bytes(
        b'{"machine": %b,\n"figures": [\n%b\n]}\n'
        % (msgspec.json.format(msgspec.json.encode(machine)), b",\n".join(lines))
    )
    return path


def compare(kept: Kept, figure: Figure, machine: dict[str, str]) -> Change | None:
    """Return the change of a figure since it was kept; None if it cannot be compared."""
    before = kept.find(figure)
    if before is None or (before.ratio is None) != (figure.ratio is None):
        return None
    same = all(kept.machine.get(key) == machine.get(key) for key in ("processor", "cores"))
    if figure.ratio is None and not same:
        return None
    was, now = spread_of(before), spread_of(figure)
    # Beyond the spread: each median lies outside what the other's rounds have shown.
    rises = figure.judged > was.high and before.judged < now.low
    falls = figure.judged < was.low and before.judged > now.high
    verdict: Literal["LOSS", "gain", ""] = ""
    if rises or falls:
        verdict = "gain" if rises == figure.more_is_better else "LOSS"
    return Change(before.judged, figure.judged, verdict)


class Spread(NamedTuple):
    """From the lowest to the highest of what is compared."""

    low: float
    high: float


def spread_of(figure: Figure) -> Spread:
    """Return between what the rounds lay, or may be taken to lie if there was one."""
    share = COUNTED_SPREAD if figure.unit == "Ir" else SINGLE_SPREAD
    if len(figure.ratios) > 1:
        share = LEAST_SPREAD
    middle = figure.judged
    # A value far below its target, such as 3 objects of 100, is not lost when it is doubled.
    by = share * max(abs(middle), 0.0 if figure.at_most is None else figure.at_most)
    values = (middle - by, middle + by, *figure.ratios)
    return Spread(min(values), max(values))
