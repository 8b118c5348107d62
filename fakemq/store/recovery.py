"""Recovery of a store directory at a start: finds the log's end, and adds missing queue entries.

Source: store/DefaultMessageStore.java#load, #start, store/CommitLog.java#recoverNormally,
#recoverAbnormally (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.layout.codecs import RECORD_LEAST_BYTES
from fakemq.protocol.message import (
    BLANK_MAGIC_CODE,
    MESSAGE_MAGIC_CODE,
    record_store_timestamp_ms,
    record_struct,
)
from fakemq.store.consumequeue import UNIT_BYTES
from fakemq.store.findings import wrong_place
from fakemq.store.light_queues import LightRule
from fakemq.store.record_scan import ARRIVING, read_range

if TYPE_CHECKING:
    from fakemq.store.checkpoint import StoreCheckpoint
    from fakemq.store.consumequeue import ConsumeQueue
    from fakemq.store.files import File
    from fakemq.store.mapped_file_queue import Cut
    from fakemq.store.record_scan import RecordRange
    from fakemq.store.start_check import StartCheck
    from fakemq.store.store import MessageStore

Repaired = Callable[[str, int, int, str], None]
"""Called with path, position in the file, bytes cut off and the reason."""

Read = Callable[[int, int], None]
"""Called with how many bytes of the log were checked, and how many there are to check."""

_FILES_LOOKED_AT = 3


class Recovery:
    """One recovery of a store whose files have been loaded.

    ``check`` sees the records that are read.
    """

    def __init__(
        self,
        store: MessageStore,
        repaired: Repaired,
        check: StartCheck | None = None,
        read: Read | None = None,
    ) -> None:
        self._config = store.config
        self._log = store.log
        self._queues = store.queues
        self._index = store.index
        self._delay_levels = store.delay_levels
        self._dispatch = store.dispatch
        self._repaired = repaired
        self._check = check
        self._read = read
        self._store = store
        self.dispatched = 0
        """How many records were added to the queues."""

    def run(
        self,
        now_ms: int,
        checkpoint: StoreCheckpoint,
        *,
        clean: bool,
        sealed_to: int | None = None,
    ) -> None:
        """Open all files, cut off bad bytes, and add to the queues what the log has more.

        Records before the physical offset ``sealed_to`` are known to be good.
        """
        log, queues = self._log, self._queues
        log.load(now_ms)
        queues.load(now_ms)
        # After a crash the queues are cut only when it is known where the check begins.
        if clean:
            for queue in queues:
                self._report(queue.recover(), "no entries of a consume queue")
        # Without a log no entry leads to a message.
        if not log.files:
            self._drop_queues()
        else:
            self._recover_log(checkpoint, clean, sealed_to)
            self._set_offsets()
            if self._store.recovered_to is None:
                self._reput()
        self._set_offsets()
        # After a clean stop the files have the times that the cluster's clock gave them.
        if not clean:
            self._set_times()
        newest_ms = None if clean else checkpoint.index_ms
        self._report(self._index.load(now_ms, newest_ms), "an index file that is made anew")

    def adopt(self, now_ms: int) -> None:
        """Open all files, which are known to be good, and continue behind them."""
        self._log.load(now_ms)
        self._queues.load(now_ms)
        for queue in self._queues:
            queue.recover()
        self._set_offsets()
        self._index.load(now_ms, None)

    # -- the log ------------------------------------------------------------------------------

    def _recover_log(self, checkpoint: StoreCheckpoint, clean: bool, sealed_to: int | None) -> None:
        log = self._log
        newest = max((queue.max_physic_offset for queue in self._queues), default=-1)
        index, at = self._first_place(checkpoint, clean, sealed_to, newest)
        if self._check is not None:
            self._check.see_files()
        entries: dict[ConsumeQueue, tuple[int, int]] = {}
        if not clean:
            for queue in self._queues:
                queue.recover()
                entries[queue] = queue.max_physic_offset, queue.max_offset
            # Java leaves entries where they are, and where a crash took some before them, it
            # never puts those in again.
            for queue in self._queues:
                queue.truncate(log.files[index][0])
        if self._check is not None:
            if at:
                self._check.pass_over(log.files[index][0] + at)
            else:
                self._check.read_before(index)
        queued_to = max((behind for behind, _ in entries.values()), default=0)
        counts_to = LONG_MAX if clean else max(checkpoint.counts_to, queued_to)
        end, why = self._scan(index, at, counts_to, after_crash=not clean)
        cuts = log.truncate(end)
        if why:
            self._report(cuts, why)
        for queue, (behind, last) in entries.items():
            if behind > end:
                cut_bytes = max(0, last - queue.max_offset) * UNIT_BYTES
                why = f"entries of records behind the log's end, {end}"
                self._repaired(queue.folder, 0, cut_bytes, why)
        if clean and newest >= end:
            for queue in self._queues:
                self._report(queue.truncate(end), f"entries of records behind the log's end, {end}")

    def _first_place(
        self, checkpoint: StoreCheckpoint, clean: bool, sealed_to: int | None, newest: int
    ) -> tuple[int, int]:
        """Return the file, by its index, and the position where the check begins.

        All before is known to be good. ``newest`` is where the last record of all queues ends.
        Any program can write a seal with a good digest. One whose end is within a record, or
        behind the last one, is not believed: a recovery from there would cut good records.
        """
        files = self._log.files
        if sealed_to is not None:
            index, at = divmod(sealed_to - files[0][0], self._log.file_size_bytes)
            if 0 <= index < len(files) and (
                sealed_to == newest or _is_record_begin(files[index][1], at)
            ):
                return index, at
        return self._first_file(checkpoint, clean), 0

    def _first_file(self, checkpoint: StoreCheckpoint, clean: bool) -> int:
        files = self._log.files
        if clean:
            return max(0, len(files) - _FILES_LOOKED_AT)
        config = self._config
        # What was stored up to the checkpoint is on the disk, so the check may begin there. With
        # messageIndexSafe the entries of the index must be there, too.
        with_index = config.message_index_enable and config.message_index_safe
        until_ms = checkpoint.min_with_index_ms if with_index else checkpoint.min_ms
        for index in range(len(files) - 1, 0, -1):
            stored_ms = _first_stored_ms(*files[index])
            if 0 < stored_ms <= until_ms:
                return index
        return 0

    def _scan(self, index: int, at: int, counts_to: int, *, after_crash: bool) -> tuple[int, str]:
        """Check every record from a place in a file on; return where the good ones end, and why.

        After a crash those before ``counts_to`` are added to the queues. A blank at the end of the
        last file counts as its end: the next record writes the blank once more.
        """
        files = self._log.files
        check_crc, levels = self._config.check_crc_on_recover, self._delay_levels
        light = LightRule.of(self._config)
        check, counts = self._check, True
        begin = files[index][0] + at
        total_bytes = files[-1][0] + len(files[-1][1].view) - begin
        while True:
            first, file = files[index]
            said = _said_offset(file)
            if after_crash and not at and said is not None and said != first:
                # The copy of another file: its records would take places in queues again.
                return first, wrong_place(first, said)
            view, stop = file.view, None
            while stop is None:
                last = counts and counts_to - first < len(view)
                records = read_range(
                    view,
                    at,
                    max(0, counts_to - first) if last else len(view),
                    levels,
                    first_offset=first,
                    check_crc=check_crc,
                    check_torn=after_crash,
                    file_bytes=file.size_bytes if last else None,
                    light=light,
                )
                if after_crash and records.runs:
                    if counts:
                        self._add_to_queues(records)
                    file.mtime_ms = records.newest_ms
                if check is not None and counts:
                    check.see(records)
                at, stop = records.at, records.stop
                if stop is ARRIVING:
                    counts, stop = False, None
                    self._store.recovered_to = first + at
                if self._read is not None:
                    self._read(first + at - begin, total_bytes)
            index += 1
            if not stop.blank or index == len(files):
                return first + at, stop.why
            at = 0

    # -- queues -------------------------------------------------------------------------------

    def _drop_queues(self) -> None:
        """Source: DefaultMessageStore.java#destroyLogics (4.9.7)"""
        for queue in self._queues:
            self._repaired(queue.folder, 0, queue.max_offset * UNIT_BYTES, "the commit log is gone")
        for topic in list(self._queues.topics()):
            self._queues.delete(topic)
        while self._queues.has_files_to_delete:
            self._queues.delete_files_of_one()

    def _reput(self) -> None:
        """Add to the queues the records of the log behind the last one that any queue has."""
        log = self._log
        newest = max((queue.max_physic_offset for queue in self._queues), default=0)
        at = max(log.min_offset, newest, 0)
        while at < log.max_offset:
            place = log.find_file(at)
            if place is None:
                return
            file, first = place
            view = file.view
            records = read_range(
                view,
                at - first,
                min(file.position, len(view)),
                self._delay_levels,
                first_offset=first,
                check_crc=False,
                light=LightRule.of(self._config),
            )
            self._add_to_queues(records)
            at, stop = first + records.at, records.stop
            if stop is not None and at < log.max_offset:
                # A blank is the usual end of a file, and nothing to report.
                if not stop.blank:
                    why = f"passed over to the next file: {stop.why}"
                    self._repaired(file.path, at - first, 0, why)
                at = log.next_file_offset(at)

    def _add_to_queues(self, records: RecordRange) -> None:
        """Add records to their queues; to a new one if its topic was deleted and made again."""
        for run in records.runs:
            if not run.first and run.queued:
                queue = self._queues.find(run.topic, run.queue_id)
                first_phy_offset, _, _ = UNIT.unpack_from(run.units)
                if queue is not None and first_phy_offset >= queue.max_physic_offset:
                    queue.destroy()  # its entries are of the topic that was deleted
            added = self._dispatch.add_run(run, self._log, self._without_queue)
            self.dispatched += 0 if run.light else added

    def _without_queue(self, phy_offset: int, why: str) -> None:
        place = self._log.find_file(phy_offset)
        if place is not None:
            file, first = place
            self._repaired(file.path, phy_offset - first, 0, f"passed over: {why}")

    def _set_offsets(self) -> None:
        """Source: DefaultMessageStore.java#recoverTopicQueueTable (4.9.7)"""
        log = self._log
        log.topic_queue_table.clear()
        log.lmq_topic_queue_table.clear()
        for queue in self._queues:
            log.set_next_offset(queue.topic, queue.queue_id, queue.max_offset)
            queue.correct_min_offset(self._log.min_offset)

    def _set_times(self) -> None:
        # The machine's clock, not the cluster's, may have set the time of what was being written.
        for queue in self._queues:
            file, unit = queue.last_file, queue.unit_at(queue.max_offset - 1)
            if file is not None and unit is not None:
                stored_ms = self._log.store_timestamp_ms(unit[0], unit[1])
                file.mtime_ms = stored_ms if stored_ms > 0 else file.mtime_ms

    def _report(self, cuts: Iterable[Cut], why: str) -> None:
        for path, offset, cut_bytes in cuts:
            self._repaired(path, offset, cut_bytes, why)


_FIRST: Final = record_struct("magic_code", "physical_offset")


def _is_record_begin(file: File, at: int) -> bool:
    magic_code = int.from_bytes(file.view[at + 4 : at + 8], signed=True)
    return magic_code in (MESSAGE_MAGIC_CODE, BLANK_MAGIC_CODE)


def _first_stored_ms(first_offset: int, file: File) -> int:
    """Return when the first record of a file was stored; 0 if it begins with none of its own.

    Differs: in Java the copy of an older file counts. Then no record before it gets an entry.
    Source: store/CommitLog.java#isMappedFileMatchedRecover (4.9.7)
    """
    return record_store_timestamp_ms(file.view) if _said_offset(file) == first_offset else 0


def _said_offset(file: File) -> int | None:
    """Return the physical offset that the first record of a file has; None without a record."""
    if len(file.view) < RECORD_LEAST_BYTES:
        return None
    magic_code, phy_offset = _FIRST.unpack_from(file.view)
    return phy_offset if magic_code == MESSAGE_MAGIC_CODE else None
