"""How full the disk of a store is, and whether a put has room on it.

Java's broker looks every 10 s how full its disk is. Here the same grid is used, but a look happens
only where its result can be seen: at the first put after a tick of the grid.

Source: store/DefaultMessageStore.java#CleanCommitLogService (4.9.7)
"""

from __future__ import annotations

from math import ceil
from sys import maxsize
from typing import TYPE_CHECKING, Final

from fakemq.clock.timers import next_tick_ms
from fakemq.errors import StoreError
from fakemq.events.core import Warned

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.faults.plan import ActiveFault
    from fakemq.journal.journal import Journal
    from fakemq.store.files import Files

WARNING_LEVEL_RATIO: Final = 0.90
"""Above it, puts are refused. Java has a system property for it, and for the next one."""
CLEAN_FORCIBLY_RATIO: Final = 0.85
"""Above it, files are deleted whatever their age."""
FIRST_LOOK_MS: Final = 1000
LOOK_PERIOD_MS: Final = 10000
RETRY_MS: Final = 1_000
_NEVER_MS: Final = maxsize


class DiskSpace:
    """The disk of one store: its size, how much of it is used, and whether puts are refused."""

    def __init__(
        self, config: BrokerConfig, files: Files, clock: NodeClock, journal: Journal, node: str
    ) -> None:
        self.disk_full = False
        """Whether puts are refused, as the last look found; not as the disk is now."""
        self.refused_bytes = 0
        """The largest put for which there was no room since something was deleted; 0 for none."""
        self.on_change: Callable[[], None] = _nothing
        """Called after a look, and when another amount of used bytes may be a reason to delete."""
        self._config = config
        self._files = files
        self._clock = clock
        self._journal = journal
        self._node = node
        # As a test set it, with this store alone on the disk; None: as large as it is.
        self._disk_size_bytes: int | None = None
        self._filled_by: ActiveFault[None] | None = None
        self._started_ms = 0  # elapsed time
        self._look_at_ms = _NEVER_MS  # wall time of the next look; never until a broker runs
        self._mark_bytes = 0  # `on_change` is called once the files hold this number of bytes
        self._refused: dict[Callable[[], object], None] = {}  # calls that the disk refused
        self._lasting = False  # whether one of them is not tried again
        self._trying = False
        self._retry: Timer | None = None
        clock.on_jump.append(self._jumped)

    # -- life ---------------------------------------------------------------------------------

    def start(self, elapsed_ms: int) -> None:
        """Begin the grid of looks. Until the first look, puts are accepted."""
        self._started_ms = elapsed_ms
        self.disk_full = False
        self._plan_look()
        if self._filled_by is not None:
            self.judge()

    def reset(self) -> None:
        """Forget the size that `resize` has set."""
        self._disk_size_bytes = None

    def _plan_look(self) -> None:
        now_ms = self._clock.elapsed_ms()
        tick_ms = next_tick_ms(now_ms + 1, self._started_ms, FIRST_LOOK_MS, LOOK_PERIOD_MS)
        self._look_at_ms = self._clock.now_ms() + tick_ms - now_ms

    def _jumped(self) -> None:
        # The grid is one of elapsed time: when the wall clock jumps, its next tick has another
        # wall time.
        if self._look_at_ms != _NEVER_MS:
            self._plan_look()

    # -- size ---------------------------------------------------------------------------------

    def resize(self, size_bytes: int | None) -> None:
        """Set the size of the disk, with this store alone on it; None: its real size."""
        self._disk_size_bytes = size_bytes
        self.on_change()

    def fill(self, fault: ActiveFault[None] | None) -> None:
        """Treat the disk as full because of ``fault``; None ends that. Takes effect at once."""
        self._filled_by = fault
        self.judge()
        self.on_change()

    @property
    def total_bytes(self) -> int:
        """The size of the disk."""
        size_bytes = self._disk_size_bytes
        return self._files.total_bytes if size_bytes is None else size_bytes

    def used_ratio(self) -> float:
        """Return how full the disk is, from 0 to 1."""
        if self._filled_by is not None:
            return 1.0
        size_bytes = self._disk_size_bytes
        if size_bytes is None:
            return self._files.used_ratio()
        return min(1.0, self._files.used_bytes / size_bytes) if size_bytes else 1.0

    def rounded_ratio(self) -> float:
        """Return `used_ratio`, rounded up to whole percent.

        Source: common/UtilAll.java#getDiskPartitionSpaceUsedPercent (4.9.7)
        """
        return _rounded(self.used_ratio())

    def rounded_ratios(self) -> dict[str, float]:
        """Return the same for the disk of each folder of the log; empty for a store in memory."""
        alike = self._filled_by is not None or self._disk_size_bytes is not None
        return {
            folder: self.rounded_ratio() if alike else _rounded(ratio)
            for folder, ratio in self._files.used_ratios().items()
        }

    # -- room for a put -----------------------------------------------------------------------

    def refusal(self, size_bytes: int, now_ms: int) -> str | None:
        """Return why ``size_bytes`` more are refused, as a clause for clients; None if they fit.

        The clause is empty where Java refuses too: Java's own text is complete.
        """
        files = self._files
        used_bytes = files.used_bytes
        # The first half of `look`, repeated: most puts end here without another call.
        if now_ms >= self._look_at_ms or used_bytes >= self._mark_bytes:
            self.look(now_ms)
        if self.disk_full:
            if self._filled_by is not None:
                self._filled_by.hit(self._node, f"a message of {size_bytes} bytes in the log")
            return ""
        disk_bytes = self._disk_size_bytes
        if disk_bytes is not None and used_bytes + size_bytes > disk_bytes:
            return f"the disk of {disk_bytes} bytes is full"
        if (not files.broken or self.try_again()) and (
            used_bytes + size_bytes <= files.limit_bytes or files.has_room(size_bytes)
        ):
            return None
        reason = files.broken or files.full_reason()
        return self.warn(reason, "SERVICE_NOT_AVAILABLE", size_bytes)

    def warn(self, reason: str, status: str, size_bytes: int) -> str:
        """Write once to the journal why there is no room and how puts are refused.

        Return ``reason``; ``size_bytes`` is the size of the refused put.
        """
        if self._files.broken:
            return reason  # `failed` has written it
        if not self.refused_bytes:
            text = (
                f"{reason}: messages are refused with"
                f" {status} until something is deleted or the cluster is reset"
            )
            self._journal.add(Warned(node=self._node, text=text))
        self.refused_bytes = max(size_bytes, self.refused_bytes)
        return reason

    def taken(self, size_bytes: int) -> None:
        """Write to the journal that there is room again, if this put shows it."""
        if size_bytes >= self.refused_bytes:
            self.refused_bytes = 0
            self._journal.add(Warned(node=self._node, text="messages are taken again"))

    # -- what the disk refuses ----------------------------------------------------------------

    def failed(self, error: StoreError, again: Callable[[], object]) -> None:
        """Refuse puts, because the disk refused the call ``again``, until it succeeds.

        It is called each second and before each put if the error is a passing one. Otherwise puts
        are refused until the next start.
        Source: store/RunningFlags.java#makeLogicsQueueError (4.9.7), which never tries again
        """
        until = "until the disk takes them" if error.passing else "until the next start"
        self._fail(error, again, until, lasting=not error.passing)

    def index_failed(self, error: StoreError, again: Callable[[], object]) -> None:
        """As `failed`, for a file of the index; every error may pass.

        The index is made of the log, so nothing is lost if a call is tried again, whatever has
        become of the bytes of the first one. Java tries three times in 3 s, then refuses messages
        until its next start.
        Source: store/index/IndexService.java#retryGetAndCreateIndexFile,
        store/RunningFlags.java#makeIndexFileError (4.9.7)
        """
        until = (
            "until the disk takes them. A file of the index may be deleted while the broker is"
            " stopped: a start makes it anew from the log"
        )
        self._fail(error, again, until, lasting=False)

    def _fail(
        self, error: StoreError, again: Callable[[], object], until: str, *, lasting: bool
    ) -> None:
        if not self._files.broken and not self._trying:
            text = f"{error}: messages are refused {until}"
            self._journal.add(Warned(node=self._node, text=text))
        self._files.broken = str(error)
        self._refused[again] = None
        self._lasting = self._lasting or lasting
        if self._retry is None and not self._lasting:
            self._retry = self._clock.call_later(RETRY_MS, self._retry_due, kind="disk_retry")

    def try_again(self) -> bool:
        """Repeat the calls that the disk refused; return whether all succeed."""
        if self._lasting or self._trying or not self._refused:
            return False
        reason, self._files.broken = self._files.broken, ""
        refused, self._refused = self._refused, {}
        self._trying = True
        try:
            for again in refused:
                try:
                    again()
                except StoreError as error:
                    self.failed(error, again)
        finally:
            self._trying = False
        if self._files.broken:
            return False
        text = f"what failed succeeds now ({reason}): messages are taken again"
        self._journal.add(Warned(node=self._node, text=text))
        return True

    def _retry_due(self) -> None:
        self._retry = None
        self.try_again()  # what fails again sets the next timer

    def forget(self) -> None:
        """Forget what the disk refused: the store begins anew."""
        self._clock.cancel(self._retry)
        self._retry = None
        self._refused = {}
        self._lasting = False
        self.refused_bytes = 0

    # -- looks --------------------------------------------------------------------------------

    def look(self, now_ms: int) -> None:
        """Judge the disk if a look is due; call `on_change` then, and at the mark of bytes."""
        if now_ms >= self._look_at_ms:
            self._plan_look()
            self.judge()
            self.on_change()
        elif self._files.used_bytes >= self._mark_bytes:
            self.on_change()

    def judge(self) -> float:
        """Set `disk_full` by how full the disk is; return that ratio.

        Of several disks the emptiest counts; new files of the log avoid those that are nearly full.
        Source: DefaultMessageStore.java#isSpaceFull, #isSpaceToDelete (4.9.7)
        """
        ratio = self.rounded_ratio()
        ratios = self.rounded_ratios()
        if len(ratios) > 1:
            full_ones = [folder for folder, one in ratios.items() if one > CLEAN_FORCIBLY_RATIO]
            self._files.avoid(frozenset(full_ones))
        full = ratio > WARNING_LEVEL_RATIO
        if full != self.disk_full:
            self.disk_full = full
            what = (
                f"refused with SERVICE_NOT_AVAILABLE until it is at most {WARNING_LEVEL_RATIO:.0%}"
                " full"
                if full
                else "taken again"
            )
            text = f"the disk of the store is {ratio:.0%} full: messages are {what}"
            self._journal.add(Warned(node=self._node, text=text))
        return ratio

    def set_mark(self) -> None:
        """Compute at how many used bytes there may be another reason to delete files."""
        used_ratio = self.used_ratio()
        marks = (self._config.disk_max_used_space_ratio / 100, CLEAN_FORCIBLY_RATIO)
        left = [mark - used_ratio for mark in marks if mark >= used_ratio]
        self._mark_bytes = (
            self._files.used_bytes + int(min(left, default=1.0) * self.total_bytes) + 1
        )


def _rounded(ratio: float) -> float:
    # Rounded to six places first: 0.07 * 100 is 7.000000000000001, which is not 8 percents.
    return ceil(round(ratio * 100, 6)) / 100


def _nothing() -> None:
    """Default of `on_change`."""
