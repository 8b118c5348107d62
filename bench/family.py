"""A process and all that it has started: their processor time and their memory, from /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from time import perf_counter
from typing import IO, NamedTuple

LOOK_S = 0.1
"""How often memory is read. A peak that is shorter may be missed."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """What a command took: of all its processes, those included that they started."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    """The largest sum of resident memory that was read; what processes share counts for each."""


class CommandError(Exception):
    """A command failed or took too long; the message has the end of its output."""


def cost(command: Sequence[str], timeout_s: float, env: dict[str, str], cwd: Path) -> Cost:
    """Run a command to its end. Raise CommandError if it fails or takes too long."""
    begin = perf_counter()
    process = Popen(
        command,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
        cwd=cwd,
        env=env,
    )
    assert process.stdout is not None
    look = _Look(process, timeout_s)
    look.start()
    with process.stdout:
        tail = _tail(process.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    look.end()
    if process.returncode != 0:
        raise CommandError(f"{' '.join(command)} ended with {process.returncode}\n{tail}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, look.peak_bytes)


def _tail(lines: IO[str]) -> str:
    kept = ""
    for line in lines:
        kept = (kept + line)[-4000:]
    return kept


class _Look(threading.Thread):
    """Reads the memory of a process and its descendants, and ends them all after a time."""

    def __init__(self, process: Popen[str], timeout_s: float) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._process = process
        self._until_s = perf_counter() + timeout_s
        self._ended = threading.Event()

    def end(self) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        while not self._ended.wait(LOOK_S):
            pids = [self._process.pid, *descendants(self._process.pid)]
            self.peak_bytes = max(self.peak_bytes, sum(map(resident_bytes, pids)))
            if perf_counter() > self._until_s:
                # JVMs end by themselves, with the process that has started them.
                self._process.kill()
                return


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, those that they started, and so on."""
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                for child in map(int, children.read_text().split()):
                    yield child
                    yield from descendants(child)


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process, files that it maps included; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def used_s(pid: int) -> float:
    """Return the processor time of a process and of its ended children; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS_PER_S


def waited_s(pid: int) -> float:
    """Return how long threads of a process could run, but others had the processor; else 0.

    The wall time without it does not depend on what else runs on the machine.
    """
    waited_ns = 0
    for tasks in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):  # a thread that has ended
            waited_ns += int(tasks.read_text().split()[1])
    return waited_ns / 1e9
