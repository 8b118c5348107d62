"""The checkpoints of one queue of the revive topic: which is due first, and how far all is done."""

from __future__ import annotations

from bisect import bisect_left
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from fakemq.broker.v5.pop.records import merge_key

if TYPE_CHECKING:
    from fakemq.broker.v5.pop.records import MergeKey
    from fakemq.clock.timers import Timer
    from fakemq.later import Later
    from fakemq.protocol.bodies.pop import PopCheckPoint

FEW: Final = 64
"""The number of checkpoints that may be done and stay in a heap, or uncommitted."""


class ReviveQueue:
    """One queue of the revive topic: the checkpoints that were read and are not done."""

    __slots__ = (
        "_done",
        "_due",
        "due_ms",
        "failures",
        "next_offset",
        "not_before_ms",
        "pending",
        "queue_id",
        "quiet_from_ms",
        "timer",
        "under_way",
    )

    def __init__(self, queue_id: int, committed: int) -> None:
        self.queue_id = queue_id
        self.next_offset = committed + 1
        self.pending: dict[MergeKey, PopCheckPoint] = {}
        """By merge key, in the order of the queue."""
        self.quiet_from_ms = 0
        self.failures = 0
        """How often the other masters have refused its first checkpoint in a row."""
        self.not_before_ms = 0
        """When that is handed over again."""
        self.timer: Timer | None = None
        self.under_way: Later[bool] | None = None
        """What its first checkpoint waits for; the others wait for that."""
        self.due_ms: int | None = None
        """When `timer` fires."""
        self._done: list[int] = []
        """A heap of the queue offsets of checkpoints that are done, and not committed.

        Only the last before each checkpoint that is pending counts: others may be missing.
        """
        self._due: list[tuple[int, int, MergeKey, PopCheckPoint]] = []
        """A heap of checkpoints by their time and queue offset; some are no longer pending."""

    @property
    def done_count(self) -> int:
        """How many checkpoints are noted as done, and not committed."""
        return len(self._done)

    def add(self, ck: PopCheckPoint) -> None:
        """Add a checkpoint, instead of an earlier one with its key."""
        key = merge_key(ck)
        if key in self.pending:
            del self.pending[key]  # the new one comes behind the others
        self.pending[key] = ck
        heappush(self._due, (ck.revive_time, ck.revive_offset, key, ck))
        self._forget_ended()

    def end(self, ck: PopCheckPoint) -> None:
        """Note that a checkpoint is done."""
        del self.pending[merge_key(ck)]
        heappush(self._done, ck.revive_offset)
        self._forget_ended()

    def _forget_ended(self) -> None:
        """Drop what is no longer pending from the heap, once that is most of it."""
        if len(self._due) > 2 * len(self.pending) + FEW:
            self._due = [entry for entry in self._due if self.pending.get(entry[2]) is entry[3]]
            heapify(self._due)

    def _forget_done(self) -> None:
        """Keep the last offset that is done before each pending checkpoint, and behind all."""
        done = sorted(self._done)
        self._done = []
        begin = 0
        for ck in self.pending.values():
            end = bisect_left(done, ck.revive_offset, begin)
            self._done += done[max(begin, end - 1) : end]
            begin = end
        self._done += done[max(begin, len(done) - 1) :]

    def first(self) -> PopCheckPoint | None:
        """Return the checkpoint whose messages become visible first."""
        while self._due:
            _, _, key, ck = self._due[0]
            if self.pending.get(key) is ck:
                return ck
            heappop(self._due)
        return None

    def is_pending(self, ck: PopCheckPoint) -> bool:
        """Return whether a checkpoint is not done."""
        return self.pending.get(merge_key(ck)) is ck

    def holds_back(self, ck: PopCheckPoint) -> bool:
        """Return whether an earlier checkpoint is pending, so that this one cannot be committed."""
        return next(iter(self.pending.values())).revive_offset < ck.revive_offset

    def take_commit(self) -> int | None:
        """Return the last queue offset before which all is done; None if it is known already."""
        earliest = next(iter(self.pending.values()), None)
        offset = None
        while self._done and (earliest is None or self._done[0] < earliest.revive_offset):
            offset = heappop(self._done)
        if len(self._done) > 2 * len(self.pending) + FEW:
            self._forget_done()
        return offset
