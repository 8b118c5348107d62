"""The rest of a put: records in the log that follow to their queues in slices.

Java brings all records to their queues by a thread of its own. Here a put does it at once, but for
a large batch, and for what is put while one is on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.records import RecordDraft
    from fakemq.store.results import AppendMessageResult


class Following:
    """The records of one put that are not in their queue yet."""

    __slots__ = (
        "_drafts",
        "_phy_offset",
        "_queue_offset",
        "_taken",
        "message",
        "queued",
        "stored_ms",
        "within",
    )

    def __init__(
        self,
        message: InnerMessage,
        drafts: list[RecordDraft],
        appended: AppendMessageResult,
        within: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._drafts = drafts
        self._taken = 0
        self.message = message
        self._queue_offset = appended.logics_offset
        self._phy_offset = appended.wrote_offset
        self.stored_ms = appended.store_timestamp_ms
        self.within = within
        """Returns the context in which the journal writes about them: the cause of the put."""
        self.queued: Callable[[], None] = _nothing
        """Called when all of them are in their queue."""

    def when_queued(self, done: Callable[[], None]) -> None:
        """Call ``done`` when all of them are in their queue."""
        self.queued = done

    @property
    def left(self) -> bool:
        """Whether records are left to be taken."""
        return self._taken < len(self._drafts)

    def take(self, number: int) -> tuple[list[RecordDraft], int, int]:
        """Return the next records, at most ``number``, and where the first of them is.

        That is its offset in the queue, and its physical offset in the log.
        """
        drafts = self._drafts[self._taken : self._taken + number]
        at = drafts, self._queue_offset, self._phy_offset
        self._taken += len(drafts)
        self._queue_offset += len(drafts)
        self._phy_offset += sum([draft.size_bytes for draft in drafts])
        return at


def _nothing() -> None:
    pass
