"""A kill after any call that changes a file: the next start succeeds and has what was promised.

One life of a broker is recorded, and a broker started on what a kill after each of its calls would
leave. There are thousands; ``make attack ARGS='killed_calls'`` tries more of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.support.mixed_life import REFERENCES, MixedLife, findings, start
from tests.support.recorded_disk import SYNCS, Call, RecordedDisk, State, copy_tree, states

TRIED = 12
"""How many of the calls of a life are tried here: two starts each."""


@pytest.fixture(autouse=True, scope="module")
def without_syncs() -> Iterator[None]:
    """A kill takes nothing from the system, so that it need not bring anything to a disk."""
    with pytest.MonkeyPatch.context() as patch:
        for name in SYNCS:
            patch.setattr(os, name, lambda number: None)
        yield


@pytest.fixture(scope="module", params=REFERENCES)
def life(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    without_syncs: None,
) -> MixedLife:
    folder = tmp_path_factory.mktemp("life")
    found = MixedLife(folder, request.param)
    found.run()
    return found


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_life_makes_every_change_of_files(life: MixedLife) -> None:
    names = {entry.name for entry in life.disk.entries if isinstance(entry, Call)}
    assert names == {
        *("open", "mkdir", "write", "pwrite", "ftruncate", "fdatasync", "fsync", "utime"),
        *("unlink", "rmdir", "replace"),
    }


@pytest.mark.slow  # dozens of starts
@pytest.mark.parametrize("loses_pages", [False, True])
def test_start_after_a_kill_has_what_was_promised(
    life: MixedLife, tmp_path: Path, loses_pages: bool
) -> None:
    step = len(life.disk.entries) // 2 // TRIED
    tried = 0
    for state in states(
        life.disk,
        _empty(tmp_path / "begun"),
        tmp_path,
        Random(1),
        wanted=lambda number: number % step == step // 2,
        loses_pages=loses_pages,
    ):
        assert findings(state, life.reference) == []
        tried += 1
    assert tried > TRIED // 3


@pytest.mark.slow  # dozens of starts
def test_start_after_a_kill_inside_a_start_has_what_was_promised(
    life: MixedLife, tmp_path: Path
) -> None:
    step = len(life.disk.entries) // 3
    tried = 0
    for killed in killed_starts(life, tmp_path, step):
        assert findings(killed, life.reference) == []
        tried += 1
    assert tried > 2


def killed_starts(life: MixedLife, folder: Path, step: int) -> Iterator[State]:
    """Yield what a kill after each 12th call of a start leaves, of starts after some kills."""
    for state in states(
        life.disk,
        _empty(folder / "begun"),
        folder / "first",
        Random(1),
        wanted=lambda number: number % step == step // 2,
    ):
        begun = folder / f"begun-{state.number}-{state.torn}"
        copy_tree(state.folder, begun)
        with RecordedDisk(state.folder, partial(int, state.at_ms)) as disk:
            core = start(state.folder, life.reference, state.at_ms)
        core.stop()
        for killed in states(
            disk, begun, folder / "second", Random(2), wanted=lambda number: number % 12 == 1
        ):
            yield killed._replace(notes=state.notes)
