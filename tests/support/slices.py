"""Long work in slices, of which a test takes each turn."""

from __future__ import annotations

from itertools import count

import pytest

from fakemq.clock import slices
from fakemq.clock.clock import Clock


def count_looks_as_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look at the thread's processor time show one millisecond more."""
    looks = count()
    monkeypatch.setattr(slices, "thread_busy_ms", lambda: next(looks))


def work_in_turns(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let long work proceed by turns, as with a loop; the test calls ``take_turn``.

    Each step of the work then takes a millisecond, see `count_looks_as_ms`.
    """
    count_looks_as_ms(monkeypatch)
    monkeypatch.setattr(clock.slices, "soon", lambda: None)


def take_turns(clock: Clock) -> int:
    """Take turns until no work is left; return how many."""
    turns = 0
    while clock.slices.waiting:
        clock.slices.take_turn()
        turns += 1
    return turns
