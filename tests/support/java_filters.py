"""What RocketMQ's own filters returned for three thousand expressions, as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from tests.support.imports import ROOT

DATA = ROOT / "tests/broker/filters/data/java_filters.txt"


@cache
def _lines() -> list[tuple[str, str]]:
    lines = [line.partition(" ") for line in DATA.read_text(encoding="utf-8").split("\n")]
    return [(kind, line) for kind, _, line in lines]


def recorded(kind: str) -> list[str]:
    """Return the lines of one kind, such as ``expression``, without the kind."""
    lines = [line for name, line in _lines() if name == kind]
    assert lines, f"no {kind} in {DATA.name}"
    return lines


def texts(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the JSON text that each line begins with, and the rest of the line."""
    for line in recorded(kind):
        text, end = json.JSONDecoder().raw_decode(line)
        yield text, line[end + 1 :]
