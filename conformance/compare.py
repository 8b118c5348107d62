"""Recordings, accepted differences, and what is left between a run and both."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from conformance.scenario import Scenario

FOLDER = Path(__file__).parent
RECORDINGS = FOLDER / "recordings"
DIFFERENCES = FOLDER / "differences.toml"
EVERY = "*"


class Difference(NamedTuple):
    """One accepted difference: the fake says ``fakemq`` where the real cluster says ``java``.

    Both are whole lines of the scenario's transcript, joined by newlines; or, in a row for the
    scenario ``*``, how any line of any transcript ends.
    """

    scenario: str
    what: str
    why: str
    java: str
    fakemq: str


class StaleDifferenceError(Exception):
    """A row of differences.toml that no longer applies."""


def recording_path(scenario: Scenario) -> Path:
    """Return where the real cluster's transcript is kept."""
    return RECORDINGS / f"{scenario.name}.txt"


def recording(scenario: Scenario) -> str:
    """Return the real cluster's transcript. FileNotFoundError says how to make it."""
    path = recording_path(scenario)
    if not path.exists():
        raise FileNotFoundError(
            f"no recording of {scenario.name}: python -m conformance --record makes it"
        )
    return path.read_text(encoding="utf-8")


def record(scenario: Scenario, transcript: str) -> None:
    """Keep a transcript of the real cluster."""
    recording_path(scenario).write_text(transcript, encoding="utf-8")


def differences(path: Path = DIFFERENCES) -> list[Difference]:
    """Every accepted difference. Raises TypeError for a row with a key too many or too few."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    return [
        Difference(**{key: str(value).rstrip("\n") for key, value in row.items()}) for row in rows
    ]


def expected(scenario: Scenario, accepted: Iterable[Difference]) -> str:
    """Return what the fake should say: the recording, but for accepted differences.

    Raises StaleDifferenceError for a row whose Java lines the recording does not have.
    """
    text = "\n" + recording(scenario)
    for row in accepted:
        if row.scenario == EVERY:
            text = text.replace(f"{row.java}\n", f"{row.fakemq}\n")
            continue
        if row.scenario != scenario.name:
            continue
        java = f"\n{row.java}\n"
        if java not in text:
            raise StaleDifferenceError(
                f"the recording of {row.scenario} has no such lines any more, take out the row"
                f" {row.what!r}:\n{row.java}"
            )
        text = text.replace(java, f"\n{row.fakemq}\n" if row.fakemq else "\n")
    return text[1:]


def stale(accepted: Iterable[Difference], known: Sequence[Scenario]) -> list[str]:
    """Return what is wrong with rows that name no scenario, or apply to none."""
    names = {one.name for one in known}
    texts = "".join(recording(one) for one in known)
    return [
        f"{row.scenario}: {row.what}"
        for row in accepted
        if (f"{row.java}\n" not in texts if row.scenario == EVERY else row.scenario not in names)
    ]


def diff(wanted: str, seen: str, scenario: Scenario, seen_on: str) -> str:
    """A unified diff with some context; empty if they are the same."""
    lines = difflib.unified_diff(
        wanted.splitlines(),
        seen.splitlines(),
        f"{scenario.name} as recorded",
        f"{scenario.name} on {seen_on}",
        n=6,
        lineterm="",
    )
    return "\n".join(lines)
