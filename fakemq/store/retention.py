"""Deletes the files of a store that are old, or for which its disk has become too small.

Java looks every 10 s whether there is something to delete. Here one timer is set, for the next tick
of that grid at which a file can be deleted. Java also keeps files that are still read for a while;
this is not needed here, because a slice of a file stays valid after the file is deleted.

Source: store/DefaultMessageStore.java#CleanCommitLogService, #CleanConsumeQueueService (4.9.7)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.clock.calendar import hour_of_day, next_hour_ms
from fakemq.clock.timers import next_tick_ms
from fakemq.errors import StoreError
from fakemq.events.core import FilesExpired, Warned
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.store.disk_space import CLEAN_FORCIBLY_RATIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.journal.journal import Journal
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.consumequeue import ConsumeQueues
    from fakemq.store.disk_space import DiskSpace
    from fakemq.store.index import IndexService

MAX_MANUAL_DELETE_FILE_TIMES = 20
DELETE_FILES_BATCH_MAX = 10
FIRST_CLEAN_MS = 60_000
_HOUR_MS = 3_600_000
_HOURS_AHEAD = 26
"""A day, and the hours that a change to summer time may add."""


class Retention:
    """Deletes files of one store by their age and by how full the disk is.

    Made with the store; `start` is called when its broker starts.
    """

    def __init__(
        self, config: BrokerConfig, space: DiskSpace, clock: NodeClock, journal: Journal, node: str
    ) -> None:
        self._config = config
        self._space = space
        self._clock = clock
        self._journal = journal
        self._node = node
        self._running = False  # whether a broker has started; without one nothing is deleted
        self._started_ms = 0  # elapsed time
        self._manual_times = 0  # looks left at which old files are deleted at any hour
        self._timer: Timer | None = None  # for the next tick, or the next file of a batch
        self._deleting = False  # in the middle of a batch, which plans again when it ends
        self.on_deleted: Callable[[], None] = _nothing
        """Called when files of the log were deleted."""
        space.on_change = self.plan
        clock.on_jump.append(self._jumped)

    def over(self, log: CommitLog, queues: ConsumeQueues, index: IndexService) -> None:
        """Delete files of these from now on."""
        self._log, self._queues, self._index = log, queues, index
        self._space.forget()
        self._cancel()

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the grid of looks and the grid of deletions."""
        self._running = True
        self._started_ms = self._clock.elapsed_ms()
        self._manual_times = 0
        self._cancel()
        self._space.start(self._started_ms)
        self.plan()

    def reset(self) -> None:
        """Begin as after a start, with the real size of the disk."""
        self._space.reset()
        if self._running:
            self.start()

    def _cancel(self) -> None:
        """Cancel a batch of deletions: its files no longer belong to the store."""
        self._clock.cancel(self._timer)
        self._timer = None
        self._deleting = False

    def _jumped(self) -> None:
        # The hours of deleteWhen are hours of the wall clock, which has jumped.
        if self._timer is not None and self._timer.pending:
            self.plan()

    # -- when ---------------------------------------------------------------------------------

    def execute_delete_files_manually(self) -> None:
        """Delete old files at the next twenty looks, at any hour.

        Source: DefaultMessageStore.java#executeDeleteFilesManually (4.9.7)
        """
        self._manual_times = MAX_MANUAL_DELETE_FILE_TIMES
        self.plan()

    def plan(self) -> None:
        """Set a timer for the next tick at which a file can be deleted, by the present state."""
        if not self._running or self._deleting:
            return
        self._clock.cancel(self._timer)
        self._timer = None
        self._space.set_mark()
        tick_ms = self._next_tick_ms()
        if tick_ms is not None:
            wait_ms = tick_ms - self._clock.elapsed_ms()
            self._timer = self._clock.call_later(wait_ms, self._clean, kind="clean_files")

    def _next_tick_ms(self) -> int | None:
        """Return the elapsed time of that tick; None if no file can be deleted until a change."""
        config = self._config
        first_ms = self._tick_from(self._clock.elapsed_ms() + 1)
        # 1. An operator has asked: each look counts down, whether or not there is a file to delete.
        if self._manual_times:
            return first_ms
        # 2. The last file of the log is never deleted.
        expires_at_ms = self._expires_at_ms()
        if expires_at_ms is None:
            return None
        ratio = self._space.rounded_ratio()
        # 3. The disk is nearly full: a file need not be old.
        if ratio > CLEAN_FORCIBLY_RATIO and config.clean_file_forcibly_enable:
            return first_ms
        # 4. A file must be old. Ages and hours are of the wall clock, ticks are of elapsed time.
        behind_ms = self._clock.elapsed_ms() - self._clock.now_ms()
        at_ms = max(first_ms - behind_ms, expires_at_ms)
        # 5. With room on the disk, it must also be an hour of deleteWhen.
        if ratio <= config.disk_max_used_space_ratio / 100:
            hour_ms = self._hour_from(at_ms)
            if hour_ms is None:
                return None
            at_ms = hour_ms
        return self._tick_from(at_ms + behind_ms)

    def _tick_from(self, elapsed_ms: int) -> int:
        period_ms = max(1, self._config.clean_resource_interval)
        return next_tick_ms(elapsed_ms, self._started_ms, FIRST_CLEAN_MS, period_ms)

    def _expires_at_ms(self) -> int | None:
        """Return when the oldest file of the log expires; None if it is also the last one."""
        file = self._log.oldest_but_last
        if file is None:
            return None
        return file.mtime_ms + self._config.file_reserved_time * _HOUR_MS

    def _hour_from(self, at_ms: int) -> int | None:
        """Return the first time from ``at_ms`` on in an hour of deleteWhen; None if none is."""
        for _ in range(_HOURS_AHEAD):
            if self._is_time_to_delete(at_ms):
                return at_ms
            at_ms = next_hour_ms(at_ms)
        return None

    def _is_time_to_delete(self, at_ms: int) -> bool:
        """Source: common/UtilAll.java#isItTimeToDo (4.9.7)"""
        try:
            hours = [int(hour) for hour in self._config.delete_when.split(";")]
        except ValueError:  # each look of Java fails with it
            return False
        return hour_of_day(at_ms) in hours

    # -- deleting -----------------------------------------------------------------------------

    def _clean(self) -> None:
        """Source: DefaultMessageStore.java#deleteExpiredFiles (4.9.7)"""
        self._timer = None
        config = self._config
        is_time = self._is_time_to_delete(self._clock.now_ms())
        ratio = self._space.judge()
        is_full = ratio > config.disk_max_used_space_ratio / 100
        manual = self._manual_times > 0
        if is_time or is_full or manual:
            self._manual_times -= manual
            at_once = config.clean_file_forcibly_enable and ratio > CLEAN_FORCIBLY_RATIO
            self._deleting = True
            self._delete(0, at_once)
        else:
            self.plan()

    def _delete(self, count: int, at_once: bool) -> None:
        """Delete the oldest file, and the next ones after an interval each.

        ``count`` files of the batch are deleted already.

        Source: store/MappedFileQueue.java#deleteExpiredFileByTime (4.9.7)
        """
        self._timer = None
        interval_ms = self._config.delete_commit_log_files_interval
        while count < DELETE_FILES_BATCH_MAX:
            expires_at_ms = self._expires_at_ms()
            if expires_at_ms is None or not (at_once or self._clock.now_ms() >= expires_at_ms):
                break
            # The next file is behind this one, and a log has no holes: it has to stay, too.
            if not self._deleted(self._delete_oldest):
                break
            count += 1
            if interval_ms > 0 and count < DELETE_FILES_BATCH_MAX:
                next_one = partial(self._delete, count, at_once)
                self._timer = self._clock.call_later(interval_ms, next_one, kind="delete_files")
                return
        self._deleting = False
        if count:
            self._deleted(partial(self._log_has_shrunk, count))
        self.plan()

    def _delete_oldest(self) -> None:
        self._log.delete_before(self._log.next_file_offset(self._log.min_offset))

    def _deleted(self, delete: Callable[[], None]) -> bool:
        """Call ``delete``; write a warning and return False if the disk refuses."""
        try:
            delete()
        except StoreError as error:
            text = f"{error}: it stays until a later look can delete it"
            self._journal.add(Warned(node=self._node, text=text))
            return False
        return True

    def delete_before(self, phy_offset: int) -> int:
        """Delete log files wholly before an offset, but never the last; return how many.

        Files of queues and index that have only their records are deleted too.
        """
        count = self._log.delete_before(phy_offset)
        if count:
            self._log_has_shrunk(count)
        return count

    def _log_has_shrunk(self, count: int) -> None:
        """Delete the files of queues and index whose records are no longer in the log.

        Source: DefaultMessageStore.java#CleanConsumeQueueService.deleteExpiredFiles (4.9.7),
        without its pauses of deleteConsumeQueueFilesInterval
        """
        self._space.refused_bytes = 0
        self.on_deleted()
        min_phy_offset = self._log.min_offset
        self._journal.add(
            FilesExpired(node=self._node, log_files=count, min_phy_offset=min_phy_offset)
        )
        for queue in self._queues:
            queue.delete_expired_files(min_phy_offset)
        self._index.delete_expired_files(min_phy_offset)

    def clean_expired_consume_queues(self) -> None:
        """Delete the queues whose records are all deleted, except those of the schedule topic.

        Source: DefaultMessageStore.java#cleanExpiredConsumerQueue (4.9.7)
        """
        min_phy_offset = self._log.min_offset
        # The progress of a delay level is an offset of its queue, which must not begin again.
        for queue in self._queues:
            if queue.topic != SCHEDULE_TOPIC and 0 <= queue.max_physic_offset < min_phy_offset:
                self._log.forget_queue(queue.topic, queue.queue_id)
                self._queues.delete_one(queue.topic, queue.queue_id)
        self.delete_files_of_queues()

    def delete_files_of_queues(self) -> None:
        """Delete the files of deleted queues in slices: there may be 30,000."""
        if not self._clock.unfinished(self):
            self._clock.carry_out(self.deletion_of_files(), peer=self)

    def deletion_of_files(self) -> Steps[None]:
        """Delete the files of deleted queues, in steps."""
        while self._queues.has_files_to_delete:
            self._deleted(self._queues.delete_files_of_one)
            yield


def _nothing() -> None:
    """Default of `Retention.on_deleted`."""
