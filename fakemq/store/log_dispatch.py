"""From the commit log to what is built from it: consume queues and the index.

Java looks for new records each millisecond. Here a record is dispatched as soon as the log has all
of it. There are three cases:

1. A master dispatches the records of a put right after it has appended them.
2. A slave dispatches a record when its last byte has arrived.
3. A recovery dispatches the records that the consume queues of a directory lack.

Source: store/DefaultMessageStore.java#ReputMessageService (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.events.core import Dispatched
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.store.queue_folders import NoQueueError
from fakemq.store.records import LogRecord

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig
    from fakemq.journal.journal import Journal
    from fakemq.store.consumequeue import ConsumeQueues
    from fakemq.store.index import IndexService

NoQueue = Callable[[LogRecord, str], None]
"""Called with a record that no queue can have, and the reason, a clause."""


def _ignore(record: LogRecord, why: str) -> None:
    pass


class LogDispatch:
    """Brings each record of one log to its consume queue and to the index."""

    def __init__(
        self,
        config: BrokerConfig,
        queues: ConsumeQueues,
        index: IndexService,
        journal: Journal,
        node: str,
    ) -> None:
        self._config = config
        self._queues = queues
        self._index = index
        self._journal = journal
        self._node = node
        self._without_queue: set[tuple[str, int]] = set()
        """Topic and queue id of the records that no queue can have."""

    # The callback is passed with each call, not kept: a reference back to its owner would be a
    # cycle, and the files of a stopped store would stay open until the garbage collector runs.

    def dispatch(self, record: LogRecord, on_no_queue: NoQueue = _ignore) -> None:
        """Bring a new record to its queue and the index, and write `Dispatched`.

        ``on_no_queue`` is called for the first record of each topic and queue id that no store can
        have. A put never has one; a log that was written elsewhere may. The index reads the log by
        itself when it is asked: here it only learns which records to leave out. Raise StoreError if
        the queue cannot take the entry.
        """
        self.add_to_queue(record, on_no_queue)
        phy_offset = record.phy_offset
        if not self._config.message_index_enable:
            self._index.pass_over(phy_offset, phy_offset + record.size_bytes)
        self._journal.add(
            Dispatched(
                node=self._node,
                topic=record.topic,
                queue_id=record.queue_id,
                queue_offset=record.queue_offset,
                phy_offset=phy_offset,
            )
        )

    def add_to_queue(self, record: LogRecord, on_no_queue: NoQueue = _ignore) -> bool:
        """Add a record to its queue, if it has one, and return whether it has.

        ``on_no_queue``: as in `dispatch`.

        Source: store/DefaultMessageStore.java#CommitLogDispatcherBuildConsumeQueue (4.9.7)
        """
        if record.sys_flag & MessageSysFlag.TRANSACTION_MASK in UNQUEUED:
            return False
        try:
            self._queues.find_or_make(record.topic, record.queue_id).append(
                record.phy_offset,
                record.size_bytes,
                record.tags_code,
                record.queue_offset,
                record.store_timestamp_ms,
            )
        except NoQueueError as error:
            self._has_no_queue(record, str(error), on_no_queue)
            return False
        return True

    def _has_no_queue(self, record: LogRecord, why: str, on_no_queue: NoQueue) -> None:
        # One line for each queue: a log may have a million records for it.
        place = record.topic, record.queue_id
        if place not in self._without_queue:
            self._without_queue.add(place)
            on_no_queue(record, why)
