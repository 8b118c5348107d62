"""Differences that are wanted: rows of differences.toml beside this file.

A row applies where patterns match the lines that 4.9.7 and the fake wrote about a request, or about
a table or a store at the end.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.compare import EVERY, differences
from fakemq.protocol.codes import RequestCode

if TYPE_CHECKING:
    from conformance.differ.playing import Block

ROWS = Path(__file__).parent / "differences.toml"


@dataclass(frozen=True)
class Accepted:
    """One row: ``java`` and ``fakemq`` are patterns that the two texts must match.

    ``about`` are names of requests, or titles of tables and stores. What follows in a sequence is
    not compared where the row ``ends`` it, as the two clusters then have different things.
    """

    what: str
    why: str
    about: tuple[str, ...]
    java: str
    fakemq: str
    ends: bool = False

    def applies(self, java: Block, ours: Block) -> bool:
        """Return whether it is about these blocks."""
        return (
            (RequestCode(java.code).name if java.code else java.title) in self.about
            and re.search(self.java, "\n".join(java.lines)) is not None
            and re.search(self.fakemq, "\n".join(ours.lines)) is not None
        )


def accepted(path: Path = ROWS) -> list[Accepted]:
    """Return every row. Raise TypeError for a row with a key too many or too few."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    return [Accepted(**row | {"about": tuple(row["about"])}) for row in rows]


def fake_says(java: Block, ours: Block, rows: Iterable[Accepted]) -> tuple[tuple[str, ...], bool]:
    """Return the lines that the fake should have, and whether the rest is not compared."""
    lines = tuple(_everywhere(line) for line in java.lines)
    if lines == ours.lines:
        return lines, False
    for row in rows:
        if row.applies(java, ours):
            return ours.lines, row.ends
    return lines, False


def _everywhere(line: str) -> str:
    """Return a line of 4.9.7 with what the fake says in its place in every scenario."""
    for row in _EVERYWHERE:
        if line.endswith(row.java):
            line = line.removesuffix(row.java) + row.fakemq
    return line


_EVERYWHERE = [row for row in differences() if row.scenario == EVERY]
