"""Time and memory of a command and of all that it starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench.family import CommandError, Cost, cost, descendants, resident_bytes, used_s

MIB = 1 << 20
BUSY_S = 0.4
CHILD = f"""
import time
filled = bytes(b"x") * ({40 * MIB})
while time.process_time() < {BUSY_S}:
    pass
"""
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}], check=True)"
FOREVER = "import threading; threading.Event().wait()"


def run(program: str, timeout_s: float = 60.0) -> Cost:
    return cost([sys.executable, "-c", program], timeout_s, dict(os.environ), Path.cwd())


def test_cost_counts_what_the_command_has_started() -> None:
    found = run(PARENT)
    assert found.cpu_s >= BUSY_S
    assert found.wall_s >= BUSY_S
    assert found.peak_bytes > 40 * MIB


def test_command_that_fails_is_an_error_with_its_output() -> None:
    with pytest.raises(CommandError, match="ended with 3") as caught:
        run("print('the reason'); raise SystemExit(3)")
    assert str(caught.value).endswith("\nthe reason\n")


def test_command_that_takes_too_long_is_killed() -> None:
    with pytest.raises(CommandError, match="ended with -9"):
        run(FOREVER, timeout_s=0.1)


def test_ended_process_has_neither_memory_nor_time() -> None:
    ended = (1 << 22) + 1  # above the largest process id
    assert (resident_bytes(ended), used_s(ended), list(descendants(ended))) == (0, 0.0, [])
    assert resident_bytes(os.getpid()) > MIB
    assert used_s(os.getpid()) > 0
