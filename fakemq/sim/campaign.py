"""Many seeds in parallel processes; a process that dies or hangs fails only its own seed."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import NamedTuple, TypeAlias, Unpack

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.errors import counted
from fakemq.sim.drawing import RunKind, draw_plan
from fakemq.sim.plan import REFERENCES
from fakemq.sim.replay import replay, store_folder

SEED_MAX_MS = 120_000
"""After this much real time a seed counts as hanging."""

_SHOWN = 20
"""The summary names at most this number of failed seeds."""

_LOOK_S = 1
"""How often to check for processes that hang."""

_context = get_context("spawn")

Work: TypeAlias = Callable[[Connection, float, str], None]


class Outcome(NamedTuple):
    """The result of one seed; ``failure`` is "" if every invariant held."""

    seed: int
    failure: str
    messages: int = 0
    faults: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    """One text for each violation that ``failure`` counts."""
    journal: tuple[str, ...] = ()
    """The lines that ``replay --seed`` prints; empty unless requested."""
    took_ms: int = 0
    """Real time."""


class Campaign:
    """Runs seeds and counts their results; calls ``report`` with each outcome when it arrives.

    ``work`` is the main function of a worker process; it must be importable by name.
    """

    def __init__(
        self,
        minutes: float,
        jobs: int,
        report: Callable[[Outcome], None],
        work: Work | None = None,
        *,
        seed_max_ms: int = SEED_MAX_MS,
    ) -> None:
        self._work = run_worker if work is None else work
        self._seed_max_ms = seed_max_ms
        self._minutes = minutes
        self._jobs = jobs
        self._report = report
        self.seeds = 0
        self.failed: list[int] = []
        self.messages = 0
        self.faults: Counter[str] = Counter()
        self.took_ms = 0

    def run(self, seeds: Iterable[int]) -> None:
        """Run all seeds. On return, and after an exception, every worker process has ended."""
        left, began_ms = list(reversed(list(seeds))), real_elapsed_ms()
        with store_folder() as root:
            start = partial(_Worker, self._work, self._minutes, root)
            workers: list[_Worker] = []
            try:
                workers += [start() for _ in range(min(self._jobs, len(left)))]
                while left or any(worker.seed is not None for worker in workers):
                    for number, worker in enumerate(workers):
                        if worker.seed is None and left:
                            if not worker.usable:
                                worker = workers[number] = start()
                            worker.begin(left.pop())
                    self._receive(workers)
            finally:
                for worker in workers:
                    worker.end()
                self.took_ms = real_elapsed_ms() - began_ms

    def _receive(self, workers: list[_Worker]) -> None:
        busy = {worker.pipe: worker for worker in workers if worker.seed is not None}
        for pipe in wait(list(busy), timeout=_LOOK_S):
            assert isinstance(pipe, Connection)
            outcome = busy[pipe].receive()
            if outcome is not None:
                del busy[pipe]
                self._count(outcome)
        for worker in busy.values():
            if worker.busy_ms > self._seed_max_ms:
                self._count(worker.kill_hanging())

    def _count(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.messages += outcome.messages
        self.faults.update(outcome.faults)
        if outcome.failure:
            self.failed.append(outcome.seed)
        self._report(outcome)

    def summary(self) -> str:
        """Return the results as one line."""
        faults = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        failed = ", ".join(map(str, sorted(self.failed)[:_SHOWN])) + ", …" * (
            len(self.failed) > _SHOWN
        )
        return (
            f"{counted(self.seeds, 'seed')} of {self._minutes:g} virtual minutes in"
            f" {self.took_ms / 1000:.0f} s: {self.messages} messages,"
            f" {self.faults.total()} faults ({faults});"
            f" {f'{len(self.failed)} failed: {failed}' if failed else 'every invariant held'}"
        )


class _Worker:
    """A process that runs the seeds it is given, one after the other."""

    def __init__(self, work: Work, minutes: float, root: str) -> None:
        self.pipe, theirs = _context.Pipe()
        self.seed: int | None = None
        self.usable = True
        self._began_ms: int | None = None
        self._process = _context.Process(target=work, args=(theirs, minutes, root), daemon=True)
        with _without_interrupts():
            self._process.start()
        theirs.close()

    def begin(self, seed: int) -> None:
        self.seed, self._began_ms = seed, None
        with suppress(OSError):  # the process died before; `receive` reports that
            self.pipe.send(seed)

    @property
    def busy_ms(self) -> int:
        """For how long the current seed has run, in real time; 0 before it began."""
        return 0 if self._began_ms is None else real_elapsed_ms() - self._began_ms

    def receive(self) -> Outcome | None:
        """Return the outcome of the seed; None if the process only reports that it began.

        A process that died makes an outcome with its exit code.
        """
        try:
            received = self.pipe.recv()
        except (EOFError, OSError):
            self.usable = False
            self._process.join()
            why = f"the process died with exit code {self._process.exitcode}"
            return Outcome(self._done(), why)
        if not isinstance(received, Outcome):
            self._began_ms = real_elapsed_ms()
            return None
        self._done()
        return received

    def _done(self) -> int:
        seed, self.seed = self.seed, None
        assert seed is not None
        return seed

    def kill_hanging(self) -> Outcome:
        """Kill the process and return a failed outcome for its seed."""
        self.usable = False
        self._process.kill()
        self._process.join()
        return Outcome(self._done(), f"the run did not end within {self.busy_ms // 1000} s")

    def end(self) -> None:
        """End the process; at once if its seed is still running, because nothing reads that."""
        if self.seed is not None:
            self._process.kill()
        self.pipe.close()
        self._process.join(1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block; a process that is started in it never gets one.

    A terminal sends Ctrl-C to every process. Only the parent is to act on it: it ends the workers.
    """
    resource_tracker.ensure_running()  # it would let Ctrl-C in again, if it began in the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_worker(
    pipe: Connection,
    minutes: float,
    root: str,
    *,
    journal: bool = False,
    reference: str = REFERENCES[0],
    **kind: Unpack[RunKind],
) -> None:
    """The main function of a worker: receive seeds and send outcomes, until the pipe closes.

    It sends None when a seed begins: time in the pipe does not count as run time.
    """
    logging.disable()  # the log lines of parallel processes would be mixed
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        pipe.send(None)  # the seed begins
        folder = os.path.join(root, f"seed-{seed}")
        outcome = outcome_of(seed, minutes, folder, journal=journal, reference=reference, **kind)
        pipe.send(outcome)


def outcome_of(
    seed: int,
    minutes: float,
    root: str,
    *,
    journal: bool = False,
    reference: str = REFERENCES[0],
    **kind: Unpack[RunKind],
) -> Outcome:
    """Run one seed with its stores in ``root``. An exception becomes the outcome's failure."""
    began_ms, lines = real_elapsed_ms(), list[str]()
    try:
        plan = draw_plan(seed, minutes, reference, **kind)
        result = replay(plan, root, lines.append if journal else None)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{error!r} at {os.path.basename(place.filename)}:{place.lineno}"
        return Outcome(seed, failure, journal=tuple(lines), took_ms=real_elapsed_ms() - began_ms)
    shutil.rmtree(root, ignore_errors=True)  # absent when stores are in memory
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
