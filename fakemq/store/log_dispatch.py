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
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import msgspec

from fakemq.errors import StoreError
from fakemq.journal.noted import DISPATCHED, STORED, Noted
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.properties import INNER_MULTI_DISPATCH
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.store.queue_folders import NoQueueError, why_no_queue

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig
    from fakemq.journal.journal import Journal
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.consumequeue import ConsumeQueues
    from fakemq.store.index import IndexService
    from fakemq.store.puts import AppendMessageResult
    from fakemq.store.record_scan import QueueRun, RecordRange
    from fakemq.store.results import LogRecord

INNER_MULTI_BYTES: Final = INNER_MULTI_DISPATCH.encode()
_TRANSACTION_MASK: Final = MessageSysFlag.TRANSACTION_MASK

NoQueue = Callable[[int, str], None]
"""Called with the offset of a record that no queue can have, and the reason, a clause."""


def _ignore(phy_offset: int, why: str) -> None:
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

    def dispatch(self, record: LogRecord, on_no_queue: NoQueue = _ignore) -> list[LogRecord]:
        """Bring a new record to its queues and the index, and write what happened to it.

        Return the record as it is in each queue that it names beside its own.
        ``on_no_queue`` is called for the first record of each topic and queue id that no store can
        have. A put never has one; a log that was written elsewhere may. The index reads the log by
        itself when it is asked: here it only learns which records to leave out. Raise StoreError if
        the queue cannot take the entry.
        """
        light: list[LogRecord] = []
        if self.add_to_queue(record, on_no_queue) and self._config.enable_multi_dispatch:
            light = self._add_to_light_queues(record)
        if not self._config.message_index_enable:
            self._index.pass_over(record.phy_offset, record.phy_offset + record.size_bytes)
        self.note(record)
        if light:
            self._note_light(light)
        return light

    def _note_light(self, light: list[LogRecord]) -> None:
        from fakemq.events.store import AlsoQueued  # most records name no queues
        from fakemq.journal.journal import shortened

        places = tuple((shortened(one.topic), one.queue_id, one.queue_offset) for one in light)
        event = AlsoQueued(node=self._node, phy_offset=light[0].phy_offset, places=places)
        self._journal.add(event)

    def _add_to_light_queues(self, record: LogRecord) -> list[LogRecord]:
        """Add a record that was put to the queues that it names; return it as it is in each.

        Names that no queue can have are passed over.
        Source: store/ConsumeQueue.java#multiDispatchLmqQueue (4.9.7)
        """
        if INNER_MULTI_BYTES not in record.properties:
            return []
        from fakemq.store.light_queues import LightRule  # most stores have none

        found = []
        rule = LightRule.of(self._config)
        for entry in rule.entries(record.decoded_properties, record.topic, record.queue_id):
            topic, queue_id, queue_offset = entry
            if not why_no_queue(topic, queue_id):
                light = msgspec.structs.replace(
                    record, topic=topic, queue_id=queue_id, queue_offset=queue_offset
                )
                self.add_to_queue(light, light=True)
                found.append(light)
        return found

    def note(self, record: LogRecord) -> None:
        """Write `Dispatched` of a record that is in its queue."""
        self._journal.note(
            (
                DISPATCHED,
                self._node,
                record.topic,
                record.queue_id,
                record.queue_offset,
                record.phy_offset,
            )
        )

    def dispatch_put(self, put: AppendMessageResult) -> bool:
        """Bring the records of a put to their queue in one write; write what happened to each.

        Return False, with nothing done, if the queue does not take them so: they are the first of a
        queue or of a file, they have no queue, the index leaves them out, or the disk refuses.
        """
        topic, queue_id = put.topic, put.queue_id
        queue = self._queues.find(topic, queue_id)
        if (
            queue is None
            or put.sys_flag & _TRANSACTION_MASK in UNQUEUED
            or not self._config.message_index_enable
            or self._config.enable_multi_dispatch
        ):
            return False
        first, units = put.logics_offset, put.units
        begin, stored_ms = put.wrote_offset, put.store_timestamp_ms
        try:
            added = queue.append_next(first, units, begin, begin + put.wrote_bytes, stored_ms)
        except StoreError:
            return False
        if added:
            drafts = put.drafts
            # Most puts have one record.
            names = (drafts[0][-1],) if len(drafts) == 1 else tuple([draft[-1] for draft in drafts])
            self._journal.note_stored(
                (STORED, self._node, topic, queue_id, first, units, names), 2 * len(names)
            )
        return added

    def dispatch_range(
        self,
        records: RecordRange,
        phy_offset: int,
        log: CommitLog,
        on_no_queue: NoQueue = _ignore,
    ) -> int:
        """Bring records of ``log`` to their queues, as `dispatch` does each; return how many.

        The first of them is at ``phy_offset``.
        If a queue cannot take its entries, `Dispatched` is written of none. A second call then adds
        those that are missing.
        """
        node, events = self._node, list[Noted]()
        for run in records.runs:
            self.add_run(run, log, on_no_queue)
            if run.light:
                continue
            topic, queue_id = run.topic, run.queue_id
            events += [
                (DISPATCHED, node, topic, queue_id, queue_offset, at)
                for queue_offset, (at, _, _) in enumerate(UNIT.iter_unpack(run.units), run.first)
            ]
        if len(records.runs) > 1:
            events.sort(key=itemgetter(-1))
        if not self._config.message_index_enable:
            self._index.pass_over(phy_offset, phy_offset + records.at - records.begin)
        self._journal.note_all(events)
        return len(events)

    def add_to_queue(
        self, record: LogRecord, on_no_queue: NoQueue = _ignore, *, light: bool = False
    ) -> bool:
        """Add a record to its queue, if it has one, and return whether it has.

        ``on_no_queue``: as in `dispatch`; ``light``: as in `ConsumeQueue.append`.

        Source: store/DefaultMessageStore.java#CommitLogDispatcherBuildConsumeQueue (4.9.7)
        """
        if record.sys_flag & _TRANSACTION_MASK in UNQUEUED:
            return False
        try:
            self._queues.find_or_make(record.topic, record.queue_id).append(
                record.phy_offset,
                record.size_bytes,
                record.tags_code,
                record.queue_offset,
                record.store_timestamp_ms,
                light=light,
            )
        except NoQueueError as error:
            place = record.topic, record.queue_id
            self._has_no_queue(place, record.phy_offset, str(error), on_no_queue)
            return False
        return True

    def add_run(self, run: QueueRun, log: CommitLog, on_no_queue: NoQueue = _ignore) -> int:
        """Add records of ``log`` to their queue; return how many of them have one.

        ``on_no_queue``: as in `dispatch`.
        """
        if not run.queued:
            return 0
        units, first = run.units, run.first
        while units:
            try:
                queue = self._queues.find_or_make(run.topic, run.queue_id)
                queue.append_units(first, units, run.stored_ms, log, light=run.light)
                break
            except NoQueueError as error:
                if run.light:  # a producer may name anything
                    return 0
                place = run.topic, run.queue_id
                self._has_no_queue(place, UNIT.unpack_from(units)[0], str(error), on_no_queue)
                # It may begin with the record of offset 0, if there is one.
                units = units[-first * UNIT.size :] if first < 0 else bytearray()
                first = 0
        return len(units) // UNIT.size

    def _has_no_queue(
        self, place: tuple[str, int], phy_offset: int, why: str, on_no_queue: NoQueue
    ) -> None:
        # One line for each queue: a log may have a million records for it.
        if place not in self._without_queue:
            self._without_queue.add(place)
            on_no_queue(phy_offset, why)
