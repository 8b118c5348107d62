"""The inputs that are kept: one folder for each target, files named by their contents."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tests.fuzz.target import Target
from tests.fuzz.trace import Edge, Tracer

FOLDER = Path(__file__).parent / "corpus"


def load(target: str) -> list[bytes]:
    """All entries of a target, shortest first."""
    return _shortest_first(path.read_bytes() for path in (FOLDER / target).glob("*"))


def save(target: str, entries: Iterable[bytes]) -> None:
    """Replace a target's entries."""
    folder = FOLDER / target
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name_of(data): data for data in entries}
    for path in folder.glob("*"):
        if path.name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        (folder / name).write_bytes(data)


def name_of(data: bytes) -> str:
    """An entry's file name."""
    return sha256(data).hexdigest()[:16]


def smallest(target: Target, inputs: Iterable[bytes]) -> tuple[list[bytes], set[Edge]]:
    """Few and short inputs that reach all that all of them reach, and what that is.

    Long ones are there to see what they cost, and are made anew by every exploration.
    """
    tracer = Tracer(target.traces)
    inputs = (data for data in inputs if len(data) <= 4 * target.max_bytes)
    chosen, reached = [], set[Edge]()
    for data in _shortest_first(inputs):
        edges = set[Edge]()
        with suppress(Exception):
            edges = tracer.edges(lambda data=data: target.run(data))  # type: ignore[misc]
        if not edges <= reached:
            reached |= edges
            chosen.append(data)
    return chosen, reached


def _shortest_first(inputs: Iterable[bytes]) -> list[bytes]:
    return sorted(set(inputs), key=lambda data: (len(data), data))
