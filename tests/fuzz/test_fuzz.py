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


def explored(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python at the root; atheris wants to see fakemq imported, so not in this process."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)


@needs_atheris
@pytest.mark.slow
def test_short_exploration_finds_nothing() -> None:
    """Over ten seconds: a second for each parser, and one to import them all.

    The seed is always the same. What this finds was put there by the change under test, it finds
    it again when it is run again, and no build is red for a bug that was always there: for
    those there is ``make fuzz``, with another seed each time.
    """
    done = explored("-m", "tests.fuzz", "--short", "--seconds", "20", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" executions, ") == len(TARGETS)


@needs_atheris
def test_exploration_finds_a_planted_violation() -> None:
    # A second, most of it to instrument fakemq as every exploration does.
    done = explored("-c", _PLANTED)
    assert done.stdout == "b'\\xca\\xfe!'\n", done.stdout + done.stderr


_PLANTED = r"""
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
"""
