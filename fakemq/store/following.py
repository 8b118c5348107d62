"""The rest of a put: records in the log that follow to their queues in slices.

Java brings all records to their queues by a thread of its own. Here a put does it at once, but for
a large batch, and for what is put while one is on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT

if TYPE_CHECKING:
    from fakemq.store.puts import AppendMessageResult


class Following:
    """The records of one put that are not in their queue yet."""

    __slots__ = ("_put", "_taken", "queued", "within")

    def __init__(
        self, put: AppendMessageResult, within: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._put = put
        self._taken = 0
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
        return self._taken < self._put.msg_num

    def has(self, topic: str, queue_id: int, queue_offset: int, phy_offset: int) -> bool:
        """Return whether the record of a queue offset is one of them, and there in the log."""
        put, at = self._put, queue_offset - self._put.logics_offset
        return (
            (put.topic, put.queue_id) == (topic, queue_id)
            and 0 <= at < put.msg_num
            and UNIT.unpack_from(put.units, at * UNIT.size)[0] == phy_offset
        )

    def take(self, number: int) -> AppendMessageResult:
        """Return the part of the put with the next records, at most ``number``."""
        part = self._put.part(self._taken, number)
        self._taken += part.msg_num
        return part


def _nothing() -> None:
    pass
