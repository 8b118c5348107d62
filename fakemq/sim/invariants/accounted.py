"""Each message of a popped topic is acknowledged, or invisible with an end, or visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from fakemq.sim.history import Violation
from fakemq.sim.pops import GroupQueue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fakemq.sim.pops import PopHistory, PopHold

NAME = "popped messages are accounted for"


class Unacknowledged(NamedTuple):
    """A message that a broker will revive unless it is acknowledged."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    pop_time_ms: int


class PopTables(Protocol):
    """What a broker knows of the messages that groups pop."""

    def waiting(self) -> Collection[Unacknowledged]:
        """Return all messages that will be revived."""

    def queues(self, group: str) -> Iterator[tuple[str, int]]:
        """Yield topic and queue id of all queues that a group pops, with its retry topics."""

    def offsets(self, queue: GroupQueue) -> tuple[int, int]:
        """Return the first queue offset that is stored, and the one of the next pop."""


def unaccounted(
    pops: PopHistory, node: str, groups: Collection[str], tables: PopTables
) -> Iterator[Violation]:
    """Yield messages of a running broker that no one has and that will not come again.

    A popped one has to wait for its revival; in order it must not be behind the next pop. And no
    message before the next pop may have been left out. What a slave popped in order, its master
    commits when it is acknowledged.
    """
    waiting = set(tables.waiting())
    for group in groups:
        for topic, queue_id in tables.queues(group):
            queue = GroupQueue(node, group, topic, queue_id)
            first, following = tables.offsets(queue)
            for hold in pops.of(queue):
                if hold.is_open and not hold.uncertain and not _comes(hold, waiting, following):
                    text = f"{hold} at {hold.pop_time_ms}, is not acknowledged and never comes"
                    yield Violation(NAME, text, (node,))
            if node in pops.lossy:
                continue  # it may store new messages at offsets that were popped before
            for offset in range(first, following):
                if not pops.had(queue, offset):
                    text = (
                        f"no pop of {group} returned offset {offset} of {topic} queue {queue_id}"
                        f" at {node}, and the next one begins at {following}"
                    )
                    yield Violation(NAME, text, (node,))


def _comes(hold: PopHold, waiting: Collection[Unacknowledged], following: int) -> bool:
    if hold.in_order:
        return hold.queue_offset >= following
    _, group, topic, queue_id = hold.queue
    return Unacknowledged(group, topic, queue_id, hold.queue_offset, hold.pop_time_ms) in waiting
