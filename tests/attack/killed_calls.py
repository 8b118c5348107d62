"""Kills after one of the calls that change files: a broker starts on what each leaves.

One life of a broker is recorded for each reference, with timers, pops, transactions, several log
folders, extensions, a deleted topic, deleted log files, a reset and damage. Each step takes one of
its calls, sometimes loses pages that were not flushed, and sometimes kills the start that follows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from random import Random

from tests.attack.progress import with_progress
from tests.support.mixed_life import REFERENCES, MixedLife, findings, start
from tests.support.recorded_disk import Call, RecordedDisk, State, copy_tree, states


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Try ``count`` kills."""
    steps = (step(seed + number, folder) for number in range(count))
    for lines in with_progress(steps, count, "killed calls"):
        yield from lines


def step(seed: int, folder: Path) -> list[str]:
    """Try one kill; return what was found."""
    random, own = Random(seed), folder / f"{seed}"
    reference = random.choice(REFERENCES)
    life = _life(reference, folder)
    (own / "begun").mkdir(parents=True)
    state = _one(life.disk, own / "begun", own / "first", random, loses=random.random() < 0.3)
    if random.random() < 0.4:
        copy_tree(state.folder, own / "again")
        with RecordedDisk(state.folder, partial(int, state.at_ms)) as disk:
            core = start(state.folder, reference, state.at_ms)
        core.stop()
        killed = _one(disk, own / "again", own / "second", random, loses=False)
        state = killed._replace(notes=state.notes)
    found = findings(state, reference)
    if not found:
        shutil.rmtree(own)
    return [f"seed {seed}, {reference}: {line}" for line in found]


def _one(disk: RecordedDisk, begun: Path, to: Path, random: Random, *, loses: bool) -> State:
    """Return what a kill after one of the calls leaves."""
    calls = sum(isinstance(entry, Call) for entry in disk.entries)
    at = random.randrange(1, calls // 2)
    found = None
    for state in states(disk, begun, to, random, wanted=lambda number: number == at,
                        loses_pages=loses):  # fmt: skip
        found = state
        if random.random() < 0.5:
            break
    assert found is not None, f"fewer than {at} of {calls} calls change anything"
    return found


@cache
def _life(reference: str, folder: Path) -> MixedLife:
    """Record the life of a broker; it is the same one each time."""
    root = folder / f"life-{reference}"
    root.mkdir()
    life = MixedLife(root, reference)
    life.run()
    return life
