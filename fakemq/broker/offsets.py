"""How far each group has consumed each queue.

Source: broker/offset/ConsumerOffsetManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fakemq.events import OffsetCommitted

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

NO_OFFSET = -1
"""What is known of a queue that the group has never committed."""


class ConsumerOffsetManager:
    """Offsets by ``topic@group`` and queue id."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._table: dict[str, dict[int, int]] = {}

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Remember ``offset``; nothing is checked, and it may go backwards, as in Java."""
        self._table.setdefault(f"{topic}@{group}", {})[queue_id] = offset
        self._broker.journal.add(
            OffsetCommitted(
                node=self._broker.name,
                group=group,
                topic=topic,
                queue_id=queue_id,
                offset=offset,
            )
        )

    def query(self, group: str, topic: str, queue_id: int) -> int:
        """The committed offset, or `NO_OFFSET`."""
        return self._table.get(f"{topic}@{group}", {}).get(queue_id, NO_OFFSET)

    def first_boot_offset(self, topic: str, queue_id: int) -> int | None:
        """Where a group that never committed starts: 0, or None for "let the client decide".

        0 as long as the queue still has its first entry and that counts as being in memory.

        Source: broker/processor/ConsumerManageProcessor.java#queryConsumerOffset (4.9.7)
        """
        store = self._broker.store
        if store.min_offset_in_queue(topic, queue_id) > 0:
            return None
        return None if store.check_in_disk_by_consume_offset(topic, queue_id, 0) else 0

    def table(self) -> dict[str, dict[int, int]]:
        """A copy of all offsets, ``topic@group`` → queue id → offset."""
        return {key: dict(offsets) for key, offsets in self._table.items()}

    def snapshot(self) -> Mapping[str, Mapping[int, int]]:
        """All offsets as they are now, read-only."""
        return MappingProxyType(
            {key: MappingProxyType(dict(offsets)) for key, offsets in self._table.items()}
        )

    def reset(self) -> None:
        """Forget every offset."""
        self._table.clear()
