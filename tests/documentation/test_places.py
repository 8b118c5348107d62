"""CONTRIBUTING.md and docs/architecture.md name places that exist, in the order that they say."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.imports import LAYERS
from tests.support.sources import ROOT

AT_THE_ROOT = ("protocol", "fixtures", "tests", "conformance", "bench", "docs", "fakemq")
PLACE = re.compile(r"`([\w./-]+(?:/|\.py|\.md|\.toml))`")


def test_contributing_names_places_that_exist() -> None:
    """A name without a folder lies in the folder of the path before it, in the same row."""
    text = Path(ROOT, "CONTRIBUTING.md").read_text()
    section = text.partition("## Where things go")[2].partition("\n## ")[0]
    missing = [
        f"{name}: {row[:60]}"
        for row in section.splitlines()
        if row.startswith("| ")
        for name in _missing(row)
    ]
    assert missing == []


def _missing(row: str) -> list[str]:
    """Return the names of places in a row of a table that lead nowhere."""
    missing, folder = [], Path(ROOT, "fakemq")
    for name in PLACE.findall(row):
        if "/" in name:
            base = "" if name.split("/")[0] in AT_THE_ROOT else "fakemq"
            place = Path(ROOT, base, name)
            folder = place if name.endswith("/") else place.parent
        else:
            place = folder / name
        # pyproject.toml is the one file at the root that rows name by itself
        if not place.exists() and name != "pyproject.toml":
            missing.append(name)
    return missing


def test_architecture_lists_every_layer_from_the_bottom_up() -> None:
    text = Path(ROOT, "docs/architecture.md").read_text()
    table = text.partition("| folder | law |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    named = [
        name.rstrip("/").removesuffix(".py")
        for cell in cells
        for name in re.findall(r"`([\w./]+)`", cell)
    ]
    rank = {name: number for number, names in enumerate(LAYERS) for name in names.split()}
    assert set(named) == rank.keys() - {"fakemq"}  # the package itself
    assert [rank[name] for name in named] == sorted(rank[name] for name in named)
