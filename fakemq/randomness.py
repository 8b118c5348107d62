"""Every random choice of a cluster comes from one seed; the only file that draws randomness.

A choice is drawn from a named stream, so that one part of the system asking more often does not
change what another part gets.
"""

from __future__ import annotations

import random


class Randomness:
    """Named streams of random numbers derived from one seed; without a seed it picks one."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = random.SystemRandom().getrandbits(32) if seed is None else seed
        """What makes this run repeatable."""
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream called ``name``; the same name is the same stream."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = random.Random(f"{self.seed}/{name}")
        return stream

    def reset(self) -> None:
        """Every stream starts again, also where somebody holds on to it."""
        for name, stream in self._streams.items():
            stream.seed(f"{self.seed}/{name}")

    def __repr__(self) -> str:
        return f"<randomness of seed {self.seed}>"
