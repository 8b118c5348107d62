"""How far groups have pulled, and what they are forbidden to pull: two tables of 5.5.0.

Source: broker/offset/ConsumerOffsetManager.java#commitPullOffset, #queryPullOffset,
broker/subscription/SubscriptionGroupManager.java#updateForbidden (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from fakemq.clock.slices import Steps, removed_where

if TYPE_CHECKING:
    from fakemq.broker.tables.offsets import ConsumerOffsetManager

_NOT_READABLE: Final = 4
"""Source: common/constant/PermName.java, INDEX_PERM_READ (5.5.0)"""


class PullOffsets:
    """The offset behind the last answer to a pull, by topic, group and queue id.

    A topic or group that is deleted, or whose offsets are, loses its entries.
    """

    def __init__(self) -> None:
        self._table: dict[tuple[str, str, int], int] = {}

    def commit(self, topic: str, group: str, queue_id: int, offset: int) -> None:
        """Store where the group's next pull begins."""
        self._table[topic, group, queue_id] = offset

    def find(self, topic: str, group: str, queue_id: int, default: int = 0) -> int:
        """Return where the group's next pull begins; ``default`` if it never pulled."""
        return self._table.get((topic, group, queue_id), default)

    def forget(self, group: str) -> Steps[None]:
        """Remove the entries of a group."""
        return removed_where(self._table, lambda key: key[1] == group)

    def clean(self, topic: str) -> Steps[None]:
        """Remove the entries of a topic."""
        return removed_where(self._table, lambda key: key[0] == topic)

    def clear(self) -> None:
        """Remove all entries."""
        self._table.clear()


class ForbiddenTopics:
    """The topics that groups may not pull, until the broker's end.

    Differs: Java keeps them in subscriptionGroup.json.
    """

    def __init__(self) -> None:
        self._by_group: dict[str, set[str]] = {}

    def update(self, group: str, topic: str, *, readable: bool) -> None:
        """Forbid a topic, or allow it again; then Java allows the group all its topics."""
        if readable:
            self._by_group.pop(group, None)
        else:
            self._by_group.setdefault(group, set()).add(topic)

    def is_forbidden(self, group: str, topic: str) -> bool:
        """Return whether the group may not pull the topic."""
        return topic in self._by_group.get(group, ())

    def of(self, groups: Iterable[str]) -> dict[str, dict[str, int]]:
        """Return the topics that these groups may not pull, each with Java's bit for it."""
        return {
            group: dict.fromkeys(sorted(self._by_group[group]), _NOT_READABLE)
            for group in groups
            if group in self._by_group
        }

    def delete(self, group: str) -> None:
        """Forget what a group may not pull."""
        self._by_group.pop(group, None)

    def clear(self) -> None:
        """Allow all groups everything."""
        self._by_group.clear()


# Offsets that an operator has reset, until the consumer pulls: what useServerSideResetOffset does.
#
# Source: broker/offset/ConsumerOffsetManager.java#assignResetOffset, #queryThenEraseResetOffset,
# #hasOffsetReset (5.5.0)


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

    @property
    def is_empty(self) -> bool:
        """Whether no reset is pending."""
        return not self._pending

    def take(self, topic: str, group: str, queue_id: int) -> int | None:
        """Return the pending reset of a queue, and forget it; None if there is none."""
        return self._pending.pop((topic, group, queue_id), None)

    def forget_one(self, topic: str, group: str) -> None:
        """Forget the pending reset of a group in a light queue, which has the queue id 0."""
        self._pending.pop((topic, group, 0), None)

    def clean(self, topic: str) -> Steps[None]:
        """Forget the pending resets of a topic."""
        return removed_where(self._pending, lambda key: key[0] == topic)

    def clear(self) -> None:
        """Forget all pending resets."""
        self._pending.clear()
