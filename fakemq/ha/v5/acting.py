"""Replication of a broker whose slaves may act as masters: sends wait for replicas that live.

Source: store/CommitLog.java#asyncPutMessage, #calcNeedAckNums, #handleHA,
store/ha/DefaultHAService.java#inSyncReplicasNums (5.5.0)
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fakemq.ha.v5.counted_store import CountedStore
from fakemq.ha.v5.service import HAService5

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.ha.node import ReplicatedBroker
    from fakemq.ha.v5.node import Tables5
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult


class ActingHAService(HAService5):
    """Replication that counts the replicas before each send to a SYNC_MASTER.

    ``alive`` returns how many brokers of the group live. A send is refused if inSyncReplicas are
    more than those in sync; with enableAutoInSyncReplicas, if minInSyncReplicas are.
    """

    def __init__(self, broker: ReplicatedBroker, tables: Tables5, alive: Callable[[], int]) -> None:
        super().__init__(broker, tables)
        self._alive = alive
        self._waiting: deque[int] = deque()
        """How many brokers must have each send that waits, in their order; 2 or more."""
        self._last_needed = 1
        """How many brokers must have the last send that was counted."""
        store = broker.store
        assert isinstance(store, CountedStore), "a store that takes all messages"
        store.lacks_replicas = self._lacks_replicas

    @property
    def in_sync(self) -> int:
        """How many brokers live and are in sync, this one included."""
        end, most = self.log.max_offset, self._broker.config.ha_slave_fallbehind_max
        near = sum(end - one.connection.slave_ack_offset < most for one in self.connections)
        return min(self._alive(), 1 + near)

    def _lacks_replicas(self, message: InnerMessage) -> bool:
        if not (message.wait_store_msg_ok and self._broker.store.role.is_sync_master):
            return False
        in_sync = self.in_sync
        self._last_needed = self._needed_of(in_sync)
        return self._last_needed > in_sync

    def _needed_of(self, in_sync: int) -> int:
        """Return how many brokers must have a send. Source: CommitLog.java#calcNeedAckNums"""
        config, needed = self._config, self._config.in_sync_replicas
        if config.enable_auto_in_sync_replicas:
            needed = max(min(needed, in_sync), config.min_in_sync_replicas)
        return needed

    @property
    def _needed(self) -> int:
        """What the first send that waits needs; without one, what the last one needed."""
        return self._waiting[0] if self._waiting else self._last_needed

    def _replicate(self, next_offset: int, result: PutMessageResult) -> None:
        if self._last_needed > 1:
            result.replicate_to = next_offset

    def when_transferred(self, next_offset: int, done: Callable[[bool], None]) -> None:
        def answered(transferred: bool) -> None:
            self._waiting.popleft()
            done(transferred)
            self._count()  # the next one may need fewer

        self._waiting.append(self._last_needed)
        super().when_transferred(next_offset, answered)
