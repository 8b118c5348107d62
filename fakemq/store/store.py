"""The message store of one broker: puts, gets and look-ups.

Source: store/DefaultMessageStore.java (4.9.7)
"""

# Over 400 lines: one short method for each question that a broker asks its store.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, Protocol

from fakemq.clock.slices import finished
from fakemq.errors import StoreError
from fakemq.events.core import AppendRefused
from fakemq.journal.noted import APPENDED, names_of
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.message import (
    LEAST_TAGS_CODE,
    TOPIC_MAX_BYTES,
    MessageExt,
    decode_record,
    record_properties,
)
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    INNER_MULTI_DISPATCH,
    PROPERTIES_MAX_BYTES,
    encode_properties_as_java,
)
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.protocol.topics import LMQ_PREFIX, SCHEDULE_TOPIC, TRANS_OP_HALF_TOPIC
from fakemq.store.commitlog import CommitLog
from fakemq.store.consumequeue import UNIT_BYTES, ConsumeQueue, ConsumeQueues
from fakemq.store.delay_detour import DelayLevels
from fakemq.store.disk_space import DiskSpace
from fakemq.store.index import IndexService
from fakemq.store.log_dispatch import LogDispatch
from fakemq.store.memory_files import machine_ram_bytes
from fakemq.store.puts import PutMessageResult, put_ended
from fakemq.store.queue_folders import why_no_queue
from fakemq.store.reading import read_queue
from fakemq.store.results import GetMessageResult, LogRecord, PutMessageStatus, QueryMessageResult
from fakemq.store.retention import Retention
from fakemq.store.stats import StoreStats
from fakemq.store.writing import draft_batch, draft_message, set_host_flags

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.config.keys import BrokerRole
    from fakemq.config.model import BrokerConfig
    from fakemq.journal.journal import Journal
    from fakemq.protocol.properties import PropertiesEncoder
    from fakemq.store.directory_files import DirectoryFiles
    from fakemq.store.files import File, Files
    from fakemq.store.findings import Topics
    from fakemq.store.flush import Flush
    from fakemq.store.following import Following
    from fakemq.store.held_lock import HeldLock
    from fakemq.store.inner_message import InnerMessage, RecordDraft
    from fakemq.store.message_filter import MessageFilter
    from fakemq.store.puts import AppendMessageResult
    from fakemq.store.writing import PutListener

KEPT_TOPICS: Final = frozenset({SCHEDULE_TOPIC, TRANS_OP_HALF_TOPIC})
"""Topics without a config whose queues stay when unused topics are cleaned; light ones stay, too.
"""
PUT_OK: Final = PutMessageStatus.PUT_OK
_ILLEGAL: Final = PutMessageStatus.MESSAGE_ILLEGAL
_UNKNOWN_ERROR: Final = PutMessageStatus.UNKNOWN_ERROR
_FOLLOW_A_STEP: Final = 100


def needs_config(topic: str) -> bool:
    """Return whether the queues of a topic are deleted when it has no config.

    Source: store/DefaultMessageStore.java#cleanUnusedTopic (4.9.7)
    """
    return topic not in KEPT_TOPICS and not topic.startswith(LMQ_PREFIX)


class StoreDirectory(Protocol):
    """What brokers use of a store's directory, which `fakemq.store.disk.Disk` manages."""

    flush: Flush
    on_read: Callable[[int, int], None] | None

    @property
    def files(self) -> DirectoryFiles: ...
    def start(self, load_tables: Callable[[bool], Topics | None] = ...) -> None: ...
    def stop(self) -> None: ...
    def kill(self, *, lose_unsynced: bool = False) -> None: ...
    def emptied(self, index: IndexService) -> None: ...


class QueueMaker:
    """Makes the queues of a store: with an extension, if the config says so at that moment."""

    def __init__(self, config: BrokerConfig) -> None:
        self.filter_bits: Callable[[str, Mapping[str, str]], bytes] | None = None
        """Returns the bits of the filters for a topic that these properties match; None until the
        broker has set it."""
        self.log: CommitLog | None = None
        """The log with the records of the queues."""
        self._config = config

    def make(self, topic: str, queue_id: int, files: Files, file_size_bytes: int) -> ConsumeQueue:
        """Return an empty queue; raise NoQueueError if no store can have it."""
        if not self._config.enable_consume_queue_ext:
            return ConsumeQueue(topic, queue_id, files, file_size_bytes)
        from fakemq.store.queue_extension import ExtendedQueue  # few stores have such

        return ExtendedQueue(
            topic, queue_id, files, file_size_bytes, self._config, self._bit_map_at
        )

    def _bit_map_at(self, topic: str, phy_offset: int) -> bytes:
        """Return the bits of the filters for a topic that a record matches; b"" for none."""
        record = None if self.log is None else self.log.record_at(phy_offset)
        if record is None or self.filter_bits is None:
            return b""
        try:
            return self.filter_bits(topic, record_properties(record))
        except RemoteProtocolError:
            return b""


class StoreRole:
    """The role that a broker has now, as its store and its parts ask for it each time.

    `fakemq.broker.role.Role` changes it, nothing else.
    """

    lowest: bool | None = None
    """Whether it is the lowest of its group that lives; None without acting masters."""

    def __init__(self, name: BrokerRole) -> None:
        self.take(name)

    def take(self, name: BrokerRole, *, fenced: bool = False) -> None:
        """Have another role from now on.

        A ``fenced`` broker waits for a controller to give it one. It counts as a slave: it takes no
        messages and has no duties.
        """
        self.name: BrokerRole = name
        self.fenced = fenced
        self.is_slave = fenced or name == "SLAVE"
        self.is_sync_master = name == "SYNC_MASTER" and not fenced
        self.has_duties = not self.is_slave if self.lowest is None else self.lowest and not fenced
        """Whether it does what one broker of a group does: it delivers what is delayed, and so on.
        """

    def be_lowest(self, lowest: bool | None) -> None:
        """Have the duties if it is the lowest of its group; None: if it is a master."""
        self.lowest = lowest
        self.take(self.name, fenced=self.fenced)

    @property
    def acts_as_master(self) -> bool:
        """Whether it is a slave with a master's duties, which still takes no messages."""
        return self.is_slave and self.has_duties


class MessageStore:
    """Stores messages and finds them again. Not thread-safe: used on the cluster's own thread.

    ``ram_size_bytes`` is what Java would read from the machine: entries further back than
    accessMessageInMemoryMaxRatio percent of it count as on disk.
    """

    def __init__(
        self,
        config: BrokerConfig,
        files: Files,
        clock: NodeClock,
        journal: Journal,
        node: str,
        ram_size_bytes: int | None = None,
    ) -> None:
        self.config = config
        self.role = StoreRole(config.broker_role)
        """The role of its broker: a slave's store takes bytes of its master, and no messages."""
        self.delay_levels = DelayLevels(config.message_delay_level)
        self.stats = StoreStats(clock)
        self.ram_size_bytes = machine_ram_bytes() if ram_size_bytes is None else ram_size_bytes
        self.files = files
        self._clock = clock
        self._journal = journal
        self._node = node
        self.disk: StoreDirectory | None = None
        """Its directory, which sets this attribute itself; None for a store in memory."""
        self.put_listeners: list[PutListener] = []
        """Called in this order; each listener adds and removes itself."""
        self.on_late: Callable[[PutMessageResult], None] = _nothing
        """Called with records that reached their queue only after their put had ended."""
        self.on_light: Callable[[str], None] = _nothing
        """Called with the name of a light queue that has got records of a master's log."""
        self.divert: Callable[[InnerMessage], PutMessageStatus | None] | None = None
        """Called with each message before it is put, if the broker has timers: it may change its
        topic, or return why it is refused."""
        self.queue_maker = QueueMaker(config)
        self.encode_properties: PropertiesEncoder = encode_properties_as_java
        """How properties are written that the store changes; that of the broker's reference."""
        self._index_tags = False
        self.held_lock: HeldLock | None = None
        """The lock of the log, while a fault lets a put hold it."""
        self.disk_space = DiskSpace(config, files, clock, journal, node)
        self.retention = Retention(config, self.disk_space, clock, journal, node)
        self.start_empty()

    def start_empty(self) -> None:
        """Make log, queues and index anew, all empty; the files stay as they are."""
        config, files = self.config, self.files
        self.log = CommitLog(files, config.mapped_file_size_commit_log)
        self.queue_maker.log = self.log
        size_bytes = config.mapped_file_size_consume_queue
        self.queues = ConsumeQueues(files, size_bytes, self.queue_maker.make)
        self._late: list[LogRecord] = []
        self._following: deque[Following] = deque()
        self.recovered_to: int | None = None
        """Up to where a recovery has brought the log to the queues, if not up to its end."""
        self.index = IndexService(config, files, self.log, self.disk_space.index_failed)
        self.index.tags = self._index_tags
        self.dispatch = LogDispatch(config, self.queues, self.index, self._journal, self._node)
        self.retention.over(self.log, self.queues, self.index)

    def keep_in(self, folder: str) -> None:
        """Keep in a user's directory what is in no file of the store."""

    def index_tags(self) -> None:
        """Index records by their tags, too, as the broker's reference does."""
        self._index_tags = self.index.tags = True

    def reset(self) -> None:
        """Delete everything and begin with an empty store."""
        self.files.clear()
        self.start_empty()
        if self.disk is not None:
            self.disk.emptied(self.index)
        self.stats.start()
        self.retention.reset()

    def settle(self) -> Steps[None]:
        """Bring the index up to date, so that `settled_files` has little to do."""
        yield from self.index.catch_up_in_steps()

    def settled_files(self) -> Iterable[File]:
        """Return the files, after queues and index have been brought up to date."""
        self.finish_work()
        self.index.catch_up()
        return list(self.files.opened())

    # -- putting ------------------------------------------------------------------------------

    def put_message(self, message: InnerMessage) -> PutMessageResult:
        """Append a message to the log, and bring it to its queue.

        A host with an IPv6 address sets its bit in ``message.sys_flag``. A message with a delay
        level goes to the schedule topic. The caller waits for flush and replication: the result
        says up to which bytes. The caller also wakes the consumers that wait for the records of
        the result.
        Source: store/DefaultMessageStore.java#asyncPutMessage, #checkMessage,
        store/CommitLog.java#asyncPutMessage (4.9.7)
        """
        config = self.config
        if self.role.is_slave:
            return self._refused(message, PutMessageStatus.SERVICE_NOT_AVAILABLE)
        if self.held_lock is not None and self.held_lock.page_cache_busy:
            return self._refused_by_page_cache(message, self.held_lock)
        most_bytes = config.max_message_size
        # In characters, as Java counts; their bytes are looked at with the draft.
        plain = message.plain is not None
        if (
            len(message.topic) > TOPIC_MAX_BYTES
            or len(message.body) > most_bytes
            or (not plain and len(message.properties_string) > PROPERTIES_MAX_BYTES)
        ):
            return self._refused(message, _ILLEGAL)
        # A queue that had a message needs no check: most puts end here without another call. A
        # delayed message is checked for the queue that it is on its way to.
        if (message.topic, message.queue_id) not in self.log.topic_queue_table:
            why = why_no_queue(message.topic, message.queue_id)
            if why:
                return self._refused(message, _ILLEGAL, why)
        if plain:
            return self._put(message, draft_message(message, most_bytes))
        if self.divert is not None:
            status = self.divert(message)
            if status is not None:
                return self._refused(message, status)
        if DELAY_TIME_LEVEL in message.properties:
            self.delay_levels.divert(message, self.encode_properties)
        if config.enable_multi_dispatch and INNER_MULTI_DISPATCH in message.properties:
            return self._put_into_queues(message)
        return self._put(message, draft_message(message, most_bytes))

    def _put_into_queues(self, message: InnerMessage) -> PutMessageResult:
        """Put a message that may name further queues.

        Java encodes such a message where all errors become an unknown one. Like Java, this refuses
        no message because there are too many light queues: Java looks at the wrong status.
        """
        from fakemq.store.light_queues import (
            TOO_MANY,
            LightRule,
            MultiDispatch,
            names_queues,
        )  # most have none

        max_size, rule = self.config.max_message_size, LightRule.of(self.config)
        if not names_queues(message.properties) or not rule.takes(message.topic):
            return self._put(message, draft_message(message, max_size))
        multi_dispatch = MultiDispatch(self.config, self.log)
        entries = multi_dispatch.wrap(message, self.encode_properties)
        if entries is None:
            return self._refused(message, _ILLEGAL, TOO_MANY)
        drafts = draft_message(message, max_size)
        if isinstance(drafts, PutMessageStatus):
            return self._refused(message, _UNKNOWN_ERROR)
        result = self._put(message, drafts)
        if result.append_result is not None and (
            message.sys_flag & MessageSysFlag.TRANSACTION_MASK not in UNQUEUED
        ):
            multi_dispatch.taken(entries)
        return result

    def put_messages(
        self, batch: InnerMessage, drafts: list[RecordDraft] | PutMessageStatus | None = None
    ) -> PutMessageResult:
        """Append the messages of a batch next to each other, in one file.

        ``drafts`` are those of `draft_batch`, if the caller has made them in slices. Then they
        follow to their queue in slices, too.
        Source: store/DefaultMessageStore.java#asyncPutMessages (4.9.7)
        """
        if self.role.is_slave:
            return self._refused(batch, PutMessageStatus.SERVICE_NOT_AVAILABLE)
        if self.held_lock is not None and self.held_lock.page_cache_busy:
            return self._refused_by_page_cache(batch, self.held_lock)
        why = why_no_queue(batch.topic, batch.queue_id)
        if why:
            return self._refused(batch, _ILLEGAL, why)
        if drafts is None:
            config = self.config
            drafted = draft_batch(
                *(batch, config.max_message_size, config.mapped_file_size_commit_log),
                multi_dispatch=config.enable_multi_dispatch,
            )
            return self._put(batch, finished(drafted))
        set_host_flags(batch)  # as in the batch from which the drafts were made
        return self._put(batch, drafts, follow=True)

    def _put(
        self,
        message: InnerMessage,
        drafts: list[RecordDraft] | PutMessageStatus,
        *,
        follow: bool = False,
    ) -> PutMessageResult:
        if not isinstance(drafts, list):
            return self._refused(message, drafts)
        number, log = len(drafts), self.log
        size_bytes = drafts[0][3] if number == 1 else sum([draft[3] for draft in drafts])
        if size_bytes > log.most_bytes:
            # Java answers PUT_OK for a put larger than a file, and loses it.
            return self._refused(message, _ILLEGAL)
        now_ms = self._clock.now_ms()
        space, needed_bytes = self.disk_space, size_bytes + UNIT_BYTES * number
        reason = space.refusal(needed_bytes, now_ms)
        if reason is not None:
            return self._refused(message, PutMessageStatus.SERVICE_NOT_AVAILABLE, reason)
        if message.topic == SCHEDULE_TOPIC:
            drafts = self.delay_levels.dated(drafts, now_ms)
        try:
            appended = log.append(message, drafts, size_bytes, now_ms)
        except StoreError as error:
            failed = PutMessageStatus.CREATE_MAPEDFILE_FAILED
            space.warn(str(error), failed.name, needed_bytes)
            return self._refused(message, failed, str(error))
        if space.refused_bytes:
            space.taken(needed_bytes)
        if appended.wrote_offset % log.file_size_bytes == 0:
            self.retention.plan()  # a new file was begun: the file before may be deleted some day
        self.stats.put(number, size_bytes)
        result = put_ended(PUT_OK, appended)
        if follow or self._following:
            self._let_follow(appended, result)
        elif number:  # a batch may be empty
            self._dispatch(appended, result)
        for listener in self.put_listeners:
            listener.stored(message, result)
        return result

    def _dispatch(self, put: AppendMessageResult, result: PutMessageResult) -> None:
        """Write `LogAppended` for each record of a put, or of a part of one, and dispatch it."""
        if not self._late and self.dispatch.dispatch_put(put):
            return
        result.reached = []
        for draft, record in zip(put.drafts, put.records(), strict=True):
            at = (record.topic, record.queue_id, record.queue_offset, record.phy_offset)
            what = (record.size_bytes, *names_of(draft[-1]))
            self._journal.note((APPENDED, self._node, *at, *what))
            try:
                if not self._late:
                    light = self.dispatch.dispatch(record)
                    if light:
                        result.light = [*result.light, *light]
                    result.reached.append(record)
                else:
                    self._late.append(record)
            except StoreError as error:
                # The record is in the log, and a later try, or the next start, brings it to its
                # queue. Until then puts are refused.
                self._late.append(record)
                self.disk_space.failed(error, self._dispatch_late)

    def _let_follow(self, appended: AppendMessageResult, result: PutMessageResult) -> None:
        """Dispatch the records of a put in slices, behind those of earlier puts."""
        from fakemq.store.following import Following  # few runs have a large batch

        result.reached = []
        put = Following(appended, self._journal.resume())
        self._following.append(put)
        if not self._clock.unfinished(self):
            self._clock.carry_out(self.dispatch_following(), peer=self)
        if put.left:
            result.when_queued = put.when_queued

    def dispatch_following(self) -> Steps[None]:
        """Bring the records of all puts to their queues; each step does some of them."""
        while self._following:
            put = self._following[0]
            with put.within():
                part = put.take(_FOLLOW_A_STEP)
                result = put_ended(PUT_OK, part)
                self._dispatch(part, result)
                if not put.left:
                    self._following.popleft()
                self.on_late(result)
                if not put.left:
                    put.queued()
            yield

    @property
    def has_late_records(self) -> bool:
        """Whether records of the log are not in their queues yet."""
        return bool(self._late or self._following)

    def has_record_at(self, phy_offset: int, topic: str, queue_id: int, queue_offset: int) -> bool:
        """Return whether the log has the message of a queue offset there.

        Its queue says so, or it is on its way to its queue.
        """
        queue = self.queues.find(topic, queue_id)
        unit = None if queue is None else queue.unit_at(queue_offset)
        if unit is not None:
            return unit[0] == phy_offset
        place = topic, queue_id, queue_offset, phy_offset
        return any(put.has(*place) for put in self._following) or any(
            (late.topic, late.queue_id, late.queue_offset, late.phy_offset) == place
            for late in self._late
        )

    def finish_work(self) -> None:
        """Do what is done in slices up to its end, before the store is stopped or copied."""
        finished(self.dispatch_following())
        finished(self.retention.deletion_of_files())

    def end_following(self) -> None:
        """Follow no master any more: cut off the record at the end that has not arrived completely.

        A store in a directory that is stopped does this at its next start.
        """
        log = self.log
        end, log.records_end = log.whole_end, None
        if end < log.max_offset:
            log.truncate(end)

    def _dispatch_late(self) -> None:
        """Dispatch the records that their queues could not take; raise StoreError if one cannot."""
        while self._late:
            light = self.dispatch.dispatch(self._late[0])
            self.on_late(put_ended(PUT_OK, reached=[self._late.pop(0)], light=light))

    def _refused(
        self, message: InnerMessage, status: PutMessageStatus, reason: str = ""
    ) -> PutMessageResult:
        if status is PutMessageStatus.PROPERTIES_SIZE_EXCEEDED:
            self.stats.put_failed()  # the only refusal that Java counts: it comes last, at the log
        self._journal.add(AppendRefused(node=self._node, topic=message.topic, status=status.name))
        return put_ended(status, reason=reason)

    def _refused_by_page_cache(self, message: InnerMessage, lock: HeldLock) -> PutMessageResult:
        lock.fault.hit(self._node, f"a message of {message.topic}")
        return self._refused(message, PutMessageStatus.OS_PAGECACHE_BUSY)

    # -- getting ------------------------------------------------------------------------------

    def get_message(
        self,
        group: str,
        topic: str,
        queue_id: int,
        offset: int,
        max_msg_nums: int,
        message_filter: MessageFilter | None = None,
    ) -> GetMessageResult:
        """Return messages of one queue from ``offset`` on, as slices of the log.

        At least one is returned if one matches, then as many as fit into the limits of count and
        bytes. Without a filter everything matches.
        Source: store/DefaultMessageStore.java#getMessage (4.9.7)
        """
        memory_bytes = self._memory_bytes()
        if self.config.enable_lmq:
            self._ask_for(topic, queue_id)
        result = read_queue(
            self.queues.find(topic, queue_id),
            self.log,
            self.config,
            self.role.is_slave,
            memory_bytes,
            offset,
            max_msg_nums,
            message_filter,
        )
        self.stats.got(result.message_count)
        return result

    def has_too_many_light_queues(self, topic: str) -> bool:
        """Return whether gets of this topic are refused because there are too many light queues.

        Only with enableLmq, which the caller has looked at.
        Source: store/DefaultMessageStore.java#getMessage, #isLmqConsumeQueueNumExceeded (4.9.7)
        """
        config = self.config
        return (
            config.enable_multi_dispatch
            and topic.startswith(LMQ_PREFIX)
            and self.queues.light_count > config.max_lmq_consume_queue_num
        )

    def _ask_for(self, topic: str, queue_id: int) -> None:
        """Count a light queue as Java does when a peer asks for one that has no message."""
        most = self.config.max_lmq_consume_queue_num
        if topic.startswith(LMQ_PREFIX) and self.queues.light_count <= most:
            self.queues.ask_for_light(topic, queue_id)

    def _memory_bytes(self) -> int:
        # How far behind the log's end a record still counts as in memory.
        return int(self.ram_size_bytes * (self.config.access_message_in_memory_max_ratio / 100.0))

    def check_in_disk_by_consume_offset(self, topic: str, queue_id: int, offset: int) -> bool:
        """Return whether the message at a queue offset is old enough to count as on disk.

        Source: store/DefaultMessageStore.java#checkInDiskByConsumeOffset (4.9.7)
        """
        unit = self.queue_unit(topic, queue_id, offset)
        return unit is not None and self.log.max_offset - unit[0] > self._memory_bytes()

    # -- offsets and times --------------------------------------------------------------------

    @property
    def max_phy_offset(self) -> int:
        """The physical offset of the commit log's end."""
        return self.log.max_offset

    @property
    def min_phy_offset(self) -> int:
        """The physical offset of the commit log's first byte; -1 if the log is empty."""
        return self.log.min_offset

    def queue_ids(self, topic: str) -> list[int]:
        """Return the queues of a topic that ever had a message, ascending."""
        return self.queues.ids(topic)

    def consume_queue(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return a queue, if it ever had a message."""
        return self.queues.find(topic, queue_id)

    def max_offset_in_queue(self, topic: str, queue_id: int) -> int:
        """Return the queue offset of the next message; 0 if the queue does not exist."""
        if self.config.enable_lmq:
            self._ask_for(topic, queue_id)
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.max_offset

    def min_offset_in_queue(self, topic: str, queue_id: int) -> int:
        """Return the queue offset of the first message; 0 if the queue does not exist."""
        if self.config.enable_lmq:
            self._ask_for(topic, queue_id)
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.min_offset

    def queue_unit(self, topic: str, queue_id: int, offset: int) -> tuple[int, int, int] | None:
        """Return physical offset, size and tags code of a queue's entry; None if there is none.

        If a unit of an extension has its tags code, and is not found, the code is computed anew.
        Source: store/schedule/ScheduleMessageService.java#executeOnTimeup (4.9.7)
        """
        queue = self.queues.find(topic, queue_id)
        unit = None if queue is None else queue.unit_at(offset)
        if queue is None or unit is None or unit[2] >= LEAST_TAGS_CODE:
            return unit
        phy_offset, size_bytes, address = unit
        code = queue.tags_code_of(address)
        if code is None:
            message = self.look_message_by_offset(phy_offset, size_bytes)
            if message is None:
                return phy_offset, size_bytes, 0
            code = self.delay_levels.queue_code(
                topic, message.properties, message.store_timestamp_ms
            )
        return phy_offset, size_bytes, code

    def offset_in_queue_by_time(self, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """Return the queue offset nearest to a store time; see `ConsumeQueue.offset_by_time`."""
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.offset_by_time(timestamp_ms, self.log)

    def boundary_in_queue_by_time(
        self, topic: str, queue_id: int, timestamp_ms: int, *, upper: bool = False
    ) -> int:
        """Return the queue offset at a store time; see `ConsumeQueue.boundary_by_time`."""
        queue = self.queues.find(topic, queue_id)
        return 0 if queue is None else queue.boundary_by_time(timestamp_ms, self.log, upper=upper)

    def message_store_timestamp(self, topic: str, queue_id: int, offset: int) -> int:
        """Return the store time of the message at a queue offset, in ms; -1 if there is none.

        Source: store/DefaultMessageStore.java#getMessageStoreTimeStamp (4.9.7)
        """
        unit = self.queue_unit(topic, queue_id, offset)
        return -1 if unit is None else self.log.store_timestamp_ms(unit[0], unit[1])

    def earliest_message_time(self, topic: str, queue_id: int) -> int:
        """Return the store time of the first message of a queue, in ms; -1 if there is none.

        Source: store/DefaultMessageStore.java#getEarliestMessageTime (4.9.7)
        """
        return self.message_store_timestamp(
            topic, queue_id, self.min_offset_in_queue(topic, queue_id)
        )

    # -- single records -----------------------------------------------------------------------

    def select_one_message_by_offset(
        self, phy_offset: int, size_bytes: int | None = None
    ) -> memoryview | None:
        """Return the bytes of the record at a physical offset, not copied; None if there is none.

        Source: store/DefaultMessageStore.java#selectOneMessageByOffset (4.9.7)
        """
        if size_bytes is None:
            return self.log.record_at(phy_offset)
        return self.log.read(phy_offset, size_bytes)

    def look_message_by_offset(
        self, phy_offset: int, size_bytes: int | None = None
    ) -> MessageExt | None:
        """Return the message at a physical offset; None if no record begins there.

        Source: store/DefaultMessageStore.java#lookMessageByOffset (4.9.7)
        """
        record = self.select_one_message_by_offset(phy_offset, size_bytes)
        try:
            return None if record is None else decode_record(record)
        except RemoteProtocolError:
            return None

    def messages_in_queue(
        self, topic: str, queue_id: int, since: int = 0, until: int | None = None
    ) -> Iterator[MessageExt]:
        """Yield the messages of a queue from ``since`` to before ``until``, in order.

        By default it ends before the first message that is stored later. Deleted messages are
        skipped, and a queue that is deleted meanwhile has no more.
        """
        queue = self.queues.find(topic, queue_id)
        if queue is None:
            return
        offset, end = max(since, queue.min_offset), queue.max_offset
        if until is not None:
            end = min(end, until)
        while offset < end and self.queues.find(topic, queue_id) is queue:
            unit = queue.unit_at(offset)
            message = None if unit is None else self.look_message_by_offset(unit[0], unit[1])
            if message is not None:
                yield message
            offset += 1

    def query_message(
        self, topic: str, key: str, max_num: int, begin_ms: int, end_ms: int
    ) -> Steps[QueryMessageResult]:
        """Return records of a topic that have ``key`` (or another of the same hash), oldest first.

        At most maxMsgsNumBatch of the newest stored within [begin, end].
        Source: store/DefaultMessageStore.java#queryMessage (4.9.7, 5.5.0)
        """
        result = QueryMessageResult()
        for _ in range(3 if self.config.index_file_read_enable else 0):
            found = yield from self.index.query(topic, key, max_num, begin_ms, end_ms)
            if not found.offsets:
                break
            result.index_last_update_timestamp = found.last_timestamp_ms
            result.index_last_update_phyoffset = found.last_offset
            records = [self.log.record_at(offset) for offset in sorted(found.offsets)]
            result.buffers += [record for record in records if record is not None]
            if result.buffers:
                break
            # All records found are deleted: like Java, ask again, three times in all.
        return result

    # -- deleting -----------------------------------------------------------------------------

    def delete_consume_queue(self, topic: str) -> None:
        """Delete the queues of a topic; its records stay in the log."""
        if topic.startswith(LMQ_PREFIX):
            self.queues.forget_light(topic)
        for queue_id in self.queues.delete(topic):
            self.log.forget_queue(topic, queue_id)
        self.disk_space.refused_bytes = 0
        self.retention.delete_files_of_queues()

    def clean_unused_topic(self, topics: AbstractSet[str]) -> None:
        """Delete the queues of every topic that is not in ``topics``.

        Source: store/DefaultMessageStore.java#cleanUnusedTopic (4.9.7)
        """
        for topic in self.queues.topics() - topics:
            if needs_config(topic):
                self.delete_consume_queue(topic)

    def delete_expired_files(self, phy_offset: int) -> int:
        """Delete log files wholly before an offset, but never the last; return how many.

        The queues' minimum offsets move with it.
        """
        return self.retention.delete_before(phy_offset)

    # -- state --------------------------------------------------------------------------------

    @property
    def bytes_used(self) -> int:
        """The bytes of all records, queue entries and index entries."""
        return self.files.used_bytes

    def used_ratio(self) -> float:
        """Return how full the disk of the store is, from 0 to 1."""
        return self.disk_space.used_ratio()

    def __repr__(self) -> str:
        return f"<store of {self._node}, {self.bytes_used} bytes>"


def _nothing(_: object) -> None:
    """Default of `on_late` and `on_light`."""
