"""All consume queues of a store. Source: store/DefaultMessageStore.java (4.9.7)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING

from fakemq.store.consumequeue import FOLDER, UNIT_BYTES, ConsumeQueue

if TYPE_CHECKING:
    from fakemq.store.files import Files

_NONE: Mapping[int, ConsumeQueue] = {}


class ConsumeQueues:
    """Consume queues by topic and queue id, made by their first message."""

    def __init__(self, files: Files, file_size_bytes: int) -> None:
        self._files = files
        # Java rounds up to whole entries.
        self._file_size_bytes = -(-file_size_bytes // UNIT_BYTES) * UNIT_BYTES
        self._table: dict[str, dict[int, ConsumeQueue]] = {}

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """The queue, if a message was ever put into it."""
        return self._table.get(topic, _NONE).get(queue_id)

    def find_or_make(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = self._table.get(topic, _NONE).get(queue_id)
        if queue is None:
            queue = ConsumeQueue(topic, queue_id, self._files, self._file_size_bytes)
            self._table.setdefault(topic, {})[queue_id] = queue
        return queue

    def load(self, now_ms: int) -> None:
        """Take the queues that are there. Source: DefaultMessageStore.java#loadConsumeQueue"""
        paths = (path.split("/") for path in self._files.list(FOLDER))
        found = {(path[1], path[2]) for path in paths if len(path) > 3}
        for topic, queue_id in sorted(found):
            if queue_id.isdecimal():  # Java passes over what is no number
                self.find_or_make(topic, int(queue_id)).load(now_ms)

    def topics(self) -> Set[str]:
        """The topics that have queues, as they come and go."""
        return self._table.keys()

    def ids(self, topic: str) -> list[int]:
        """The queue ids of a topic's queues, ascending."""
        return sorted(self._table.get(topic, _NONE))

    def destroy_one(self, topic: str, queue_id: int) -> None:
        """Delete one queue, and with the last one its topic."""
        queues = self._table[topic]
        queues.pop(queue_id).destroy()
        if not queues:
            del self._table[topic]

    def destroy(self, topic: str) -> list[int]:
        """Delete the queues of a topic; gives their ids."""
        queues = self._table.pop(topic, _NONE)
        for queue in queues.values():
            queue.destroy()
        return sorted(queues)

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter([queue for queues in self._table.values() for queue in queues.values()])
