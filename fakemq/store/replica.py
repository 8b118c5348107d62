"""A slave's way into the store: bytes of its master's log, and what the records in them bring.

Source: store/DefaultMessageStore.java#appendToCommitLog, #ReputMessageService (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.events.core import Warned
from fakemq.protocol.layout.codecs import RECORD_HEAD
from fakemq.store.light_queues import LightRule
from fakemq.store.record_scan import ARRIVING, read_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.journal.journal import Journal
    from fakemq.store.record_scan import RecordRange
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
        end_offset, log = self._end_offset(), self._log
        at = max(self._dispatched_to, log.min_offset)
        while at < end_offset and (found := log.find_file(at)) is not None:
            file, first = found
            records = read_range(
                file.view,
                at - first,
                min(file.position, end_offset - first),
                self._store.delay_levels,
                first_offset=first,
                check_crc=False,
                file_bytes=file.size_bytes,
                light=LightRule.of(self._store.config),
            )
            if records.runs:
                try:
                    self._add(records, at)
                except StoreError as error:
                    # The records are in the log, and a later try, or the next start, brings them to
                    # their queues. Until then each append fails with this reason.
                    self._store.disk_space.failed(error, self.dispatch)
                    break
                at = log.records_end = first + records.at
            stop = records.stop
            if stop is ARRIVING:
                break
            if stop is not None and not stop.blank:
                self._is_stuck(at, stop.why)
                break
            if stop is not None:
                size_bytes, _ = RECORD_HEAD.unpack_from(file.view, at - first)
                if at - first + size_bytes != file.size_bytes:
                    self._is_stuck(at, f"a file's end, where files have {file.size_bytes} bytes")
                    break
                at = log.next_file_offset(at)
        self._dispatched_to = at

    def _end_offset(self) -> int:
        """Return up to where records are dispatched."""
        return self._log.max_offset

    def close(self) -> None:
        """Stop following the master. In a store in memory, remove an incomplete last record.

        A store on disk removes it at its next start; a store in memory is never recovered.
        """
        if not self._store.files.durable and self._log is self._store.log:
            self._store.end_following()

    def _add(self, records: RecordRange, phy_offset: int) -> None:
        """Dispatch records, the first of which is at an offset, and count them.

        A slave is not notified that a topic was deleted. When the topic is made again, the slave's
        queues keep the old entries, get the first new one behind them, and then none until the
        master's queue is longer than theirs. Java's slave does the same.
        """
        count = self._dispatch.dispatch_range(records, phy_offset, self._log, self._without_queue)
        for run in records.runs:
            queue = self._queues.find(run.topic, run.queue_id)
            if queue is not None:  # if this slave becomes a master, it continues there
                self._log.set_next_offset(run.topic, run.queue_id, queue.max_offset)
            if run.light and queue is not None:
                self._store.on_light(run.topic)
        if self._store.disk is not None:
            flush = self._store.disk.flush
            flush.appended(records.oldest_ms)  # a clock that went back counts, wherever in between
            flush.appended(records.newest_ms)
        self._store.stats.put(count, records.at - records.begin)

    def _is_stuck(self, at: int, why: str) -> None:
        """Warn once of a bad record at an offset. Java's slave also tries to read it for ever."""
        if at != self._stuck_at:
            self._stuck_at = at
            text = f"nothing behind offset {at} of the log can be read: {why}"
            self._journal.add(Warned(node=self._node, text=text))

    def _without_queue(self, phy_offset: int, why: str) -> None:
        found = self._log.find_file(phy_offset)
        if found is not None:
            file, first = found
            text = f"{file.path} at {phy_offset - first}: passed over: {why}"
            self._journal.peer_warnings.warn(self._node, "records without a queue", text)
