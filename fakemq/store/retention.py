"""What is deleted from a store when it is old or its disk is full, and when puts are refused.

Java looks every 10 s whether there is something to do; here a look is made where somebody could
see its outcome: by a put after a tick of that grid, and at the next tick at which a file goes.
What Java does about files that are still being read is not needed: a slice that somebody holds
outlives its file.

Source: store/DefaultMessageStore.java#CleanCommitLogService, #CleanConsumeQueueService (4.9.7)
"""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from fakemq.clock.calendar import hour_of_day, next_hour_ms
from fakemq.clock.timers import next_tick_ms
from fakemq.errors import StoreError
from fakemq.events.core import FilesExpired, Warned
from fakemq.protocol.topics import SCHEDULE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.faults.plan import ActiveFault
    from fakemq.journal.journal import Journal
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.consumequeue import ConsumeQueues
    from fakemq.store.files import Files
    from fakemq.store.index import IndexService

DISK_SPACE_WARNING_LEVEL_RATIO = 0.90
"""Fuller, and puts are refused. Java has a system property for it, and for the next."""
DISK_SPACE_CLEAN_FORCIBLY_RATIO = 0.85
"""Fuller, and files go whatever their age."""
MAX_MANUAL_DELETE_FILE_TIMES = 20
DELETE_FILES_BATCH_MAX = 10
FIRST_LOOK_MS, LOOK_PERIOD_MS = 1_000, 10_000
FIRST_CLEAN_MS = 60_000
_HOUR_MS = 3_600_000
_HOURS_AHEAD = 26
"""A day, and what a change to summer time takes."""


class Retention:
    """Looks after the age and size of one store; made with it, and `start` with its broker."""

    def __init__(
        self, config: BrokerConfig, files: Files, clock: NodeClock, journal: Journal, node: str
    ) -> None:
        self.disk_full = False
        self.warned_full = False
        """Whether somebody was told that there is no room, and nothing was deleted since."""
        self._config = config
        self._files = files
        self._clock = clock
        self._journal = journal
        self._node = node
        self._disk_size_bytes: int | None = None
        self._filled_by: ActiveFault[None] | None = None
        self._clean_immediately = False
        self._manual_times = 0
        self._plan_at_bytes = 0
        self._look_at_ms: int | None = None  # wall time; None as long as no broker runs
        self._started_ms = 0
        clock.on_jump.append(self._jumped)
        self._timer: Timer | None = None
        self._deleting = False

    def over(self, log: CommitLog, queues: ConsumeQueues, index: IndexService) -> None:
        """Look after these from now on."""
        self._log, self._queues, self._index = log, queues, index
        self.warned_full = False
        self._give_up()

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin both grids; a disk is taken for good until the first look."""
        self._started_ms = self._clock.elapsed_ms()
        self.disk_full = self._clean_immediately = False
        self._manual_times = 0
        self._give_up()
        self._look_again()
        if self._filled_by is not None:
            self._judge()
        self.plan()

    def _give_up(self) -> None:
        """Neither look nor go on deleting: what there was to delete is gone, or is another's."""
        self._clock.cancel(self._timer)
        self._timer = None
        self._deleting = False

    def reset(self) -> None:
        """As after a start with the disk that there is."""
        self._disk_size_bytes = None
        if self._look_at_ms is not None:
            self.start()

    # -- how full it is -----------------------------------------------------------------------

    def resize_disk(self, size_bytes: int | None) -> None:
        """Take the disk for so large, with this store alone on it; None is as large as it is."""
        self._disk_size_bytes = size_bytes
        self.plan()

    def fill(self, fault: ActiveFault[None] | None) -> None:
        """Take the disk for full, because of a fault, or for what it is again; at once."""
        self._filled_by = fault
        self._judge()
        self.plan()

    @property
    def total_bytes(self) -> int:
        """How large the disk is."""
        size_bytes = self._disk_size_bytes
        return self._files.total_bytes if size_bytes is None else size_bytes

    def used_ratio(self) -> float:
        """How full the disk is, from 0 to 1."""
        if self._filled_by is not None:
            return 1.0
        size_bytes = self._disk_size_bytes
        if size_bytes is None:
            return self._files.used_ratio()
        return min(1.0, self._files.used_bytes / size_bytes) if size_bytes else 1.0

    def rounded_ratio(self) -> float:
        """The same, rounded up to whole percents.

        Source: common/UtilAll.java#getDiskPartitionSpaceUsedPercent (4.9.7)
        """
        return ceil(round(self.used_ratio() * 100, 6)) / 100

    def look(self, now_ms: int) -> None:
        """Judge the disk if it is time to, and plan anew if so much has come that it matters."""
        if self._look_at_ms is not None and now_ms >= self._look_at_ms:
            self._look_again()
            self._judge()
            self.plan()
        elif self._files.used_bytes >= self._plan_at_bytes:
            self.plan()

    def refusal(self, size_bytes: int, now_ms: int) -> str | None:
        """Why so many bytes more are not taken, as a clause for clients; None if they are.

        The clause is empty where Java refuses, too, and says all there is to say.
        """
        self.look(now_ms)
        if self.disk_full:
            if self._filled_by is not None:
                self._filled_by.hit(self._node, f"a message of {size_bytes} bytes in the log")
            return ""
        size = self._disk_size_bytes
        if size is not None and self._files.used_bytes + size_bytes > size:
            return f"the disk of {size} bytes is full"
        if self._files.has_room(size_bytes):
            return None
        return self.warn(self._files.full_reason(), "SERVICE_NOT_AVAILABLE")

    def warn(self, reason: str, status: str) -> str:
        """Say once why there is no room, and how puts are refused; return the reason."""
        if not self.warned_full:
            self.warned_full = True
            text = (
                f"{reason}: messages are refused with"
                f" {status} until something is deleted or the cluster is reset"
            )
            self._journal.add(Warned(node=self._node, text=text))
        return reason

    def _look_again(self) -> None:
        now_ms = self._clock.elapsed_ms()
        tick_ms = next_tick_ms(now_ms + 1, self._started_ms, FIRST_LOOK_MS, LOOK_PERIOD_MS)
        self._look_at_ms = self._clock.now_ms() + tick_ms - now_ms

    def _jumped(self) -> None:
        """The wall clock has been moved: the looks and the hours are at other times of it."""
        if self._look_at_ms is not None:
            self._look_again()
        if self._timer is not None and self._timer.pending:
            self.plan()

    def _judge(self) -> float:
        """Refuse puts, or take them again, by how full the disk is; return that.

        Source: DefaultMessageStore.java#isSpaceFull, #isSpaceToDelete (4.9.7)
        """
        ratio = self.rounded_ratio()
        full = ratio > DISK_SPACE_WARNING_LEVEL_RATIO
        self._clean_immediately = ratio > DISK_SPACE_CLEAN_FORCIBLY_RATIO
        if full != self.disk_full:
            self.disk_full = full
            what = (
                "refused with SERVICE_NOT_AVAILABLE until it is at most"
                f" {DISK_SPACE_WARNING_LEVEL_RATIO:.0%} full"
                if full
                else "taken again"
            )
            text = f"the disk of the store is {ratio:.0%} full: messages are {what}"
            self._journal.add(Warned(node=self._node, text=text))
        return ratio

    # -- when ---------------------------------------------------------------------------------

    def execute_delete_files_manually(self) -> None:
        """Delete what is old at the next twenty looks, whatever hour it is.

        Source: DefaultMessageStore.java#executeDeleteFilesManually (4.9.7)
        """
        self._manual_times = MAX_MANUAL_DELETE_FILE_TIMES
        self.plan()

    def plan(self) -> None:
        """Have a timer for the next tick at which something happens, as things stand."""
        if self._look_at_ms is None or self._deleting:
            return
        self._clock.cancel(self._timer)
        self._timer = None
        self._plan_at_bytes = self._next_mark_bytes()
        tick_ms = self._next_tick_ms()
        if tick_ms is not None:
            wait_ms = tick_ms - self._clock.elapsed_ms()
            self._timer = self._clock.call_later(wait_ms, self._clean, kind="clean_files")

    def _next_mark_bytes(self) -> int:
        """How much the files will hold when there may be another reason to delete."""
        used_ratio = self.used_ratio()
        marks = (self._config.disk_max_used_space_ratio / 100, DISK_SPACE_CLEAN_FORCIBLY_RATIO)
        left = [mark - used_ratio for mark in marks if mark >= used_ratio]
        return self._files.used_bytes + int(min(left, default=1.0) * self.total_bytes) + 1

    def _next_tick_ms(self) -> int | None:
        """Elapsed time of that tick; None if no file can go before something else happens."""
        config = self._config
        first_ms = self._tick_from(self._clock.elapsed_ms() + 1)
        if self._manual_times:
            return first_ms
        expires_at_ms = self._expires_at_ms()
        if expires_at_ms is None:
            return None
        ratio = self.rounded_ratio()
        if ratio > DISK_SPACE_CLEAN_FORCIBLY_RATIO and config.clean_file_forcibly_enable:
            return first_ms
        behind_ms = self._clock.elapsed_ms() - self._clock.now_ms()
        at_ms = max(first_ms - behind_ms, expires_at_ms)
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
        """When the oldest file of the log may go; None if it is the last one, too."""
        file = self._log.oldest_but_last
        if file is None:
            return None
        return file.mtime_ms + self._config.file_reserved_time * _HOUR_MS

    def _hour_from(self, at_ms: int) -> int | None:
        """The first time from ``at_ms`` on that is in an hour of deleteWhen; None for never."""
        for _ in range(_HOURS_AHEAD):
            if self._is_time_to_delete(at_ms):
                return at_ms
            at_ms = next_hour_ms(at_ms)
        return None

    def _is_time_to_delete(self, at_ms: int) -> bool:
        """Source: common/UtilAll.java#isItTimeToDo (4.9.7)"""
        try:
            hours = [int(hour) for hour in self._config.delete_when.split(";")]
        except ValueError:  # on which Java's look fails, each time
            return False
        return hour_of_day(at_ms) in hours

    # -- deleting -----------------------------------------------------------------------------

    def _clean(self) -> None:
        """Source: DefaultMessageStore.java#deleteExpiredFiles (4.9.7)"""
        self._timer = None
        config = self._config
        is_time = self._is_time_to_delete(self._clock.now_ms())
        is_full = self._judge() > config.disk_max_used_space_ratio / 100
        manual = self._manual_times > 0
        if is_time or is_full or manual:
            self._manual_times -= manual
            at_once = config.clean_file_forcibly_enable and self._clean_immediately
            self._deleting = True
            self._delete(0, at_once)
        else:
            self.plan()

    def _delete(self, count: int, at_once: bool) -> None:
        """Delete the oldest file, and the next ones after an interval each; ``count`` are gone.

        Source: store/MappedFileQueue.java#deleteExpiredFileByTime (4.9.7)
        """
        self._timer = None
        interval_ms = self._config.delete_commit_log_files_interval
        while count < DELETE_FILES_BATCH_MAX:
            expires_at_ms = self._expires_at_ms()
            if expires_at_ms is None or not (at_once or self._clock.now_ms() >= expires_at_ms):
                break
            if not self._deleted(self._delete_oldest):
                break
            count += 1
            if interval_ms > 0 and count < DELETE_FILES_BATCH_MAX:
                go_on = partial(self._delete, count, at_once)
                self._timer = self._clock.call_later(interval_ms, go_on, kind="delete_files")
                return
        self._deleting = False
        if count:
            self._deleted(partial(self._log_has_shrunk, count))
        self.plan()

    def _delete_oldest(self) -> None:
        self._log.delete_before(self._log.next_file_offset(self._log.min_offset))

    def _deleted(self, delete: Callable[[], None]) -> bool:
        """Delete something; False, and a warning, if the disk does not let it go."""
        try:
            delete()
        except StoreError as error:
            text = f"{error}: it stays until a later look can delete it"
            self._journal.add(Warned(node=self._node, text=text))
            return False
        return True

    def delete_before(self, phy_offset: int) -> int:
        """Delete log files wholly before an offset, but never the last, and what names them."""
        count = self._log.delete_before(phy_offset)
        if count:
            self._log_has_shrunk(count)
        return count

    def _log_has_shrunk(self, count: int) -> None:
        """Let queues and index begin where the log does.

        Source: DefaultMessageStore.java#CleanConsumeQueueService.deleteExpiredFiles (4.9.7),
        without its pauses of deleteConsumeQueueFilesInterval
        """
        self.warned_full = False
        min_phy_offset = self._log.min_offset
        self._journal.add(
            FilesExpired(node=self._node, log_files=count, min_phy_offset=min_phy_offset)
        )
        for queue in self._queues:
            queue.delete_expired_files(min_phy_offset)
        self._index.delete_expired_files(min_phy_offset)

    def clean_expired_consume_queues(self) -> None:
        """Delete the queues whose records are all gone, but for those of delays.

        Source: DefaultMessageStore.java#cleanExpiredConsumerQueue (4.9.7)
        """
        min_phy_offset = self._log.min_offset
        for queue in self._queues:
            if queue.topic != SCHEDULE_TOPIC and 0 <= queue.max_physic_offset < min_phy_offset:
                self._log.topic_queue_table.pop((queue.topic, queue.queue_id), None)
                self._queues.destroy_one(queue.topic, queue.queue_id)
