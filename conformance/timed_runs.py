"""Scenarios run together on the fake, as often as one likes: how long they take, and what differs.

Those that a real cluster needs minutes for are listed in docs/scenarios.md, by `table`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from conformance.compare import differences, replay_to_its_end
from conformance.scenario import FAMILIES, Scenario

LISTED = "| {} | {} | {} | {} |"
_HEAD = LISTED.format("scenario", "what it shows", "on a real cluster", "recorded with")


class TimedRun(NamedTuple):
    """One run of scenarios, one after the other, each on a cluster of its own."""

    wall_s: float
    cpu_s: float
    """Of this process, in which cluster and clients live; a crowded machine adds little to it."""
    found: list[str]
    """A diff for each that was not as recorded, or what went wrong."""


def run_all(chosen: Sequence[Scenario]) -> TimedRun:
    """Run them on the fake, and compare each with its recording."""
    accepted = differences()
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    found = [text for one in chosen if (text := replay_to_its_end(one, accepted))]
    return TimedRun(time.perf_counter() - began_s, time.process_time() - began_cpu_s, found)


def repeat(chosen: Sequence[Scenario], runs: int) -> int:
    """Run them ``runs`` times and print how long each run took; return how many runs differed."""
    took_s: list[float] = []
    different = 0
    for number in range(1, runs + 1):
        run = run_all(chosen)
        took_s.append(run.wall_s)
        different += bool(run.found)
        print(
            f"run {number}: {len(chosen) - len(run.found)} of {len(chosen)} scenarios the same,"
            f" {run.wall_s:.2f} s, {run.cpu_s:.2f} s of the processor",
            *run.found,
            sep="\n",
            flush=True,
        )
    print(
        f"{runs} runs of {len(chosen)} scenarios, {different} with a difference:"
        f" {min(took_s):.2f} s at least, {statistics.median(took_s):.2f} s in the middle,"
        f" {max(took_s):.2f} s at most; on a real cluster {duration(real_s(chosen))}"
    )
    return different


def real_s(chosen: Sequence[Scenario]) -> int:
    """Return how long they take on a real cluster, one after the other."""
    return sum(one.real_s for one in chosen)


def table(chosen: Sequence[Scenario]) -> list[str]:
    """Return the lines of docs/scenarios.md that list them, family by family."""
    lines = []
    for family in FAMILIES:
        members = [one for one in chosen if one.family == family]
        lines += [f"## {family.capitalize()}", "", _HEAD, LISTED.format(*["---"] * 4)]
        for one in members:
            times = _config(one.quick) or "its own times"
            lines.append(LISTED.format(f"`{one.name}`", one.title, duration(one.real_s), times))
        lines.append("")
    return lines[:-1]


def _config(config: Mapping[str, str]) -> str:
    return ", ".join(f"`{key}={value}`" for key, value in sorted(config.items()))


def duration(seconds: int) -> str:
    """As one says it: ``2 min 5 s``."""
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
