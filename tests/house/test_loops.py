"""Every loop over a table that peers may fill is sliced, or `loops.toml` says what bounds it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.support.loops import ROOT, Loop, loops, on_loop
from tests.support.sources import READ_BY_ONE_WORKER

pytestmark = READ_BY_ONE_WORKER

TABLE = Path(__file__).with_name("loops.toml")

ROWS: dict[str, dict[str, str]] = tomllib.loads(TABLE.read_text())
BOUNDS = ROWS.pop("bounds")


@cache
def found() -> list[tuple[str, Loop]]:
    return [(file, loop) for file, path in on_loop() for loop in loops(path)]


def test_every_loop_over_a_table_is_sliced_or_bounded() -> None:
    unknown = [
        f'fakemq/{file}:{loop.line}: add to ["{file}"]: "{loop.key}" = "…"'
        for file, loop in found()
        if loop.key not in ROWS.get(file, {})
    ]
    assert not unknown, (
        "peers may fill these tables, and no other peer is answered while a loop walks one."
        " Either slice it: let the function be a generator (fakemq.clock.slices.Steps) that yields"
        " in the loop, as a handler or by NodeClock.carry_out. Or bound it, and add a row to"
        f" tests/house/{TABLE.name} with its bound: {', '.join(sorted(BOUNDS))}.\n"
        + "\n".join(unknown)
    )


def test_every_row_is_of_a_loop() -> None:
    there = {(file, loop.key) for file, loop in found()}
    gone = [(file, key) for file, rows in ROWS.items() for key in rows if (file, key) not in there]
    assert not gone, "these loops have gone or are sliced: delete their rows"


def test_every_bound_is_explained_and_used() -> None:
    used = {bound.partition(":")[0] for rows in ROWS.values() for bound in rows.values()}
    assert used == BOUNDS.keys()
    for rows in ROWS.values():
        for key, bound in rows.items():
            kind, _, detail = bound.partition(": ")
            assert detail or kind not in ("limit", "open", "quick", "sliced"), f"{key}: say what"


SOURCE = """
class Table:
    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._name = "x"

    def plain(self):
        for row in self._rows:
            print(row)

    def items(self, other):
        return [one for one in other.rows.items()]

    def sort(self):
        return sorted(self._rows)

    def drain(self):
        while self._rows:
            self._rows.popitem()

    def inner(self):
        def walk():
            return max(self._rows.values())
        return walk

    def sliced(self):
        for row in list(self._rows):
            yield

    def copy(self):
        return list(self._rows), dict(self._rows), len(self._rows)

    def other(self):
        return [letter for letter in self._name], max(len(self._rows), 2)
"""


def test_finder_knows_loops_from_copies_and_slices(tmp_path: Path) -> None:
    path = tmp_path / "table.py"
    path.write_text(SOURCE)
    assert [loop.key for loop in loops(path)] == [
        "Table.plain: self._rows",
        "Table.items: other.rows.items()",
        "Table.sort: self._rows",
        "Table.drain: self._rows",
        "Table.inner.walk: self._rows.values()",
    ]


@pytest.mark.parametrize("file", ROWS)
def test_file_with_rows_exists(file: str) -> None:
    assert (ROOT / file).is_file()
