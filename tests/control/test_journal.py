"""Searching the journal for the endpoints."""

from __future__ import annotations

import pytest

from fakemq.clock.clock import Clock
from fakemq.control.journal import Wanted
from fakemq.events import TopicChanged, Warned
from fakemq.journal.journal import Journal


@pytest.mark.parametrize(
    ("kind", "fields"), [(None, {}), ("TopicChanged", {}), ("TopicChanged", {"topic": "t3"})]
)
@pytest.mark.parametrize("capacity", [7, 100])
def test_newest_are_the_last_of_those_that_fit(
    kind: str | None, fields: dict[str, str], capacity: int
) -> None:
    journal, wanted = Journal(Clock(frozen=True), capacity=capacity), Wanted(kind, fields)
    for number in range(20):
        journal.add(TopicChanged(node="n", topic=f"t{number % 5}", how="created"))
        journal.add(Warned(node="n", text="x"))
    for seq in (0, 3, 33, 39, 40):
        after = wanted.after(journal, seq)
        for most in (1, 5, 100):
            assert wanted.newest(journal, seq, most) == (after[-most:], len(after))
    journal.clear()
    assert wanted.newest(journal, 0, 5) == ([], 0)
