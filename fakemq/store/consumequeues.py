"""All consume queues of a store. Source: store/DefaultMessageStore.java (4.9.7)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.store.consumequeue import UNIT_BYTES, ConsumeQueue

if TYPE_CHECKING:
    from fakemq.store.files import Files


class ConsumeQueues:
    """Consume queues by topic and queue id, made by their first message."""

    def __init__(self, files: Files, file_size_bytes: int) -> None:
        self._files = files
        # Java rounds up to whole entries.
        self._file_size_bytes = -(-file_size_bytes // UNIT_BYTES) * UNIT_BYTES
        self._table: dict[tuple[str, int], ConsumeQueue] = {}

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """The queue, if a message was ever put into it."""
        return self._table.get((topic, queue_id))

    def find_or_make(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = self._table.get((topic, queue_id))
        if queue is None:
            queue = ConsumeQueue(topic, queue_id, self._files, self._file_size_bytes)
            self._table[topic, queue_id] = queue
        return queue

    def topics(self) -> set[str]:
        """The topics that have queues."""
        return {topic for topic, _ in self._table}

    def ids(self, topic: str) -> list[int]:
        """The queue ids of a topic's queues, ascending."""
        return sorted(queue_id for name, queue_id in self._table if name == topic)

    def destroy(self, topic: str) -> list[int]:
        """Delete the queues of a topic; gives their ids."""
        ids = self.ids(topic)
        for queue_id in ids:
            self._table.pop((topic, queue_id)).destroy()
        return ids

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter(list(self._table.values()))
