"""A slave's way into the store: bytes of its master's log, and what the records in them bring.

Source: store/DefaultMessageStore.java#appendToCommitLog, #ReputMessageService (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.events.core import Warned
from fakemq.protocol.layout.codecs import RECORD_HEAD
from fakemq.protocol.message import BLANK_MAGIC_CODE
from fakemq.store.record_scan import End, look

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.journal.journal import Journal
    from fakemq.store.records import LogRecord
    from fakemq.store.store import MessageStore


class Replica:
    """A store that follows another one's log, from here on until `close`.

    Bytes come cut anywhere; a record is dispatched once the last of them is there. ``appended`` is
    called whenever the log has grown.
    """

    def __init__(
        self,
        store: MessageStore,
        clock: NodeClock,
        journal: Journal,
        node: str,
        appended: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._journal = journal
        self._node = node
        self._appended = appended
        self._log, self._queues = store.log, store.queues
        self._dispatch = store.dispatch
        self._dispatched_to = self._log.max_offset
        self._stuck_at = -1
        self._log.records_end = self._log.max_offset

    def append(self, phy_offset: int, data: bytes) -> None:
        """Append bytes that begin at ``phy_offset``; raise StoreError if they do not fit there."""
        store, log, now_ms = self._store, self._log, self._clock.now_ms()
        if store.files.broken:
            store.disk_space.try_again()
        if not store.files.has_room(len(data)):
            raise StoreError(f"no room for {len(data)} bytes: {store.files.full_reason()}")
        empty = not log.max_offset
        log.append_data(phy_offset, data, now_ms)
        if phy_offset % log.file_size_bytes == 0:
            store.retention.plan()  # the file before may be deleted some day
        else:
            store.disk_space.look(now_ms)  # the result is not used: Java's slave always appends
        if empty:
            self._dispatched_to = log.records_end = phy_offset
        if store.disk is not None:
            store.disk.flush.grown()
        self._appended()

    def dispatch(self) -> None:
        """Dispatch every record that has arrived completely."""
        log = self._log
        at, end_offset = max(self._dispatched_to, log.min_offset), log.max_offset
        while at < end_offset and (found := log.find_file(at)) is not None:
            file, first = found
            start, written = at - first, file.position
            if written - start < RECORD_HEAD.size:
                break
            size_bytes, magic = RECORD_HEAD.unpack_from(file.view, start)
            if magic == BLANK_MAGIC_CODE and start + size_bytes == file.size_bytes:
                at = log.next_file_offset(at)
                continue
            if magic == BLANK_MAGIC_CODE:
                self._is_stuck(at, f"a file's end, where files have {file.size_bytes} bytes")
                break
            if written - start < size_bytes <= file.size_bytes - start:
                break  # the rest of the record has not arrived
            levels = self._store.delay_levels
            record = look(file.view, start, written, levels, first_offset=first, check_crc=False)
            if isinstance(record, End):
                self._is_stuck(at, record.why)
                break
            try:
                self._add(record)
            except StoreError as error:
                # The record is in the log, and a later try, or the next start, brings it to its
                # queue. Until then each append fails with this reason.
                self._store.disk_space.failed(error, self.dispatch)
                break
            at += record.size_bytes
            log.records_end = at
        self._dispatched_to = at

    def close(self) -> None:
        """Stop following the master. In a store in memory, remove an incomplete last record.

        A store on disk removes it at its next start; a store in memory is never recovered.
        """
        log = self._log
        if log.records_end is None or self._store.files.durable or log is not self._store.log:
            return
        end, log.records_end = log.whole_end, None
        if end < log.max_offset:
            log.truncate(end)

    def _add(self, record: LogRecord) -> None:
        """Dispatch a record, and count it.

        A slave is not notified that a topic was deleted. When the topic is made again, the slave's
        queues keep the old entries, get the first new one behind them, and then none until the
        master's queue is longer than theirs. Java's slave does the same.
        """
        topic, queue_id = record.topic, record.queue_id
        self._dispatch.dispatch(record, self._without_queue)
        queue = self._queues.find(topic, queue_id)
        if queue is not None:  # if this slave becomes a master, it continues there
            self._log.topic_queue_table[topic, queue_id] = queue.max_offset
        if self._store.disk is not None:
            self._store.disk.flush.appended(record.store_timestamp_ms)
        self._store.stats.put(1, record.size_bytes)

    def _is_stuck(self, at: int, why: str) -> None:
        """Warn once of a bad record at an offset. Java's slave also tries to read it for ever."""
        if at != self._stuck_at:
            self._stuck_at = at
            text = f"nothing behind offset {at} of the log can be read: {why}"
            self._journal.add(Warned(node=self._node, text=text))

    def _without_queue(self, record: LogRecord, why: str) -> None:
        found = self._log.find_file(record.phy_offset)
        if found is not None:
            file, first = found
            at = record.phy_offset - first
            text = f"{file.path} at {at}: passed over: {why}"
            self._journal.peer_warnings.warn(self._node, "records without a queue", text)
