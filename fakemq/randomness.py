"""Every random choice of a cluster comes from one seed; only this file draws random numbers.

Each part of the system draws from its own named stream. So when one part draws more numbers, the
numbers of the other parts stay the same.
"""

from __future__ import annotations

import random


class Randomness:
    """Named streams of random numbers derived from one seed; a seed of None draws a seed."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = random.SystemRandom().getrandbits(32) if seed is None else seed
        """Pass it again to repeat this run."""
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """Return the stream with this name; the same name returns the same object."""
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = random.Random(f"{self.seed}/{name}")
        return stream

    def reset(self) -> None:
        """Seed every stream anew. The objects stay, because other parts keep references to them."""
        for name, stream in self._streams.items():
            stream.seed(f"{self.seed}/{name}")

    def __repr__(self) -> str:
        return f"<randomness of seed {self.seed}>"
