"""ruff and mypy, under the one command: over a second, because mypy reads everything."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "arguments",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=["ruff check", "ruff format", "mypy --strict"],
)
def test_nothing_to_complain_about(arguments: list[str]) -> None:
    if find_spec(arguments[0]) is None:
        pytest.skip(f"{arguments[0]} is not installed: make setup")
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
