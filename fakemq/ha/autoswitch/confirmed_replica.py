"""From the log of a store under a controller to its queues, up to the confirm offset.

Source: store/DefaultMessageStore.java#ReputMessageService (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.message import record_properties_bytes, record_store_timestamp_ms
from fakemq.store.puts import put_ended
from fakemq.store.replica import Replica
from fakemq.store.results import LogRecord, PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.journal.journal import Journal
    from fakemq.store.record_scan import QueueRun, RecordRange
    from fakemq.store.store import MessageStore


class ConfirmedReplica(Replica):
    """Dispatches what is confirmed: on a slave its master's records, on a master its own.

    Records before ``dispatched_to`` are in their queues; None if all of them are.
    """

    def __init__(
        self,
        store: MessageStore,
        clock: NodeClock,
        journal: Journal,
        node: str,
        appended: Callable[[], None],
        confirmed_to: Callable[[], int],
        dispatched_to: int | None,
    ) -> None:
        super().__init__(store, clock, journal, node, appended)
        self._confirmed_to = confirmed_to
        if dispatched_to is not None:
            self._dispatched_to = dispatched_to
        self._leads = False
        """Whether its broker is the master, whose puts say how the queues continue."""
        self.is_behind = False
        """Whether records of this master's log wait for their confirmation."""
        self._limit: int | None = None
        """Up to where records count, if not up to the confirm offset."""
        self.note_end()

    @property
    def dispatched_to(self) -> int:
        """Up to where records are in their queues; reputFromOffset in Java."""
        return self._dispatched_to

    def passed_over(self, end_offset: int) -> None:
        """Take the end of a put whose records are in their queue already."""
        self._dispatched_to = end_offset

    def go_back(self, phy_offset: int) -> None:
        """Take the new end of a log that was cut."""
        self._dispatched_to = min(self._dispatched_to, phy_offset)
        if self._log.records_end is not None:
            self._log.records_end = min(self._log.records_end, phy_offset)

    def lead(self) -> None:
        """Become the log of a master: all of it counts, and its queues continue behind it."""
        self._leads, self._limit = False, LONG_MAX
        self.dispatch()
        self._leads, self._limit = True, None
        self.note_end()

    def follow(self) -> None:
        """Become the log of a slave."""
        self._leads = self.is_behind = False
        self._log.records_end = self._dispatched_to

    def dispatch(self) -> None:
        """Dispatch every record that is confirmed."""
        super().dispatch()
        if self._leads:
            self.note_end()

    def note_end(self) -> None:
        """Take whether records wait for their confirmation, after the log has grown."""
        self.is_behind = self._dispatched_to < self._log.max_offset
        # The index reads up to there.
        self._log.records_end = self._dispatched_to if self.is_behind else None

    def _end_offset(self) -> int:
        limit = self._confirmed_to() if self._limit is None else self._limit
        return min(limit, self._log.max_offset)

    def _add(self, records: RecordRange, phy_offset: int) -> None:
        if not self._leads:
            super()._add(records, phy_offset)
            return
        # A master continues its queues behind the last put, not behind the last that is confirmed.
        self._dispatch.dispatch_range(records, phy_offset, self._log, self._without_queue)
        for run in records.runs:
            if run.queued:
                self._store.on_late(put_ended(PutMessageStatus.PUT_OK, reached=self._records(run)))

    def _records(self, run: QueueRun) -> list[LogRecord]:
        """Return the records of a run, to wake the pulls that wait for them."""
        found = []
        for offset, (at, size_bytes, code) in enumerate(UNIT.iter_unpack(run.units), run.first):
            data = self._log.read(at, size_bytes)
            stored_ms, properties = (
                (-1, b"")
                if data is None
                else (record_store_timestamp_ms(data), record_properties_bytes(data))
            )
            place = run.topic, run.queue_id, offset, at, size_bytes
            found.append(LogRecord(*place, 0, code, stored_ms, properties))
        return found
