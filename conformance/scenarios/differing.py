"""Sequences that differential fuzzing has kept: each once showed a difference, which was mended.

``python -m conformance.differ`` draws and shrinks them; see docs/differ.md.
"""

from __future__ import annotations

from pathlib import Path

from conformance.differ.observing import transcript
from conformance.differ.playing import CONFIG
from conformance.differ.sequences import KEPT, load
from conformance.run import Run
from conformance.scenario import scenario


def _register(path: Path) -> None:
    def play(run: Run) -> None:
        transcript(run, load(path), path.stem)

    play.__name__ = path.stem
    scenario(f"a drawn sequence: {path.stem.replace('_', ' ')}", config=CONFIG)(play)


for _path in sorted(KEPT.glob("*.json")):
    _register(_path)
