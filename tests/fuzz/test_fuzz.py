"""Every stored input runs through its target, and a short exploration continues from there."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz import corpus
from tests.fuzz.limits import run_in_time
from tests.fuzz.registry import TARGETS

ROOT = Path(__file__).parents[2]
CORPUS_MAX_BYTES = 300_000

needs_atheris = pytest.mark.skipif(
    find_spec("atheris") is None,
    reason="atheris has no wheel for this Python, or 'fakemq[fuzz]' is not installed: the corpus"
    " is replayed, nothing new is explored",
)


@pytest.mark.parametrize("name", TARGETS)
def test_corpus_has_no_violation(name: str) -> None:
    entries = corpus.load(name)
    assert entries
    for data in entries:
        assert not run_in_time(TARGETS[name].run, data)


def test_corpus_is_small_and_named_by_its_contents() -> None:
    paths = [path for path in corpus.FOLDER.rglob("*") if path.is_file()]
    assert {path.parent.name for path in paths} == TARGETS.keys()
    assert all(path.name == corpus.name_of(path.read_bytes()) for path in paths)
    assert sum(path.stat().st_size for path in paths) < CORPUS_MAX_BYTES


@needs_atheris
@pytest.mark.slow  # some seconds: a thousand inputs for each parser, and one second to import all
def test_short_exploration_finds_a_planted_violation_and_no_other() -> None:
    """One process explores a planted violation and all targets: its imports cost most.

    The seed is always the same, so a finding repeats, and the change under test has caused it.
    ``make fuzz`` has another seed each time: it looks for bugs that were there before.
    """
    # atheris instruments fakemq while it is imported, so this cannot run in this process.
    done = subprocess.run(
        [sys.executable, "-c", _EXPLORATION, "--short", "--seconds", "20", "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("b'\\xca\\xfe!'\n"), done.stdout + done.stderr
    assert done.stdout.count(" executions, ") == len(TARGETS)


_EXPLORATION = r"""
import sys
import atheris
from tests.fuzz.explore import explore
from tests.fuzz.target import Target

@atheris.instrument_func
def run(data):
    if data[:1] == b"\xca":
        if data[1:2] == b"\xfe":
            if data[2:] == b"!":
                raise KeyError("planted")

target = Target("planted", run, (), list)
for data, text in explore(target, [b"seed"], 1, runs=20_000, seconds=30).findings:
    assert "KeyError: 'planted'" in text, text
    print(data)

from tests.fuzz.__main__ import main
sys.exit(main())
"""
