"""No single peer causes a long turn of the loop: each attack of the bench, smaller."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from bench import stall
from bench.stall_lab import AT_MOST_MS

SIZE = 0.05
"""Attacks of a twentieth of the bench's size. Where the cost grew with the size, the longest turn
was up to 600 ms even so."""


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """At its end a cluster of the bench lets the collector look at all objects, those of all
    tests, too: each later collection of this worker would take a second."""
    yield
    gc.freeze()


@pytest.mark.parametrize("name", stall.ATTACKS)
def test_attack_causes_no_long_turn(name: str) -> None:
    # The first request of a kind imports what it needs, and compiles it in a fresh checkout.
    stall.longest_turn_ms(name, SIZE / 50)
    # A server has no objects of thousands of tests, which a collection would look at for 0.2 s.
    gc.freeze()
    assert stall.longest_turn_ms(name, SIZE) < AT_MOST_MS
