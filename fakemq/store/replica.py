"""A slave's way into the store: bytes of its master's log, and what the records in them bring.

Source: store/DefaultMessageStore.java#appendToCommitLog, #ReputMessageService (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.events.core import Dispatched, Warned
from fakemq.protocol.layout.codecs import RECORD_HEAD
from fakemq.protocol.message import BLANK_MAGIC_CODE
from fakemq.store.record_scan import End, look
from fakemq.store.recovery import Recovery

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.journal.journal import Journal
    from fakemq.store.files import File
    from fakemq.store.record_scan import Seen
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
        self._log, self._queues, self._index = store.log, store.queues, store.index
        self._recovery = Recovery(
            store.config,
            store.log,
            store.queues,
            store.index,
            store.delay_levels,
            self._passed_over,
        )
        self._dispatched_to = self._log.max_offset
        self._stuck_at = -1
        self._log.records_end = self._log.max_offset

    def append(self, phy_offset: int, data: bytes) -> None:
        """Append bytes that begin at ``phy_offset``; StoreError if they have no place there."""
        store, log, now_ms = self._store, self._log, self._clock.now_ms()
        if not store.files.has_room(len(data)):
            raise StoreError(f"no room for {len(data)} bytes: {store.files.full_reason()}")
        empty = not log.max_offset
        log.append_data(phy_offset, data, now_ms)
        if phy_offset % log.file_size_bytes == 0:
            store.retention.plan()  # the file before may go some day
        else:
            store.retention.look(now_ms)  # but whatever it says, Java's slave appends
        if empty:
            self._dispatched_to = log.records_end = phy_offset
        if store.disk is not None:
            store.disk.flush.grown()
        self._appended()

    def dispatch(self) -> None:
        """Do for every record that is there as a whole what its being in the log brings about."""
        log = self._log
        at = max(self._dispatched_to, log.min_offset)
        while at < log.max_offset and (found := log.find_file(at)) is not None:
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
                break  # its rest is on its way
            seen = look(file.view, start, written, self._store.delay_levels, check_crc=False)
            if isinstance(seen, End):
                self._is_stuck(at, seen.why)
                break
            try:
                self._dispatch(seen, at, file)
            except StoreError as error:  # the record is there, and is found by the next start
                self._store.files.broken = str(error)  # of which the next append tells
                break
            at += seen.size_bytes
            log.records_end = at
        self._dispatched_to = at

    def close(self) -> None:
        """Follow no more; a store in memory loses what no start would recover: half a record.

        One on a disk is about to be closed, and keeps it.
        """
        log = self._log
        if log.records_end is None or self._store.files.durable or log is not self._store.log:
            return
        end, log.records_end = log.whole_end, None
        if end < log.max_offset:
            log.truncate(end)

    def _dispatch(self, seen: Seen, phy_offset: int, file: File) -> None:
        """Let queues and index know of a record, in ``file`` of the log.

        A slave is not told that a topic was deleted. Of one that is made again its queues keep the
        old entries, have the first new one behind them, and then none until the master's queue is
        longer than theirs: so it is in Java.
        """
        topic, queue_id = seen.topic, seen.queue_id
        self._recovery.dispatch(seen, phy_offset, file)
        queue = self._queues.find(topic, queue_id)
        if queue is not None:  # it goes on there should this be a master some day
            self._log.topic_queue_table[topic, queue_id] = queue.max_offset
        if not self._store.config.message_index_enable:
            self._index.pass_over(phy_offset, phy_offset + seen.size_bytes)
        if self._store.disk is not None:
            self._store.disk.flush.appended(seen.store_timestamp_ms)
        self._store.stats.put(1, seen.size_bytes)
        self._journal.add(
            Dispatched(
                node=self._node,
                topic=topic,
                queue_id=queue_id,
                queue_offset=seen.queue_offset,
                phy_offset=phy_offset,
            )
        )

    def _is_stuck(self, at: int, why: str) -> None:
        """Java's slave looks at the same place for ever, too."""
        if at != self._stuck_at:
            self._stuck_at = at
            text = f"nothing behind offset {at} of the log can be read: {why}"
            self._journal.add(Warned(node=self._node, text=text))

    def _passed_over(self, path: str, offset: int, cut_bytes: int, why: str) -> None:
        self._journal.add(Warned(node=self._node, text=f"{path} at {offset}: {why}"))
