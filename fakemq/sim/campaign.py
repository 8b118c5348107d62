"""Many seeds, side by side in processes of their own: one that dies or hangs fails its seed."""

from __future__ import annotations

import logging
import os
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import NamedTuple, TypeAlias

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.sim.plan import draw_plan
from fakemq.sim.replay import replay, store_folder

SEED_MAX_MS = 120_000
"""How long a seed may take, in real time, before it is taken for hanging."""

_SHOWN = 20
"""So many failed seeds are named in the summary."""

_LOOK_S = 1
"""How often to look for processes that hang."""

_context = get_context("spawn")

Live: TypeAlias = Callable[[Connection, float, str], None]


class Outcome(NamedTuple):
    """What became of one seed; ``failure`` is "" if everything held."""

    seed: int
    failure: str
    messages: int = 0
    faults: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    """Each that ``failure`` counts."""
    journal: tuple[str, ...] = ()
    """The lines that ``replay --seed`` shows, if they were asked for."""
    took_ms: int = 0
    """Real time."""


class Campaign:
    """Runs seeds and counts what came of them; ``told`` gets each outcome as it comes.

    ``live`` is the life of a process, a function that can be imported.
    """

    def __init__(
        self,
        minutes: float,
        jobs: int,
        told: Callable[[Outcome], None],
        live: Live | None = None,
        *,
        seed_max_ms: int = SEED_MAX_MS,
    ) -> None:
        self._live = work if live is None else live
        self._seed_max_ms = seed_max_ms
        self._minutes = minutes
        self._jobs = jobs
        self._told = told
        self.seeds = 0
        self.failed: list[int] = []
        self.messages = 0
        self.faults: Counter[str] = Counter()
        self.took_ms = 0

    def run(self, seeds: Iterable[int]) -> None:
        """Run them all; on return every process is gone."""
        left, began_ms = list(reversed(list(seeds))), real_elapsed_ms()
        with store_folder() as root:
            start = partial(_Worker, self._live, self._minutes, root)
            workers = [start() for _ in range(min(self._jobs, len(left)))]
            try:
                while left or any(worker.seed is not None for worker in workers):
                    for number, worker in enumerate(workers):
                        if worker.seed is None and left:
                            if not worker.usable:
                                worker = workers[number] = start()
                            worker.begin(left.pop())
                    self._hear(workers)
            finally:
                for worker in workers:
                    worker.end()
        self.took_ms = real_elapsed_ms() - began_ms

    def _hear(self, workers: list[_Worker]) -> None:
        busy = {worker.heard: worker for worker in workers if worker.seed is not None}
        for heard in wait(list(busy), timeout=_LOOK_S):
            assert isinstance(heard, Connection)
            outcome = busy[heard].hear()
            if outcome is not None:
                del busy[heard]
                self._count(outcome)
        for worker in busy.values():
            if worker.busy_ms > self._seed_max_ms:
                self._count(worker.give_up())

    def _count(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.messages += outcome.messages
        self.faults.update(outcome.faults)
        if outcome.failure:
            self.failed.append(outcome.seed)
        self._told(outcome)

    def summary(self) -> str:
        """What came of it, as one line."""
        faults = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        failed = ", ".join(map(str, sorted(self.failed)[:_SHOWN])) + ", …" * (
            len(self.failed) > _SHOWN
        )
        return (
            f"{self.seeds} seeds of {self._minutes:g} virtual minutes in"
            f" {self.took_ms / 1000:.0f} s: {self.messages} messages,"
            f" {self.faults.total()} faults ({faults});"
            f" {f'{len(self.failed)} failed: {failed}' if failed else 'every invariant held'}"
        )


class _Worker:
    """A process that runs the seeds it is told, one after the other."""

    def __init__(self, live: Live, minutes: float, root: str) -> None:
        self.heard, theirs = _context.Pipe()
        self.seed: int | None = None
        self.usable = True
        self._began_ms: int | None = None
        self._process = _context.Process(target=live, args=(theirs, minutes, root), daemon=True)
        self._process.start()
        theirs.close()

    def begin(self, seed: int) -> None:
        self.seed, self._began_ms = seed, None
        with suppress(OSError):  # it died before: `outcome` will say so
            self.heard.send(seed)

    @property
    def busy_ms(self) -> int:
        """How long it has been at its seed."""
        return 0 if self._began_ms is None else real_elapsed_ms() - self._began_ms

    def hear(self) -> Outcome | None:
        """What became of its seed, that it died if it did; None if it only says that it begins."""
        try:
            said = self.heard.recv()
        except (EOFError, OSError):
            self.usable = False
            self._process.join()
            why = f"the process died with exit code {self._process.exitcode}"
            return Outcome(self._done(), why)
        if not isinstance(said, Outcome):
            self._began_ms = real_elapsed_ms()
            return None
        self._done()
        return said

    def _done(self) -> int:
        seed, self.seed = self.seed, None
        assert seed is not None
        return seed

    def give_up(self) -> Outcome:
        """Wait no longer for its seed."""
        self.usable = False
        self._process.kill()
        self._process.join()
        return Outcome(self._done(), f"it had come to no end after {self.busy_ms // 1000} s")

    def end(self) -> None:
        self.heard.close()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def work(told: Connection, minutes: float, root: str, *, journal: bool = False) -> None:
    """The life of a worker: seeds in, outcomes out, until nobody asks any more.

    Before an outcome it says None, as its seed begins.
    """
    logging.disable()  # a process of its own, whose words would be mixed with others'
    while True:
        try:
            seed = told.recv()
        except EOFError:
            return
        told.send(None)  # it begins
        folder = os.path.join(root, f"seed-{seed}")
        told.send(outcome_of(seed, minutes, folder, journal=journal))


def outcome_of(seed: int, minutes: float, root: str, *, journal: bool = False) -> Outcome:
    """Run one seed with its stores in ``root``; whatever it raises is its failure."""
    began_ms, lines = real_elapsed_ms(), list[str]()
    try:
        result = replay(draw_plan(seed, minutes), root, lines.append if journal else None)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{error!r} at {os.path.basename(place.filename)}:{place.lineno}"
        return Outcome(seed, failure, journal=tuple(lines), took_ms=real_elapsed_ms() - began_ms)
    shutil.rmtree(root, ignore_errors=True)  # there are none where stores are in memory
    failure = ""
    if result.violated:
        more = len(result.violated) - 1
        failure = f"{result.violated[0]}{f' (and {more} more)' if more else ''}"
    return Outcome(
        seed,
        failure,
        result.messages,
        tuple(fault.name for fault in result.plan.faults),
        tuple(map(str, result.violated)),
        tuple(lines),
        real_elapsed_ms() - began_ms,
    )
