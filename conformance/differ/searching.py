"""Search for sequences in which the fake differs: hypothesis draws and shrinks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky

from conformance.differ.drawing import sequences
from conformance.differ.pair import Difference, Pair
from conformance.differ.sequences import Sequence
from fakemq.clock.machine_time import real_elapsed_ms

ROUND = 500
"""How many sequences one call of hypothesis draws."""
SHRINK_MS = 60_000


class Found(NamedTuple):
    """A shortest sequence that differs, and how."""

    sequence: Sequence
    difference: Difference


class DiffersError(AssertionError):
    """Raised to hypothesis for a sequence that differs."""


def kind_of(difference: Difference) -> str:
    """Return what is the same of a difference in other sequences: the request and what was said."""
    java, ours = set(difference.java), set(difference.fakemq)
    lines = [*sorted(java - ours)[:4], "|", *sorted(ours - java)[:4]]
    title = re.sub(r"^\d+\. ", "", difference.title)
    return re.sub(r"\d+", "#", "\n".join([title, *lines]))


def search(
    pair: Pair, count: int, first_seed: int, *, most_found: int = 1, at_most_ms: int = 0
) -> Iterator[Found]:
    """Draw ``count`` sequences; yield each kind of difference once, by its shortest sequence.

    The search ends after ``most_found`` kinds, and after ``at_most_ms`` if that is not 0: a
    sequence that was found then is as short as there was time for.
    """
    known: set[str] = set()
    until_ms = real_elapsed_ms() + at_most_ms if at_most_ms else inf
    drawn, rounds = 0, 0
    while drawn < count and len(known) < most_found and real_elapsed_ms() <= until_ms:
        one = _Round(pair, min(ROUND, count - drawn), known, until_ms)
        rounds += 1
        found = one.run(first_seed * 1_000_003 + rounds)
        drawn += one.drawn
        if found is not None:
            known |= one.kinds
            yield found


def _size(sequence: Sequence) -> tuple[int, int]:
    return len(sequence), len(repr(sequence))


class _Round:
    """One call of hypothesis."""

    def __init__(self, pair: Pair, count: int, known: set[str], until_ms: float) -> None:
        self._pair = pair
        self._count = count
        self._known = known
        self._until_ms = until_ms
        self._found: Found | None = None
        self.drawn = 0
        self.kinds: set[str] = set()

    def run(self, round_seed: int) -> Found | None:
        """Return the shortest sequence of the first kind of difference; None if none differs."""

        @seed(round_seed)
        @settings(
            max_examples=self._count,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )
        @given(sequences())
        def play(sequence: Sequence) -> None:
            self._play(sequence)

        try:
            play()
        except (DiffersError, Flaky):
            return self._found
        return None

    def _play(self, sequence: Sequence) -> None:
        is_found = self._found is not None and sequence == self._found.sequence
        if real_elapsed_ms() > self._until_ms and not is_found:
            return
        self.drawn += self._found is None
        difference = self._pair.difference(sequence)
        if difference is None:
            return
        kind = kind_of(difference)
        if kind in self._known or (self.kinds and kind not in self.kinds):
            return
        self.kinds.add(kind)
        if self._found is None:
            self._until_ms = min(self._until_ms, real_elapsed_ms() + SHRINK_MS)
        if self._found is None or _size(sequence) <= _size(self._found.sequence):
            self._found = Found(sequence, difference)
        raise DiffersError(str(difference))
