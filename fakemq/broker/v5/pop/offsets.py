"""Where pops of a group continue in each queue.

Source: broker/processor/PopMessageProcessor.java#getPopOffset, PopBufferMergeService.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.tables.offsets import NO_OFFSET
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.broker.tables.offsets import ConsumerOffsetManager
    from fakemq.clock.node_clock import NodeClock
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.store.store import MessageStore

INIT_MODE_MIN: Final = 0
SLAVE_KEEPS_MS: Final = 5_000
"""How long a slave remembers at most where its pops continue: 200 * 5 intervals of 5 ms."""


class PopOffsets:
    """The next queue offset of each group's pops.

    It is committed as soon as the checkpoint of a pop is stored. While the store refuses one, pops
    continue from memory, and nothing more of that queue is committed.

    A slave stores no checkpoint, and nevertheless returns the messages. It soon forgets where its
    pops continue, so the messages come again there, and at the master, which knows of no pop.
    Source: PopBufferMergeService.java#run, #putCkToStore,
    broker/failover/EscapeBridge.java#asyncRemotePutMessageToSpecificQueue (5.5.0)
    """

    def __init__(
        self,
        config: BrokerConfig5,
        clock: NodeClock,
        store: MessageStore,
        offsets: ConsumerOffsetManager,
    ) -> None:
        self._config = config
        self._clock = clock
        self._store = store
        self._offsets = offsets
        self._uncommitted: dict[tuple[str, str, int], int] = {}
        self._unstored: dict[tuple[str, str, int], int] = {}
        """How many checkpoints of a queue are not stored yet."""
        self._slave_since_ms: int | None = None
        """When the first pop at a slave went on that is remembered; None if there is none."""

    def start_of_pop(self, topic: str, group: str, queue_id: int, init_mode: int) -> int:
        """Return where the next pop of a queue begins; commit it if that is the first one."""
        offset = self._offsets.query(group, topic, queue_id)
        if offset < 0:
            offset = self._first(topic, queue_id, init_mode)
            self._offsets.commit(group, topic, queue_id, offset)
        if not self._uncommitted and self._slave_since_ms is None:
            return offset  # as mostly
        return self._with_uncommitted(topic, group, queue_id, offset)

    def next_offset(self, topic: str, group: str, queue_id: int) -> int:
        """Return where the next pop of a queue begins, for those that do not pop.

        Source: broker/processor/NotificationProcessor.java#getPopOffset (5.5.0)
        """
        offset = self._offsets.query(group, topic, queue_id)
        if offset < 0:
            offset = self._store.min_offset_in_queue(topic, queue_id)
        return self._with_uncommitted(topic, group, queue_id, offset)

    def popped(
        self, topic: str, group: str, queue_id: int, next_offset: int, *, stored: bool
    ) -> None:
        """Note where the next pop begins, and commit it if the checkpoint was ``stored``."""
        queue = (topic, group, queue_id)
        if self._store.role.is_slave and self._forgets:
            stored = False
            if self._slave_since_ms is None:
                self._slave_since_ms = self._clock.now_ms()
        if stored and queue not in self._uncommitted:
            self._offsets.commit(group, topic, queue_id, next_offset)
        else:
            self._uncommitted[queue] = next_offset
        if not stored:
            self._unstored[queue] = self._unstored.get(queue, 0) + 1

    def stored(self, topic: str, group: str, queue_id: int) -> None:
        """Note that a checkpoint is stored by now; commit if it was the last one of its queue."""
        queue = (topic, group, queue_id)
        left = self._unstored.pop(queue, 0) - 1
        if left > 0:
            self._unstored[queue] = left
        elif queue in self._uncommitted:
            self._offsets.commit(group, topic, queue_id, self._uncommitted.pop(queue))

    def forget(self, topic: str, group: str, queue_id: int) -> None:
        """Forget what is not committed of one queue."""
        self._uncommitted.pop((topic, group, queue_id), None)
        self._unstored.pop((topic, group, queue_id), None)

    def reset(self) -> None:
        """Forget what is not committed."""
        self._slave_since_ms = None
        self._uncommitted.clear()
        self._unstored.clear()

    def _with_uncommitted(self, topic: str, group: str, queue_id: int, offset: int) -> int:
        since_ms = self._slave_since_ms
        if since_ms is not None and (
            not self._forgets or abs(self._clock.now_ms() - since_ms) >= SLAVE_KEEPS_MS
        ):
            self.reset()
        return max(offset, self._uncommitted.get((topic, group, queue_id), NO_OFFSET))

    @property
    def _forgets(self) -> bool:
        """Whether it keeps nothing for long: a slave that never acts as master.

        Source: broker/processor/PopBufferMergeService.java#isShouldRunning (5.5.0)
        """
        return self._store.role.is_slave and not self._config.enable_slave_acting_master

    def _first(self, topic: str, queue_id: int, init_mode: int) -> int:
        """Source: PopMessageProcessor.java#getInitOffset (5.5.0)"""
        store = self._store
        least = store.min_offset_in_queue(topic, queue_id)
        if init_mode == INIT_MODE_MIN or topic.startswith(RETRY_PREFIX):
            return least
        if (
            self._config.init_pop_offset_by_check_msg_in_mem
            and least <= 0
            and not store.check_in_disk_by_consume_offset(topic, queue_id, 0)
            and store.max_offset_in_queue(topic, queue_id) > 0
        ):
            return 0
        return max(0, store.max_offset_in_queue(topic, queue_id) - 1)
