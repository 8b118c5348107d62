"""The locks by which one client at a time consumes a queue in order.

Source: broker/client/rebalance/RebalanceLockManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fakemq.events.core import QueuesLocked

if TYPE_CHECKING:
    from fakemq.broker.clients.consumers import ConsumerManager
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.queue import MessageQueue

REBALANCE_LOCK_MAX_LIVE_TIME_MS = 60_000
"""A lock that its owner does not renew for longer than this is free."""


class _LockEntry:
    """A lock of one queue. ``taken_ms`` is elapsed time, on the axis of the owner's connection."""

    __slots__ = ("client_id", "outside", "taken_ms")

    def __init__(self, client_id: str, outside: bool, taken_ms: int) -> None:
        self.client_id = client_id
        self.outside = outside
        self.taken_ms = taken_ms


class RebalanceLockManager:
    """The queue locks of one broker. They outlive connections; time or their owner frees them."""

    def __init__(self, node: NodeContext[BrokerConfig], consumers: ConsumerManager) -> None:
        self._node = node
        self._consumers = consumers
        self._table: dict[str, dict[MessageQueue, _LockEntry]] = {}

    def try_lock_batch(
        self, group: str, queues: Iterable[MessageQueue], client_id: str, session: Session
    ) -> Steps[list[MessageQueue]]:
        """Lock queues that are free, expired or the client's own; return those it holds now."""
        outside = session.outside
        now_ms = self._node.clock.elapsed_ms(outside=outside)
        locked = []
        for queue in queues:
            locks = self._table.setdefault(group, {})
            entry = locks.get(queue)
            if entry is None or entry.client_id == client_id or self._expired(entry):
                locks[queue] = _LockEntry(client_id, outside, now_ms)
                locked.append(queue)
            yield
        self._changed(group, client_id, len(locked), "locked")
        return locked

    def unlock_batch(
        self, group: str, queues: Iterable[MessageQueue], client_id: str | None
    ) -> None:
        """Free the client's own locks; other clients' locks stay. No lock is of a client None."""
        locks = self._table.get(group, {})
        freed = 0
        for queue in queues:
            entry = locks.get(queue)
            if entry is not None and entry.client_id == client_id:
                del locks[queue]
                freed += 1
        self._changed(group, client_id or "", freed, "unlocked")

    def expire(self, group: str, picks: Callable[[MessageQueue, str], bool]) -> int:
        """Expire the locks of a group for which ``picks(queue, client_id)`` is true.

        Return how many these were.
        """
        locks = self._table.get(group, {})
        picked = [
            queue
            for queue, entry in locks.items()
            if not self._expired(entry) and picks(queue, entry.client_id)
        ]
        for queue in picked:
            self._changed(group, locks.pop(queue).client_id, 1, "expired")
        return len(picked)

    def has_unexpired(self, group: str) -> bool:
        """Return whether any client holds a lock of the group.

        Source: RebalanceLockManager.java#isLockAllExpired (5.5.0)
        """
        return any(not self._expired(entry) for entry in self._table.get(group, {}).values())

    def snapshot(self) -> Mapping[str, Mapping[MessageQueue, str]]:
        """Return group → queue → client id of all locks that have not expired; read-only."""
        return MappingProxyType(
            {
                group: MappingProxyType(
                    {
                        queue: entry.client_id
                        for queue, entry in locks.items()
                        if not self._expired(entry)
                    }
                )
                for group, locks in self._table.items()
            }
        )

    def reset(self) -> None:
        """Keep only the locks of clients that are still members, because they consume on."""
        is_member = self._consumers.find_channel
        for group, locks in list(self._table.items()):
            kept = {
                queue: entry for queue, entry in locks.items() if is_member(group, entry.client_id)
            }
            if kept:
                self._table[group] = kept
            else:
                del self._table[group]

    def _expired(self, entry: _LockEntry) -> bool:
        held_ms = self._node.clock.elapsed_ms(outside=entry.outside) - entry.taken_ms
        return held_ms > REBALANCE_LOCK_MAX_LIVE_TIME_MS

    def _changed(self, group: str, client_id: str, count: int, how: str) -> None:
        self._node.journal.add(
            QueuesLocked(
                node=self._node.name, group=group, client_id=client_id, count=count, how=how
            )
        )
