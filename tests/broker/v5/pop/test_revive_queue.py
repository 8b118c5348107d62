"""One revive queue: what it commits, and how much it remembers of what is done."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.v5.pop.revive_queue import FEW, ReviveQueue
from fakemq.protocol.bodies.pop import PopCheckPoint

MINUTE_MS = 60_000


def checkpoint(revive_offset: int, *, start: int, invisible_ms: int = MINUTE_MS) -> PopCheckPoint:
    """A checkpoint whose key is its ``start``."""
    ck = PopCheckPoint(
        num=1, invisible_time=invisible_ms, start_offset=start, topic="orders", group="workers"
    )
    ck.revive_offset = revive_offset
    return ck


def test_long_invisible_time_keeps_little_of_what_is_done_behind_it() -> None:
    queue = ReviveQueue(0, -1)
    long = checkpoint(0, start=0, invisible_ms=720 * MINUTE_MS)
    queue.add(long)
    for offset in range(1, 3_001):
        ck = checkpoint(offset, start=offset)
        queue.add(ck)
        queue.end(ck)
        assert queue.take_commit() is None
    assert queue.done_count <= FEW + 2
    queue.end(long)
    assert queue.take_commit() == 3_000


def test_checkpoint_that_replaces_itself_is_kept_once() -> None:
    queue = ReviveQueue(0, -1)
    for offset in range(1_000):
        queue.add(checkpoint(offset, start=7))
    assert len(queue.pending) == 1
    assert len(queue._due) <= FEW + 2
    first = queue.first()
    assert first is not None
    assert first.revive_offset == 999


@given(st.lists(st.one_of(st.none(), st.integers(0, 400)), max_size=600))
def test_commit_is_the_last_that_is_done_before_what_is_pending(steps: list[int | None]) -> None:
    """None adds a checkpoint; a number ends one of those that are pending."""
    queue, done, added, committed = ReviveQueue(0, -1), set[int](), 0, -1
    for step in steps:
        if step is None:
            queue.add(checkpoint(added, start=added))
            added += 1
        elif queue.pending:
            ck = list(queue.pending.values())[step % len(queue.pending)]
            queue.end(ck)
            done.add(ck.revive_offset)
        if step is not None and step % 3:
            continue
        earliest = min((ck.revive_offset for ck in queue.pending.values()), default=added)
        expected = max((offset for offset in done if offset < earliest), default=-1)
        offset = queue.take_commit()
        assert offset == (expected if expected > committed else None)
        committed = max(committed, expected)
