"""A store in a directory: its start, stop, kill and reset.

Source: store/DefaultMessageStore.java#load, #start, #shutdown (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.events.core import StoreRepaired, Warned
from fakemq.events.store import StoreRecovered, UnsyncedLost
from fakemq.faults.plan import FaultPlan
from fakemq.store import checkpoint as checkpoints
from fakemq.store import seal
from fakemq.store.checkpoint import StoreCheckpoint
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.directory_files import ABORT
from fakemq.store.directory_lock import DirectoryLock
from fakemq.store.flush import Flush, Soon
from fakemq.store.flush_faults import FlushFaults
from fakemq.store.recovery import Read, Recovery
from fakemq.store.start_check import StartCheck

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from fakemq.clock.node_clock import NodeClock
    from fakemq.journal.journal import Journal
    from fakemq.store.directory_files import DirectoryFiles
    from fakemq.store.files import File
    from fakemq.store.findings import Topics
    from fakemq.store.index import IndexService
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.store import MessageStore

NOT_OPEN = "the broker is not running"


def _nothing(stopped: bool) -> None:
    return None


class Disk:
    """The directory of a `MessageStore`, which has it as its ``disk``.

    Between `stop` or `kill` and the next `start` the store is empty and the directory unlocked.
    ``soon`` is `MemoryNetwork.post` or an equivalent; ``randomness`` chooses what a crash loses.
    """

    flush: Flush
    """Exists from `start` to `stop` or `kill`."""

    def __init__(
        self,
        store: MessageStore,
        files: DirectoryFiles,
        clock: NodeClock,
        journal: Journal,
        node: str,
        soon: Soon,
        randomness: Random,
        faults: FaultPlan | None = None,
    ) -> None:
        self.files = files
        self._store = store
        self._clock = clock
        self._journal = journal
        self._node = node
        self._soon = soon
        self._randomness = randomness
        self._faults = FlushFaults(FaultPlan(journal) if faults is None else faults, node)
        self._lock = DirectoryLock(files.root)
        files.claim = self._lock.claim
        files.on_mended = lambda path, at, why: self._repaired(path, at, 0, why)
        self.make_checkpoint: Callable[[File], StoreCheckpoint] = StoreCheckpoint
        """Returns the checkpoint that a file has."""
        self.on_read: Read | None = None
        """Called during a start's check of the log."""
        self._running = False
        self._damaged = False
        """Whether something was repaired or found damaged since the start."""
        store.disk = self
        store.put_listeners.insert(0, self)  # the wait for the flush is decided first
        files.broken = NOT_OPEN

    def start(self, load_tables: Callable[[bool], Topics | None] = _nothing) -> None:
        """Open and recover the store; raise StoreError if that is not possible.

        ``load_tables`` reads the config files, after the directory is locked against changes, and
        returns the topics in them. It is called with whether a broker was stopped here. Damage that
        is not repaired is written to the journal.
        """
        self._lock.take()
        files = self.files
        files.broken = ""
        self._damaged = False
        try:
            files.claim_folders()
            # Asked first: nothing is changed if something else than a file is there.
            clean = not files.exists(ABORT)
            files.after_kill = not clean
            topics = load_tables(clean and files.exists(checkpoints.PATH))
            files.create(ABORT)  # a kill from here on is one of a broker that runs
            try:
                self._load(clean, topics)
            except BaseException:
                if clean:
                    files.delete(ABORT)
                raise
        except BaseException:
            self._close()
            raise
        self._running = True

    def _load(self, clean: bool, topics: Topics | None) -> None:
        files, store, now_ms = self.files, self._store, self._clock.now_ms()
        store.start_empty()
        sealed_to = seal.sealed_to(files, store.config) if clean else None
        self._checkpoint = self.make_checkpoint(
            files.open(checkpoints.PATH, checkpoints.FILE_BYTES, now_ms)
        )
        check = StartCheck(store, topics)
        recovery = Recovery(store, self._repaired, check, self.on_read)
        recovery.run(now_ms, self._checkpoint, clean=clean, sealed_to=sealed_to)
        for path, offset, text in check.findings():
            self._warn(f"{files.path_of(path)}:{offset}: {text}")
        if not clean:
            for _, file in store.log.files:
                file.flush()  # the bytes that a killed process wrote may not be on the disk
        files.delete(seal.PATH)
        self._start_flush(store.index)
        if recovery.dispatched:
            self.flush.recovered()
        self._journal.add(
            StoreRecovered(
                node=self._node,
                clean=clean,
                min_phy_offset=store.log.min_offset,
                max_phy_offset=store.log.max_offset,
                dispatched=recovery.dispatched,
            )
        )

    def _start_flush(self, index: IndexService) -> None:
        index.on_bad = self._repaired
        self.flush = Flush(
            self._store.config,
            self.files,
            self._clock,
            self._checkpoint,
            index,
            self._soon,
            self._store.disk_space.failed,
            self._faults,
        )

    def stop(self) -> None:
        """Flush everything and close; an error of the disk is written to the journal."""
        if not self._running:
            return
        flushed = False
        to_seal = None
        try:
            self.flush.everything()
            flushed = True
            # Otherwise the next start recovers as after a crash, as in Java.
            if not self._store.disk_space.disk_full and not self.files.broken:
                self.files.delete(ABORT)
                to_seal = self._sealable_to()
        except StoreError as error:
            self._journal.add(Warned(node=self._node, text=str(error)))
        finally:
            try:
                self.flush.end(flushed=flushed)
            finally:
                self._close(to_seal)

    def _sealable_to(self) -> int | None:
        """Return where the log ends; None if the next start should read its last files."""
        store, log = self._store, self._store.log
        whole = log.records_end in (None, log.max_offset) and not store.has_late_records
        bad = self._damaged or self.files.damaged
        return log.max_offset if whole and not bad and seal.is_worth_it(log) else None

    def kill(self, *, lose_unsynced: bool = False) -> None:
        """Close without a flush; ``lose_unsynced`` undoes unflushed writes, as a power failure."""
        if not self._running:
            return
        if lose_unsynced:
            log = self.files.dirty(LOG)
            log_bytes = sum(file.position - file.flushed for file in log)
            log_offset = self._store.max_phy_offset - log_bytes
            pages, lost_pages = self.files.lose_unflushed(self._randomness)
            self._journal.add(
                UnsyncedLost(
                    node=self._node,
                    pages=pages,
                    lost_pages=lost_pages,
                    log_offset=log_offset,
                    log_bytes=log_bytes,
                )
            )
        self.flush.end(killed=True)
        self._close()

    def _close(self, to_seal: int | None = None) -> None:
        """Close the files, and seal the log up to ``to_seal``."""
        if self._running:
            del self.flush, self._checkpoint  # they would keep files open
        self._running = False
        self._store.start_empty()
        self.files.close()
        if to_seal is not None:
            seal.leave(self.files, self._store.config, to_seal)
        self.files.broken = NOT_OPEN
        self._lock.release()

    def emptied(self, index: IndexService) -> None:
        """Begin again after a reset of the store: no sends wait, and the checkpoint is empty."""
        if self._running:
            self.flush.end()
            self._checkpoint.clear(self._clock.now_ms())
            self._start_flush(index)

    def stored(self, message: InnerMessage, result: PutMessageResult) -> None:
        """Set ``result.flush_to`` to where the log must be flushed, if the sender waits for that.

        Source: store/CommitLog.java#submitFlushRequest (4.9.7)
        """
        appended = result.append_result
        if appended is None:
            return
        self.flush.appended(appended.store_timestamp_ms)
        if message.wait_store_msg_ok and self._store.config.flush_disk_type == "SYNC_FLUSH":
            result.flush_to = appended.wrote_offset + appended.wrote_bytes

    def _warn(self, text: str) -> None:
        self._damaged = True
        self._journal.add(Warned(node=self._node, text=text))

    def _repaired(self, path: str, offset: int, cut_bytes: int, why: str) -> None:
        self._damaged = True
        self._journal.add(
            StoreRepaired(
                node=self._node,
                file=self.files.path_of(path),
                offset=offset,
                cut_bytes=cut_bytes,
                why=why,
            )
        )

    def __repr__(self) -> str:
        return f"<store in {self.files.root}, {'open' if self._running else 'closed'}>"
