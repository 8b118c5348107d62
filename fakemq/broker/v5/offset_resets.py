"""Offsets that an operator has reset, until the consumer pulls: what useServerSideResetOffset does.

Source: broker/offset/ConsumerOffsetManager.java#assignResetOffset, #queryThenEraseResetOffset,
#hasOffsetReset (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.clock.slices import removed_where

if TYPE_CHECKING:
    from fakemq.broker.offsets import ConsumerOffsetManager
    from fakemq.clock.slices import Steps


class OffsetResets:
    """The pending resets of one broker, by topic, group and queue id."""

    def __init__(self, offsets: ConsumerOffsetManager) -> None:
        self._offsets = offsets
        self._pending: dict[tuple[str, str, int], int] = {}

    def assign(self, topic: str, group: str, queue_id: int, offset: int) -> None:
        """Reset a queue: the offset is committed, and the group's next pull is sent there."""
        if not topic or not group or queue_id < 0 or offset < 0:
            return
        self._pending[topic, group, queue_id] = offset
        self._offsets.commit(group, topic, queue_id, offset)

    def has(self, topic: str, group: str, queue_id: int) -> bool:
        """Return whether a reset of the queue is pending."""
        return (topic, group, queue_id) in self._pending

    def find(self, topic: str, group: str, queue_id: int) -> int | None:
        """Return the pending reset of a queue; None if there is none."""
        return self._pending.get((topic, group, queue_id))

    def take(self, topic: str, group: str, queue_id: int) -> int | None:
        """Return the pending reset of a queue, and forget it; None if there is none."""
        return self._pending.pop((topic, group, queue_id), None)

    def clean(self, topic: str) -> Steps[None]:
        """Forget the pending resets of a topic."""
        return removed_where(self._pending, lambda key: key[0] == topic)

    def clear(self) -> None:
        """Forget all pending resets."""
        self._pending.clear()
