"""A store under a controller: queues follow the confirm offset, and the log can be cut.

Source: store/CommitLog.java#getConfirmOffset, #asyncPutMessage,
store/DefaultMessageStore.java#ReputMessageService, #truncateFiles (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.config.v5.model import config5
from fakemq.events.core import Warned
from fakemq.files.texts import DiskTextFile, MemoryTextFile
from fakemq.ha.autoswitch import epoch_file
from fakemq.ha.v5.counted_store import CountedStore
from fakemq.journal.noted import APPENDED, names_of
from fakemq.protocol.message import RecordStatus, check_record
from fakemq.store.light_queues import LightRule
from fakemq.store.record_scan import read_range

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.config.model import BrokerConfig
    from fakemq.files.texts import TextFile
    from fakemq.ha.autoswitch.confirmed_replica import ConfirmedReplica
    from fakemq.journal.journal import Journal
    from fakemq.store.files import Files
    from fakemq.store.puts import AppendMessageResult, PutMessageResult


class ConfirmedStore(CountedStore):
    """A store of which others know only what the in-sync set has.

    A record that was put before the set has it is in the log, but in no queue and no index. There
    is one rule for masters and slaves: `reput` brings all to the queues up to the confirm offset.
    """

    confirm_offset: int
    """The stored confirm offset; what counts is that of the replication, `limit`."""
    follower: ConfirmedReplica | None
    """Reads the log for the queues; None before the replication begins. One that has ended stays,
    so that the next one of a store in memory continues where it was."""
    limit: Callable[[], int] | None = None
    """Returns up to which offset records are confirmed; None before the replication begins."""
    on_emptied: Callable[[], None] | None = None
    """Called when a reset has emptied the store."""

    def __init__(
        self,
        config: BrokerConfig,
        files: Files,
        clock: NodeClock,
        journal: Journal,
        node: str,
        ram_size_bytes: int | None = None,
    ) -> None:
        super().__init__(config, files, clock, journal, node, ram_size_bytes)
        self.epoch_file: TextFile = MemoryTextFile(epoch_file.NAME)
        """The epochs of the log; a store in a directory is given another one."""

    def keep_in(self, folder: str) -> None:
        from fakemq.ha.autoswitch.confirmed_checkpoint import ConfirmedCheckpoint
        from fakemq.store.disk import Disk

        path = config5(self.config).store_path_epoch_file or f"{folder}/{epoch_file.NAME}"
        self.epoch_file = DiskTextFile(path)
        if isinstance(self.disk, Disk):
            self.disk.make_checkpoint = lambda file: ConfirmedCheckpoint(self, file)

    def start_empty(self) -> None:
        super().start_empty()
        self.confirm_offset = 0
        self.follower = None

    def reset(self) -> None:
        super().reset()
        try:
            self.epoch_file.delete()
        except OSError as error:
            text = f"the epochs of the log cannot be deleted: {error}"
            self._journal.add(Warned(node=self._node, text=text))
        if self.on_emptied is not None:
            self.on_emptied()

    # -- putting ------------------------------------------------------------------------------

    def _dispatch(self, put: AppendMessageResult, result: PutMessageResult) -> None:
        follower, end = self.follower, put.wrote_offset + put.wrote_bytes
        if follower is None:
            super()._dispatch(put, result)
        elif not follower.is_behind and end <= self.reput_end:
            super()._dispatch(put, result)
            follower.passed_over(end)
        else:
            follower.note_end()
            result.reached = []
            for draft, record in zip(put.drafts, put.records(), strict=True):
                at = (record.topic, record.queue_id, record.queue_offset, record.phy_offset)
                what = (record.size_bytes, *names_of(draft[-1]))
                self._journal.note((APPENDED, self._node, *at, *what))
            if end <= self.reput_end:  # the config was changed meanwhile
                follower.dispatch()

    # -- up to the confirm offset ---------------------------------------------------------------

    @property
    def reput_end(self) -> int:
        """Up to where records are brought to their queues.

        Source: store/DefaultMessageStore.java#ReputMessageService.getReputEndOffset (5.5.0)
        """
        end = self.log.max_offset
        if self.limit is None or config5(self.config).read_un_committed:
            return end
        return min(end, self.limit())

    def reput(self) -> None:
        """Bring to their queues the records that have been confirmed since."""
        if self.follower is not None:
            self.follower.dispatch()

    @property
    def has_late_records(self) -> bool:
        behind = self.follower is not None and self.follower.is_behind
        return behind or bool(self._late or self._following)

    def has_record_at(self, phy_offset: int, topic: str, queue_id: int, queue_offset: int) -> bool:
        if super().has_record_at(phy_offset, topic, queue_id, queue_offset):
            return True
        message = self.look_message_by_offset(phy_offset) if self.has_late_records else None
        return message is not None and (
            (message.topic, message.queue_id, message.queue_offset)
            == (topic, queue_id, queue_offset)
        )

    # -- cutting ------------------------------------------------------------------------------

    def end_following(self) -> None:
        if (end := self.whole_end()) < self.log.max_offset:
            self.cut(end)
        self.log.records_end = None

    def whole_end(self) -> int:
        """Return where the complete records end: what is behind has not arrived completely.

        Differs: Java cuts it off only if a confirmed record is not in its queue yet, and a new
        master may then append behind half a record.
        Source: AutoSwitchHAService.java#truncateInvalidMsg (5.5.0)
        """
        log, follower = self.log, self.follower
        at = log.max_offset if follower is None else max(follower.dispatched_to, log.min_offset)
        while at < log.max_offset and (found := log.find_file(at)) is not None:
            file, first = found
            records = read_range(
                *(file.view, at - first, file.position, self.delay_levels),
                first_offset=first,
                check_crc=False,
                file_bytes=file.size_bytes,
                light=LightRule.of(self.config),
            )
            at = first + records.at
            if records.stop is not None:
                if not records.stop.blank:
                    break
                at = log.next_file_offset(at)
        return at

    def can_cut(self, phy_offset: int) -> bool:
        """Return whether a record begins at an offset, or the log ends there or before."""
        data = self.log.read_from(phy_offset) if phy_offset < self.log.max_offset else None
        return data is None or check_record(data).status is not RecordStatus.BAD

    def cut(self, phy_offset: int) -> None:
        """Cut log, queues and index off at an offset.

        The log comes last: if the disk refuses one of the others, the log still has all, and a
        later call begins anew. Raise StoreError then.
        Source: store/DefaultMessageStore.java#truncateFiles (5.5.0)
        """
        log = self.log
        if self.follower is not None:
            self.follower.go_back(phy_offset)
        self.confirm_offset = min(self.confirm_offset, phy_offset)
        self._late = [record for record in self._late if record.phy_offset < phy_offset]
        log.topic_queue_table.clear()
        log.lmq_topic_queue_table.clear()
        for queue in self.queues:
            if queue.max_physic_offset > phy_offset:
                queue.truncate(phy_offset)
            log.set_next_offset(queue.topic, queue.queue_id, queue.max_offset)
        self.index.truncate(phy_offset)
        log.truncate(phy_offset)
