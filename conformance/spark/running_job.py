"""A streaming job as processes of its own, and how far its checkpoint says it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from conformance.targets.processes import ROOT
from fakemq.fixtures.spark_session import worker_python

LOOK_S = 0.005
"""Between two looks at files and offsets; a micro-batch takes a second."""
STEP_TIMEOUT_S = 300.0
"""Of a start or a micro-batch, on the busiest of machines."""
END_TIMEOUT_S = 1800.0
TAIL_CHARACTERS = 6000
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for seconds: it compiles less well, and takes a third less of the processor."""


class JobError(Exception):
    """The job did not do what was waited for; the message carries what it printed."""


class Checkpoint:
    """What a query has written down of its micro-batches, which count from 0.

    Source: Spark's sql/execution/streaming/checkpointing: a file each in ``offsets`` when it is
    planned, and in ``commits`` when the sink has it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def planned(self) -> int:
        """How many micro-batches were begun."""
        return self._next("offsets")

    @property
    def committed(self) -> int:
        """How many were finished."""
        return self._next("commits")

    @property
    def steps(self) -> int:
        """A number that grows with all that is written down."""
        return self.planned + self.committed

    def is_under_way(self, batch: int) -> bool:
        """Return whether a micro-batch is begun and not finished."""
        return self.planned > batch >= self.committed

    def _next(self, log: str) -> int:
        try:
            names = os.listdir(self.folder / log)
        except FileNotFoundError:
            return 0
        return 1 + max((int(name) for name in names if name.isdigit()), default=-1)


class RunningJob:
    """A Python program with a Spark of its own: driver, JVM and workers are one session.

    A context manager that leaves none of them. What they write, they write into ``home``.
    """

    def __init__(self, program: Path, arguments: Sequence[str], home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._output = home / "output.txt"
        environment = {
            "HOME": str(home),
            "TMPDIR": str(home),
            "SPARK_LOCAL_DIRS": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": f"-Djava.io.tmpdir={home} {JVM}",
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": worker_python(home, os.pathsep.join([str(ROOT), *sys.path])),
        }
        with open(self._output, "ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=home,
                env=os.environ | environment,
                start_new_session=True,
            )

    def __enter__(self) -> RunningJob:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        if self._process.returncode is not None:
            return self._process.returncode
        # Not waited for: the id of its session stays its own until `kill` has looked.
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        ended = os.waitid(os.P_PID, self._process.pid, how)
        return None if ended is None else ended.si_status

    def wait_for(self, condition: Callable[[], bool], what: str, timeout_s: float) -> bool:
        """Wait until a condition holds, or until the job has ended; return whether it holds.

        JobError if neither comes.
        """
        deadline = time.monotonic() + timeout_s
        while not condition():
            if self.exit_code is not None:
                return condition()
            if time.monotonic() > deadline:
                raise JobError(f"no {what} within {timeout_s:g} s\n{self.output()}")
            time.sleep(LOOK_S)
        return True

    def kill(self) -> None:
        """SIGKILL to each of its processes, until none is left."""
        if self._process.returncode is not None:
            return
        # Workers have a process group of their own; the session is the driver's.
        while alive := list(_session(self._process.pid)):
            for pid in alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(LOOK_S)
        self._process.wait()

    def output(self) -> str:
        """Return the end of what it has printed."""
        return self._output.read_text(errors="replace")[-TAIL_CHARACTERS:]


def _session(leader: int) -> Iterator[int]:
    """The living processes of a session. Source: proc_pid_stat(5)"""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            yield int(path.parent.name)
