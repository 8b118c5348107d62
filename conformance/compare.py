"""Recordings, accepted differences, and what is left between a run and both."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conformance.normalise import shortened
from conformance.scenario import Scenario, scenarios
from conformance.targets.fake_or_java import fake_target
from conformance.targets.java_jars import REFERENCE

FOLDER = Path(__file__).parent
RECORDINGS = FOLDER / "recordings"
DIFFERENCES = FOLDER / "differences.toml"
WAITING = FOLDER / "waiting.toml"
EVERY = "*"
_WAITING_HEAD = """\
# Recorded scenarios that fakemq differs in for now, by reference, and where each begins to differ.
# A test fails when one of them no longer does; `python -m conformance --reference 5.5.0 --waiting`
# writes the list anew."""


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
    reference: str = ""
    """Those that it is for, with blanks between them, if not every one."""


class StaleDifferenceError(Exception):
    """A row of differences.toml that no longer applies."""


def recording_path(scenario: Scenario, reference: str = REFERENCE) -> Path:
    """Return where the transcript of a real cluster of a release is kept."""
    return RECORDINGS / reference / f"{scenario.name}.txt"


def recording(scenario: Scenario, reference: str = REFERENCE) -> str:
    """Return the real cluster's transcript. FileNotFoundError says how to make it."""
    path = recording_path(scenario, reference)
    if not path.exists():
        raise FileNotFoundError(
            f"no recording of {scenario.name}:"
            f" python -m conformance --reference {reference} --record makes it"
        )
    return path.read_text(encoding="utf-8")


def recorded(reference: str = REFERENCE) -> list[Scenario]:
    """Return the scenarios of a reference that have been recorded from it.

    Every one has to be from 4.9.7, and those that say ``releases`` from each that they name.
    """
    return [
        one
        for one in scenarios(reference)
        if reference == REFERENCE
        or one.releases
        or one.grpc
        or one.controllers
        or recording_path(one, reference).exists()
    ]


def record(scenario: Scenario, transcript: str, reference: str = REFERENCE) -> None:
    """Keep a transcript of the real cluster."""
    path = recording_path(scenario, reference)
    path.parent.mkdir(exist_ok=True)
    path.write_text(transcript, encoding="utf-8")


def differences(path: Path = DIFFERENCES, reference: str = REFERENCE) -> list[Difference]:
    """Return the accepted differences from a reference.

    Raises TypeError for a row with a key too many or too few.
    """
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    found = [
        Difference(**{key: str(value).rstrip("\n") for key, value in row.items()}) for row in rows
    ]
    return [row for row in found if not row.reference or reference in row.reference.split()]


def waiting(reference: str, path: Path = WAITING) -> dict[str, str]:
    """Return the recorded scenarios that the fake differs in for now: scenario → what it lacks."""
    found: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8")).get(reference, {})
    return found


def keep_waiting(reference: str, found: Mapping[str, str], path: Path = WAITING) -> None:
    """List the scenarios that differ now, with the first thing that each of them lacks."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    tables[reference] = {name: first_difference(found[name]) for name in sorted(found)}
    lines = [_WAITING_HEAD]
    for table, rows in tables.items():
        lines += ["", f'["{table}"]']
        # A basic string of TOML is one of JSON.
        lines += (f"{name} = {json.dumps(why, ensure_ascii=False)}" for name, why in rows.items())
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def first_difference(found: str) -> str:
    """Return in a few words where a run begins to differ, by what `replay_to_its_end` returned."""
    lines = [line for line in found.splitlines() if not line.startswith(("---", "+++", "@@"))]
    for line in lines:
        if line.startswith(("-", "+")):
            what = "lacks" if line[0] == "-" else "has"
            return shortened(f"{what}: {line[1:].strip()}", 100, 80)
    return shortened(lines[0].partition(": ")[2], 100, 80)


def replay(scenario: Scenario, accepted: Iterable[Difference], reference: str = REFERENCE) -> str:
    """Run a scenario on the fake; return how it differs from its recording, "" if it does not."""
    with fake_target(
        *(scenario.config, scenario.slaves, reference),
        grpc=scenario.grpc,
        controllers=scenario.controllers,
        replicas=scenario.replicas,
    ) as target:
        seen = scenario.transcript(target)
    return diff(expected(scenario, accepted, reference), seen, scenario, "fakemq")


def replay_to_its_end(
    scenario: Scenario, accepted: Iterable[Difference], reference: str = REFERENCE
) -> str:
    """Do what `replay` does; what a scenario raises counts as a difference."""
    try:
        return replay(scenario, accepted, reference)
    except Exception as error:  # an answer without a field that the scenario reads, or none
        return f"{scenario.name}: {type(error).__name__}: {error}"


def expected(scenario: Scenario, accepted: Iterable[Difference], reference: str = REFERENCE) -> str:
    """Return what the fake should say: the recording, but for accepted differences.

    Raises StaleDifferenceError for a row whose Java lines the recording does not have.
    """
    text = "\n" + recording(scenario, reference)
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


def stale(
    accepted: Iterable[Difference], known: Sequence[Scenario], reference: str = REFERENCE
) -> list[str]:
    """Return what is wrong with rows that name no scenario, or apply to none."""
    names = {one.name for one in known}
    texts = "".join(recording(one, reference) for one in known)
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
