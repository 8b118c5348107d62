"""When written bytes are flushed to the disk, and which sends wait for it.

Java's flush services wake all the time. Here each of their loops has a timer on the same grid, and
only while there is something to flush.

Source: store/CommitLog.java#FlushRealTimeService, #GroupCommitService,
store/DefaultMessageStore.java#FlushConsumeQueueService (4.9.7)
"""

# Over 400 lines: log, queues and index are flushed apart, and share a checkpoint and faults.

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.directory_file import PAGE_BYTES
from fakemq.store.disk_space import RETRY_MS
from fakemq.store.queue_folders import EXTENSION_FOLDER
from fakemq.store.queue_folders import FOLDER as QUEUES

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.store.checkpoint import StoreCheckpoint
    from fakemq.store.files import File, Files
    from fakemq.store.flush_faults import FlushFaults
    from fakemq.store.index import IndexFile, IndexService

INDEX_STEP_RECORDS = 100
INDEX_STEP_MS = 5
QUEUE_STEP_FILES = 10
"""How many queue files are flushed before others have their turn: each may wait for the disk."""
QUEUE_STEP_MS = 1
MOST_TURNS = 16
"""How often a flush for sends waits for others, as long as each turn brings some."""
Soon = Callable[[Callable[[], None]], None]
"""Calls a function on the next turn, after others have had theirs."""


class Flush:
    """The flushes of one store, from `start` on until its node's timers are cancelled.

    While ``stalled`` is True no flush happens, as with a disk that does not respond.
    """

    def __init__(
        self,
        config: BrokerConfig,
        files: Files,
        clock: NodeClock,
        checkpoint: StoreCheckpoint,
        index: IndexService,
        soon: Soon,
        failed: Callable[[StoreError, Callable[[], object]], None],
        faults: FlushFaults,
    ) -> None:
        self._config = config
        self._files = files
        self._clock = clock
        self._checkpoint = checkpoint
        self._index = index
        self._soon = soon
        self._failed = failed
        self._faults = faults
        self._stalled = False
        self._ended = False
        self._committing = False  # a `_commit` is about to be called
        self._asked = False  # a `_flush_untimed` is about to be called
        self._joined = self._turns = 0  # how many sends it was for, and how often it has waited
        self._waiting: list[_Wait] = []  # sends that wait for the next flush of the log
        self._appended_ms = checkpoint.newest_ms  # store time of the last record
        self._index_timer: Timer | None = None
        self._round: _QueueRound | None = None  # the flush of the queues that is unfinished
        self._again = {folder: partial(self._flush_all, folder) for folder in (LOG, QUEUES)}
        self._loops = {
            LOG: _Loop(
                clock,
                "flush_commit_log",
                self._log_periods,
                self._flush_log,
                lambda: files.dirty(LOG),
            ),
            QUEUES: _Loop(
                clock,
                "flush_consume_queue",
                self._queue_periods,
                self._flush_queues,
                lambda: files.dirty(QUEUES, EXTENSION_FOLDER) or not checkpoint.written,
            ),
        }
        index.on_full = self._index_file_is_full

    # -- calls of the store ------------------------------------------------------------------

    def appended(self, stored_ms: int) -> None:
        """Plan flushes after a put of a record with this store time."""
        if stored_ms < self._appended_ms:
            try:
                self._checkpoint.go_back(stored_ms, self._clock.now_ms())
            except StoreError as error:
                self._failed(error, self._write_checkpoint)
            if self._round is not None:
                self._round.until_ms = min(self._round.until_ms, stored_ms)
        self._appended_ms = stored_ms
        self.grown()

    def grown(self) -> None:
        """Plan flushes after bytes were appended to the log, and perhaps entries to the queues."""
        if self._config.flush_disk_type == "SYNC_FLUSH":
            self._commit_soon()
        else:
            self._loops[LOG].arm()
            if not (self._config.flush_commit_log_timed or self._asked):
                self._asked = True
                self._soon(self._flush_untimed)
        self._loops[QUEUES].arm()

    def recovered(self) -> None:
        """Plan a flush of the queues after recovery has added entries to them."""
        self._loops[QUEUES].arm()

    def when_flushed(self, done: Callable[[bool], None]) -> None:
        """Call ``done`` once the log is flushed to its end: with False on time-out.

        Source: store/CommitLog.java#GroupCommitRequest (4.9.7)
        """
        self._waiting.append(_Wait(done))
        self._commit_soon()

    @property
    def stalled(self) -> bool:
        return self._stalled

    @stalled.setter
    def stalled(self, stalled: bool) -> None:
        self._stalled = stalled
        if not stalled:
            self._commit_soon()
            for loop in self._loops.values():
                loop.arm()

    def log(self) -> None:
        """Flush the log, before progress that depends on it; raise StoreError if the disk refuses.

        For example: the record of a delivered message must outlive a power failure if the note that
        it is delivered does.
        """
        self._flush_all(LOG)

    def everything(self) -> None:
        """Flush index, log, queues and checkpoint, in Java's order.

        Raise StoreError if the disk refuses.
        Source: store/DefaultMessageStore.java#shutdown (4.9.7)
        """
        if self._config.message_index_enable:
            self._index.catch_up()
        for index_file in self._index.files:
            index_file.flush()
        self._flush_all(LOG)
        self._flush_all(QUEUES)
        self._checkpoint.physic_ms = self._checkpoint.logics_ms = self._appended_ms
        self._checkpoint.flush(self._clock.now_ms())

    def end(self, *, flushed: bool = True, killed: bool = False) -> None:
        """Stop all timers and answer waiting sends with ``flushed``; after a kill answer none."""
        self._ended = True
        if killed:
            self._waiting = []
        self._answer(flushed)
        for loop in self._loops.values():
            loop.disarm()
        self._clock.cancel(self._index_timer)
        self._end_round()
        # Break reference cycles: they would keep files open until the next garbage collection.
        self._loops.clear()
        self._again.clear()
        self._index.on_full = _nothing

    # -- group commit -------------------------------------------------------------------------

    def _commit_soon(self) -> None:
        if not self._committing:
            self._committing = True
            self._soon(self._commit)

    def _commit(self) -> None:
        """Flush once for all sends that wait now, and for those that are about to join them.

        A flush takes as long as hundreds of sends, and clients that were answered together send
        together: the first of them should not have a flush of its own.
        """
        joined = len(self._waiting)
        if joined > self._joined and self._turns < MOST_TURNS and not self._ended:
            self._joined = joined
            self._turns += 1
            self._soon(self._commit)
            return
        self._committing = False
        self._joined = self._turns = 0
        if self._ended:
            return
        if self._faults.slow:
            self._slow_down()
        if self._stalled:
            # Those without a timer came last: a look at all would cost each send more.
            new = [*takewhile(lambda wait: wait.timer is None, reversed(self._waiting))]
            for wait in reversed(new):
                wait.timer = self._clock.call_later(
                    self._config.sync_flush_timeout,
                    partial(self._time_out, wait),
                    kind="sync_flush_timeout",
                )
            return
        self._commit_now()

    def _slow_down(self) -> None:
        """Stall the disk for the time of a fault, if there is one and the disk is not stalled."""
        if not self._stalled and (ms := self._faults.slow_ms()):
            self._stalled = True
            self._clock.call_later(ms, self._end_slow_flush, kind="slow_flush")

    def _end_slow_flush(self) -> None:
        """Make the flush that was slow; the next one may be slow again."""
        self._stalled = False
        if not self._ended:
            self._commit_now()
            self._loops[QUEUES].arm()  # its flush writes the checkpoint

    def _commit_now(self) -> None:
        try:
            self._flush_all(LOG)
        except StoreError as error:
            self._failed(error, self._again[LOG])
            self._answer(False)
            return
        self._checkpoint.physic_ms = self._appended_ms
        self._answer(True)

    def _answer(self, flushed: bool) -> None:
        waiting, self._waiting = self._waiting, []
        moments = self._clock.cluster
        moments.hold_moment()  # so that answers to one client leave together
        try:
            for wait in waiting:
                self._clock.cancel(wait.timer)
                wait.done(flushed)
        finally:
            moments.release_moment()

    def _time_out(self, wait: _Wait) -> None:
        if wait in self._waiting:
            self._waiting.remove(wait)
            wait.done(False)

    # -- loops --------------------------------------------------------------------------------

    def _log_periods(self) -> tuple[int, int]:
        config = self._config
        return config.flush_interval_commit_log, config.flush_commit_log_thorough_interval

    def _flush_untimed(self) -> None:
        """Flush the log between two ticks, as each put asks with flushCommitLogTimed=false.

        Source: store/CommitLog.java#FlushRealTimeService (4.9.7)
        """
        self._asked = False
        if not self._ended:
            self._flush_log(thorough=False)

    def _flush_log(self, thorough: bool) -> None:
        if self._flush_log_files(thorough):
            # Only a thorough flush says that all records are on the disk.
            self._checkpoint.physic_ms = self._appended_ms
            self._loops[QUEUES].arm()  # its flush writes the checkpoint

    def _queue_periods(self) -> tuple[int, int]:
        config = self._config
        return config.flush_interval_consume_queue, config.flush_consume_queue_thorough_interval

    def _flush_queues(self, thorough: bool) -> None:
        """Flush queue files, some now and the others in later steps of this round.

        A tick that is not thorough leaves an unfinished thorough round alone.
        """
        if not self._stalled and (thorough or self._round is None or not self._round.thorough):
            self._end_round()
            files = list(self._files.dirty(QUEUES, EXTENSION_FOLDER))
            if not thorough:
                least_pages = self._config.flush_consume_queue_least_pages
                files = [file for file in files if _is_worth_it(file, least_pages)]
            self._round = _QueueRound(files, thorough, self._appended_ms)
            self._continue_round(self._round)
        if self._index_timer is None:
            self._build_index()

    def _continue_round(self, round_: _QueueRound) -> None:
        """Flush some queue files; after the last one of a thorough round write the checkpoint."""
        round_.timer = None
        if self._stalled:
            self._round = None
            return
        some = round_.files[:QUEUE_STEP_FILES]
        del round_.files[:QUEUE_STEP_FILES]
        try:
            for file in some:
                if self._files.is_dirty(file):  # it may have been deleted
                    self._flush(file)
        except StoreError as error:
            self._round = None
            self._failed(error, self._again[QUEUES])
            return
        if round_.files:
            round_.timer = self._clock.call_later(
                QUEUE_STEP_MS, partial(self._continue_round, round_), kind="flush_consume_queue"
            )
            return
        self._round = None
        # Other rounds pass over files with few pages, so they say nothing about all entries.
        if round_.thorough:
            self._checkpoint.logics_ms = round_.until_ms
            try:
                self._write_checkpoint()
            except StoreError as error:
                self._failed(error, self._write_checkpoint)

    def _end_round(self) -> None:
        if self._round is not None:
            self._clock.cancel(self._round.timer)
            self._round = None

    def _write_checkpoint(self) -> None:
        self._checkpoint.flush(self._clock.now_ms())

    def _flush_log_files(self, thorough: bool) -> bool:
        """Flush files with enough pages, or all; return whether all were."""
        if self._faults.slow:
            self._slow_down()
        if self._stalled:
            return False
        least_pages = self._config.flush_commit_log_least_pages
        try:
            for file in self._files.dirty(LOG):
                if thorough or _is_worth_it(file, least_pages):
                    self._flush(file)
        except StoreError as error:
            self._failed(error, self._again[LOG])
            return False
        return thorough

    def _flush_all(self, folder: str) -> None:
        folders = (QUEUES, EXTENSION_FOLDER) if folder == QUEUES else (folder,)
        for file in self._files.dirty(*folders):
            self._flush(file)

    def _flush(self, file: File) -> None:
        if not (self._faults.flush and self._faults.takes(file)):
            file.flush()

    # -- index --------------------------------------------------------------------------------

    def _build_index(self) -> None:
        """Index some records: in steps, because hashing keys takes as long as storing messages."""
        self._index_timer = None
        if self._config.message_index_enable and not self._index.catch_up(INDEX_STEP_RECORDS):
            step_ms = RETRY_MS if self._files.broken else INDEX_STEP_MS
            self._index_timer = self._clock.call_later(
                step_ms, self._build_index, kind="index_build"
            )

    def _index_file_is_full(self, file: IndexFile) -> None:
        """Source: store/index/IndexService.java#flush (4.9.7)"""
        file.flush()
        self._checkpoint.index_ms = file.end_timestamp_ms
        self._checkpoint.flush(self._clock.now_ms())


class _QueueRound:
    """A flush of the queues: the files that are left, and up to when their entries were stored."""

    __slots__ = ("files", "thorough", "timer", "until_ms")

    def __init__(self, files: list[File], thorough: bool, until_ms: int) -> None:
        self.files = files
        self.thorough = thorough
        self.until_ms = until_ms
        self.timer: Timer | None = None


class _Wait:
    """A send that waits for a flush of the log."""

    __slots__ = ("done", "timer")

    def __init__(self, done: Callable[[bool], None]) -> None:
        self.done = done
        self.timer: Timer | None = None


class _Loop:
    """One of Java's flush loops: a tick each interval, and a thorough tick less often.

    ``periods`` returns both intervals in milliseconds. ``behind`` returns whether unflushed bytes
    are left, and the next tick is needed.
    """

    def __init__(
        self,
        clock: NodeClock,
        kind: str,
        periods: Callable[[], tuple[int, int]],
        flush: Callable[[bool], None],
        behind: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._kind = kind
        self._periods = periods
        self._flush = flush
        self._behind = behind
        self._started_ms = clock.elapsed_ms()
        self._timer: Timer | None = None
        self._last = 0  # number of the tick before the timer was set

    def arm(self) -> None:
        """Set a timer for the next tick, unless there is one."""
        if self._timer is None:
            interval_ms = max(1, self._periods()[0])
            past_ms = self._clock.elapsed_ms() - self._started_ms
            self._last = past_ms // interval_ms
            self._timer = self._clock.call_later(
                (self._last + 1) * interval_ms - past_ms, self._tick, kind=self._kind
            )

    def disarm(self) -> None:
        self._clock.cancel(self._timer)
        self._timer = None

    def _tick(self) -> None:
        self._timer = None
        interval_ms, thorough_ms = self._periods()
        every = max(1, -(-thorough_ms // max(1, interval_ms)))
        tick = (self._clock.elapsed_ms() - self._started_ms) // max(1, interval_ms)
        # Tick 1 and each ``every``-th after it are thorough. The comparison also finds one that
        # passed while no timer was set.
        self._flush((tick - 1) // every > (self._last - 1) // every)
        if self._behind():
            self.arm()


def _nothing(_: IndexFile) -> None:
    pass


def _is_worth_it(file: File, least_pages: int) -> bool:
    """Source: store/MappedFile.java#isAbleToFlush (4.9.7)"""
    pages = file.position // PAGE_BYTES - file.flushed // PAGE_BYTES
    return pages >= least_pages or file.position == file.size_bytes
