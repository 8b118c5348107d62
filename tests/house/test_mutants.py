"""The judge of tests that are to go notices what only they notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import mutants
from tests.support.sources import ROOT

MODULE = "fakemq/client/queue_choice.py"
TESTS = "tests/client/test_queue_choice.py"


@pytest.mark.slow  # pytest in a process of its own
@pytest.mark.parametrize(
    ("test", "is_missed"),
    [("test_failed_broker_is_avoided", True), ("test_queues_are_taken_in_turn", False)],
)
def test_test_that_alone_notices_a_mutant_is_missed(
    tmp_path: Path, test: str, is_missed: bool
) -> None:
    (tmp_path / "to_go").write_text(f"{TESTS}::{test}\n")
    without = ("--without", str(tmp_path / "to_go"))
    said = subprocess.run(
        [sys.executable, "-m", mutants.__name__, MODULE, *without, "--", TESTS],
        capture_output=True,
        check=True,
        cwd=ROOT,
        text=True,
    ).stdout
    assert (f"missed: {MODULE}:" in said) is is_missed, said


def test_mutants_are_of_every_kind() -> None:
    changes = {one.change for one in mutants.mutants(MODULE)}
    assert {
        "turn is None -> turn is not None",
        "31 -> 32",
        "self._index = start -> pass",
    } <= changes
