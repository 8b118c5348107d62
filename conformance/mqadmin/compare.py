"""What mqadmin printed at a real cluster, and where the fake may differ."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from conformance.compare import RECORDINGS
from conformance.mqadmin.script import Part, options_used
from conformance.mqadmin.session import Printed

FOLDER = RECORDINGS / "mqadmin"
DIFFERENCES = Path(__file__).parent / "differences.toml"


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An accepted difference: the fake prints ``fakemq`` where a real cluster printed ``java``.

    Both are whole lines of the output, joined by newlines.
    """

    part: str
    command: str
    """The sub-command, or the whole line of a step."""
    why: str
    java: str
    fakemq: str


def differences(path: Path = DIFFERENCES) -> list[Difference]:
    """Return every accepted difference."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    return msgspec.convert(rows, list[Difference])


def path(part: Part) -> Path:
    """Return where the recording of a part is kept."""
    return FOLDER / f"{part.name}.txt"


def record(part: Part, printed: Printed) -> None:
    """Keep what mqadmin printed at a real cluster."""
    path(part).write_text(as_text(printed), encoding="utf-8")


def recorded(part: Part) -> Printed:
    """Return what mqadmin printed at a real cluster."""
    printed: Printed = {}
    for line in path(part).read_text(encoding="utf-8").splitlines():
        if line.startswith("$ mqadmin "):
            lines = printed[line.removeprefix("$ mqadmin ")] = []
        else:
            lines.append(line.removeprefix("  "))
    return printed


def as_text(printed: Printed) -> str:
    """Return outputs as one text, as `recorded` reads it."""
    lines: list[str] = []
    for title, output in printed.items():
        lines += [f"$ mqadmin {title}", *(f"  {line}".rstrip() for line in output)]
    return "".join(f"{line}\n" for line in lines)


def expected(part: Part, accepted: Iterable[Difference]) -> Printed:
    """Return what mqadmin should print at the fake: the recording, but for accepted differences.

    Raise ValueError for a row that does not apply any more.
    """
    printed = recorded(part)
    for row in accepted:
        if row.part != part.name:
            continue
        titles = [title for title in printed if applies(row, title)]
        changed = [title for title in titles if _replace(printed, title, row)]
        if not changed:
            raise ValueError(f"take out the row of {row.command!r}, it does not print:\n{row.java}")
    return printed


def table() -> list[str]:
    """Return the table of docs/mqadmin.md: each sub-command, and where the fake differs."""
    accepted = differences()
    lines = ["| sub-command | options that are compared | at fakemq |", "|---|---|---|"]
    for name, options in sorted(options_used().items(), key=lambda item: item[0].lower()):
        reasons = dict.fromkeys(row.why for row in accepted if row.command.split()[0] == name)
        words = " ".join(f"`-{one}`" for one in sorted(options)) or "–"
        lines.append(f"| `{name}` | {words} | {'; '.join(reasons) or 'the same'} |")
    return lines


def applies(row: Difference, title: str) -> bool:
    """Return whether a row is about a step of this title."""
    return row.command in (title, title.split()[0])


def _replace(printed: Printed, title: str, row: Difference) -> bool:
    text = "".join(f"{line}\n" for line in printed[title])
    java, fakemq = (_whole_lines(one) for one in (row.java, row.fakemq))
    text, count = re.subn(f"(?m)^{re.escape(java)}", lambda _: fakemq, text)
    printed[title] = text.splitlines()
    return count > 0


def _whole_lines(text: str) -> str:
    text = text.strip("\n")
    return f"{text}\n" if text else ""


def diff(wanted: Mapping[str, list[str]], seen: Mapping[str, list[str]], where: str) -> str:
    """Return how outputs differ, step by step; "" if they are the same."""
    found = []
    for title in dict.fromkeys([*wanted, *seen]):
        lines = difflib.unified_diff(
            wanted.get(title, []),
            seen.get(title, []),
            f"mqadmin {title}, as recorded",
            f"mqadmin {title}, on {where}",
            n=2,
            lineterm="",
        )
        found += list(lines)
    return "\n".join(found)
