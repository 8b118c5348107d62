"""Which kinds of attacks there are, how long each takes, and how each is found.

A kind is a module of this folder with ``run(seed, count, folder)``: it attacks ``count`` times,
writes only below ``folder``, and yields one line for each finding. Nothing yielded means that all
held. The same seed and count attack in the same way. Where an attack has steps of its own (a store,
a run, a kill), step ``i`` is made from ``seed + i`` alone, so that ``--seed S+i --count 1`` repeats
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast


class Run(Protocol):
    """The function of a kind's module."""

    def __call__(self, seed: int, count: int, folder: Path) -> Iterator[str]:
        """Attack ``count`` times and yield a line for each finding."""


@dataclass(frozen=True)
class Kind:
    """One kind of attack.

    ``unit`` says what ``count`` counts; ``short_count`` is what every test run does, with each of
    ``seeds``. A seed that found something once is kept there.
    """

    name: str
    unit: str
    count: int
    short_count: int
    seeds: tuple[int, ...] = (1,)

    @property
    def module(self) -> str:
        return f"tests.attack.{self.name}"

    def missing(self) -> str:
        """Return why this machine cannot run it; empty if it can."""
        why: Callable[[], str] = getattr(import_module(self.module), "missing", str)
        return why()

    def load(self) -> Run:
        """Import the kind's module and return its ``run``."""
        return cast(Run, import_module(self.module).run)


_ALL = (
    Kind("requests", "requests", 1_000_000, 3_000, (1, 4)),
    Kind("stores", "mutated stores", 2_000, 20, (1, 281)),
    Kind("disks", "full disks", 200, 2),
    Kind("errors", "failing disks", 1_000, 12, (1, 5040)),
    Kind("kills", "kills under SYNC_FLUSH", 500, 4),
    Kind("killed_calls", "kills after one call", 2_000, 6),
    Kind("control", "requests to the control port", 50_000, 200),
    Kind("streams", "attacks on HTTP/2", 2_000, 60),
    Kind("limits", "starts under resource limits", 40, 4),
)

KINDS = {kind.name: kind for kind in _ALL if find_spec(kind.module) is not None}
"""The kinds by name, in the order in which they run."""
