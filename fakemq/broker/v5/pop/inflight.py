"""How many messages of each queue are out: popped, and neither acknowledged nor revived.

Source: broker/processor/PopInflightMessageCounter.java (5.5.0)
"""

from __future__ import annotations

from typing import TypeAlias

from fakemq.clock.slices import Steps, removed_where

_Queue: TypeAlias = tuple[str, str, int]
"""Topic, group and queue id."""


class InflightCounter:
    """The counts of one broker since its start."""

    def __init__(self) -> None:
        self._counts: dict[_Queue, int] = {}
        self._started_ms = 0

    def start(self, now_ms: int) -> None:
        """Begin with nothing out; what was popped before does not count."""
        self._counts.clear()
        self._started_ms = now_ms

    def popped(self, topic: str, group: str, queue_id: int, count: int) -> None:
        if count > 0:
            self._add((topic, group, queue_id), count)

    def ended(self, topic: str, group: str, queue_id: int, count: int, pop_time_ms: int) -> None:
        """Note that messages of a pop were acknowledged or revived."""
        queue = (topic, group, queue_id)
        if pop_time_ms >= self._started_ms and queue in self._counts:
            self._add(queue, -count)

    def clear(self, topic: str, group: str, queue_id: int) -> None:
        self._counts.pop((topic, group, queue_id), None)

    def forget(self, topic: str) -> Steps[None]:
        """Forget the counts of a deleted topic."""
        return removed_where(self._counts, lambda queue: queue[0] == topic)

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """Return how many messages of a queue are out."""
        return self._counts.get((topic, group, queue_id), 0)

    def of_group(self, group: str) -> dict[tuple[str, int], int]:
        """Return the counts of a group by topic and queue id."""
        return {
            (topic, queue_id): count
            for (topic, one, queue_id), count in self._counts.items()
            if one == group
        }

    def _add(self, queue: _Queue, count: int) -> None:
        total = self._counts.get(queue, 0) + count
        if total > 0:
            self._counts[queue] = total
        else:
            self._counts.pop(queue, None)
