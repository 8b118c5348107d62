"""Coverage-guided exploration by atheris, one process for each target.

Atheris counts what it instruments while it is imported, so this file imports all targets, and
a process that has imported fakemq before explores blindly: it runs below ``python -m tests.fuzz``
only. libFuzzer, which does the work, ends its process when it is done; so each target has a fork.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterable
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import NoReturn

import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

from tests.fuzz import corpus
from tests.fuzz.limits import run_in_time
from tests.fuzz.target import Target, Violation

with (
    redirect_stderr(StringIO()),  # it names every module
    atheris.instrument_imports(include=["fakemq"], enable_loader_override=False),
):
    from tests.fuzz.registry import TARGETS
    from tests.fuzz.trace import modules_of

    for _target in TARGETS.values():
        modules_of(_target.traces)

__all__ = ["TARGETS", "Explored", "corpus", "explore"]

HANG_SECONDS = 20
_MAX_BYTES = 1 << 16
_SWOLLEN = 1 / 300
_PARTS = 1 / 2


@dataclass
class Explored:
    """What came of a target: inputs found worth keeping, findings with their tracebacks."""

    inputs: list[bytes]
    findings: list[tuple[bytes, str]]
    executions: int
    cpu_seconds: float


def explore(
    target: Target, inputs: Iterable[bytes], seed: int, *, runs: int, seconds: int
) -> Explored:
    """Explore from ``inputs``; end after this number of seconds, or of runs unless these are 0.

    Running the inputs themselves is not counted.
    """
    entries = set(inputs)
    place = Path(tempfile.mkdtemp())  # a TemporaryDirectory would be gone with the child
    try:
        _lay_out(target, entries, place)
        child = os.fork()
        if not child:
            _be_fuzzer(target, place, seed, runs and runs + len(entries), seconds)
        _, status = os.waitpid(child, 0)
        return _explored(place, os.waitstatus_to_exitcode(status))
    finally:
        shutil.rmtree(place)


def _lay_out(target: Target, entries: Iterable[bytes], place: Path) -> None:
    (place / "new").mkdir()
    (place / "old").mkdir()
    for data in entries:
        (place / "old" / corpus.name_of(data)).write_bytes(data)
    words = "".join(f'"{_escaped(word)}"\n' for word in (*target.words, b"\0") if word)
    (place / "words").write_text(words)


def _explored(place: Path, status: int) -> Explored:
    findings = [
        (path.read_bytes(), path.with_suffix(".txt").read_text())
        for path in sorted(place.glob("found-*.bin"))
    ]
    for path in (*place.glob("timeout-*"), *place.glob("crash-*"), *place.glob("oom-*")):
        what = f"{path.name.partition('-')[0]}; a hang is {HANG_SECONDS} s"
        findings.append((path.read_bytes(), f"libFuzzer says {what}"))
    if status and not findings:
        log = (place / "log").read_text(errors="replace")[-1000:]
        findings.append((b"", f"the fuzzer ended with status {status}: {log}"))
    counts = place / "counts"
    executions, cpu_seconds = counts.read_text().split() if counts.exists() else ("0", "0")
    inputs = [path.read_bytes() for path in (place / "new").iterdir()]
    return Explored(inputs, findings, int(executions), float(cpu_seconds))


def _be_fuzzer(target: Target, place: Path, seed: int, runs: int, seconds: int) -> NoReturn:
    status = 1
    try:
        _fuzz(target, place, seed, runs, seconds)
    except SystemExit as done:  # how it returns
        status = done.code if isinstance(done.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)  # and not into what the parent does next


def _fuzz(target: Target, place: Path, seed: int, runs: int, seconds: int) -> None:
    options = {
        "seed": seed % (1 << 32) or 1,
        "runs": runs or -1,
        "max_total_time": seconds,
        "max_len": _MAX_BYTES,
        "len_control": 0,
        "timeout": HANG_SECONDS,
        "artifact_prefix": f"{place}/",
        "dict": place / "words",
        "verbosity": 0,
        "rss_limit_mb": 4096,
    }
    silent = os.open(place / "log", os.O_WRONLY | os.O_CREAT)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    arguments = ["fuzz", *(f"-{name}={value}" for name, value in options.items())]
    mutator = _Mutator(target)
    atheris.Setup(
        [*arguments, f"{place}/new", f"{place}/old"],
        _Runner(target, place).run,
        custom_mutator=mutator.mutate,
    )
    atheris.Fuzz()


class _Runner:
    """Runs a target, and writes down what it finds instead of ending there."""

    def __init__(self, target: Target, place: Path) -> None:
        self._target = target
        self._place = place
        self._found: dict[str, int] = {}
        self._executions = 0

    def run(self, data: bytes) -> None:
        self._executions += 1
        if not self._executions & 0xFF:
            self._count()
        try:
            problem = run_in_time(self._target.run, data)
            if problem:
                raise Violation(problem)
        except Exception as error:
            self._write(data, error)

    def _count(self) -> None:
        counts = f"{self._executions} {time.process_time()}"
        (self._place / "counts").write_text(counts)

    def _write(self, data: bytes, error: Exception) -> None:
        place = _place(error)
        if len(data) >= self._found.get(place, 1 << 30):
            return
        self._found[place] = len(data)
        number = list(self._found).index(place)
        path = self._place / f"found-{number}.bin"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error, limit=-6)))


def _place(error: Exception) -> str:
    """What makes two findings the same: the kind of error and the line that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    what = str(error).partition(":")[0] if isinstance(error, Violation) else ""
    return f"{type(error).__name__} {where} {what}"


class _Mutator:
    """libFuzzer's own mutations, on parts where an input has parts; and now and then a long one."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def mutate(self, data: bytes, max_bytes: int, seed: int) -> bytes:
        chance = random.Random(seed)
        return self._mutated(data, chance)[:max_bytes]

    def _mutated(self, data: bytes, chance: random.Random) -> bytes:
        if data and chance.random() < _SWOLLEN:
            return _swollen(data, chance)
        unpack, pack = self._target.unpack, self._target.pack
        if unpack is None or pack is None or chance.random() > _PARTS:
            return self._mutate(data)
        parts = unpack(data) or [b""]
        at = chance.randrange(len(parts))
        match chance.randrange(8):
            case 0:
                del parts[at]
            case 1:
                parts.insert(chance.randrange(len(parts)), parts[at])
            case _:
                parts[at] = self._mutate(parts[at])
        return pack(parts)

    def _mutate(self, data: bytes) -> bytes:
        most = self._target.max_bytes
        changed: bytes = atheris.Mutate(data[:most], most)
        return changed


def _swollen(data: bytes, chance: random.Random) -> bytes:
    """A long input: a short stretch of ``data`` again and again, the rest around it."""
    start = chance.randrange(len(data))
    end = start + chance.randint(1, min(24, len(data) - start))
    times = chance.choice((1 << 12, 1 << 14, _MAX_BYTES - len(data))) // (end - start)
    return data[:start] + data[start:end] * times + data[end:]


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02X}" for byte in word)
