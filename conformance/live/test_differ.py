"""Drawn sequences of requests: a real broker and the fake answer the same, and store the same."""

from __future__ import annotations

import pytest

from conformance.differ.accepted import accepted
from conformance.differ.pair import Pair
from conformance.differ.searching import search

# A JVM, and 150 sequences on both clusters.
pytestmark = pytest.mark.slow

SEED, SEQUENCES, AT_MOST_MS = 1, 150, 30_000


def test_drawn_sequences_show_no_new_difference(java: None) -> None:
    with Pair(accepted()) as both:
        found = list(search(both, SEQUENCES, SEED, at_most_ms=AT_MOST_MS))
        assert both.played
    assert not found, "\n".join(str(one.difference) for one in found)
