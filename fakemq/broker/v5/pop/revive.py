"""Revive: messages that were popped and not acknowledged in time go to their retry topic.

A record of the revive topic is read when it arrives there, which is shortly before the messages of
its checkpoint become visible. Java then scans each queue every second, and revives a checkpoint
when the newest time that it has seen is over two seconds behind that moment. Here each queue has
one deadline: `LAG_MS` after the messages of a checkpoint become visible. A checkpoint whose
messages are all acknowledged is done at once, and has no deadline.

Source: broker/processor/PopReviveService.java (5.5.0)
"""

# Over 400 lines: reading, waiting and reviving share the queues.

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from fakemq.broker import addresses
from fakemq.broker.tables.consume_stats import MAX_QUEUES
from fakemq.broker.v5.pop.records import index_of_ack, is_done, merge_key_of_ack
from fakemq.broker.v5.pop.revive_log import ACK_TIME_INTERVAL_MS
from fakemq.broker.v5.pop.revive_queue import FEW, ReviveQueue
from fakemq.events.core import failure
from fakemq.events.pop import Revived
from fakemq.later import Later, drive
from fakemq.protocol.bodies.pop import AckMsg, BatchAckMsg, PopCheckPoint
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.errors import BodyError
from fakemq.protocol.java import int32, int64
from fakemq.protocol.limits import RECORD_JSON, RECORD_MAX_BYTES
from fakemq.protocol.pop import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CK_TAG,
    FIRST_POP_TIME,
    ORIGIN_GROUP,
    REVIVE_GROUP,
    normal_topic,
    pop_retry_topic,
)
from fakemq.protocol.properties import TAGS, UNIQ_CLIENT_MESSAGE_ID_KEYIDX, MadeProperties
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.protocol.v5.properties import as_read, encode_properties
from fakemq.store.inner_message import InnerMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from fakemq.broker.tables.groups import SubscriptionGroupManager
    from fakemq.broker.tables.offsets import ConsumerOffsetManager
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.broker.v5.escape.reading import RemoteRead, Take
    from fakemq.broker.v5.pop.inflight import InflightCounter
    from fakemq.broker.v5.pop.revive_log import ReviveLog
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits
    from fakemq.protocol.message import MessageExt
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.store import MessageStore

LAG_MS: Final = ACK_TIME_INTERVAL_MS + 1_000 + 1
"""How long after the end of its invisible time a message goes to its retry topic."""

HAND_OVER_RETRY_MS: Final = 1_000
"""How long an acting master waits after a refused checkpoint. Java: half a second, three times.

Each further refusal adds as much, up to `HAND_OVER_MOST_MS`.
"""
HAND_OVER_MOST_MS: Final = 10_000

QUIET_MS: Final = 100
"""A checkpoint that comes late waits this long for its acknowledgements, which come behind it."""

REPUT_INTERVALS_S: Final = (
    *(10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200),
)
RETRY_QUEUE_NUM: Final = 1
_RECORD_TYPES: Final[dict[str, type[PopCheckPoint | AckMsg]]] = {
    CK_TAG: PopCheckPoint,
    ACK_TAG: AckMsg,
    BATCH_ACK_TAG: BatchAckMsg,
}
"""What a record of the revive topic is, by its tag."""


class PopRevive:
    """All revive queues of one broker. A slave revives nothing, unless it acts as master."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        settings: BrokerConfig5,
        store: MessageStore,
        topics: TopicConfigManager,
        groups: SubscriptionGroupManager,
        offsets: ConsumerOffsetManager,
        inflight: InflightCounter,
        log: ReviveLog,
        *,
        put: Callable[[InnerMessage], PutMessageResult],
        read: Callable[[PopCheckPoint, Take], Later[None]],
    ) -> None:
        self._node = node
        self._settings = settings
        self._store = store
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._inflight = inflight
        self._log = log
        self._put = put
        """Stores a message and wakes those that wait for it."""
        self._read_there = read
        """Reads the messages of a checkpoint of another broker; done when all were taken."""
        self._queues: dict[int, ReviveQueue] = {}
        self._acts_ms = 0
        """When it began to revive."""
        node.clock.on_jump.append(self._look_again)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Read what the revive topic has behind the committed offsets."""
        self.stop()
        self._log.queues = self._settings.revive_queue_num
        self._acts_ms = self._node.clock.now_ms()
        if not self._store.role.has_duties:
            return
        for queue_id in range(self._log.queues):
            committed = self._offsets.query(REVIVE_GROUP, self._log.topic, queue_id)
            # A kill may lose records, and keep the offset that was committed behind them.
            last = self._store.max_offset_in_queue(self._log.topic, queue_id) - 1
            committed = min(committed, last)
            self._queues[queue_id] = ReviveQueue(queue_id, committed)
            self.arrived(queue_id)

    def stop(self) -> None:
        """Stop; the next start reads again what is not done."""
        for queue in self._queues.values():
            self._node.clock.cancel(queue.timer)
        self._queues = {}

    # -- reading ------------------------------------------------------------------------------

    def arrived(self, queue_id: int) -> None:
        """Read new records of a revive queue, and set its deadline.

        Source: PopReviveService.java#consumeReviveMessage (5.5.0)
        """
        queue = self._queues.get(queue_id)
        if queue is None:
            return
        written, offset = self._log.written, queue.next_offset
        end = self._store.max_offset_in_queue(self._log.topic, queue_id)
        if written is not None and end == offset + 1:
            queue.next_offset = end
            self._take(queue, written, offset)
        else:
            for message in self._store.messages_in_queue(self._log.topic, queue_id, offset):
                queue.next_offset = message.queue_offset + 1
                self._read(queue, message)
        queue.quiet_from_ms = self._node.clock.now_ms() + QUIET_MS
        if queue.done_count > FEW:  # else the next scan commits: this is often
            self._commit(queue)
        self._wait(queue)

    def _read(self, queue: ReviveQueue, message: MessageExt) -> None:
        try:
            kind, body = _RECORD_TYPES.get(message.tags or ""), message.body
            if kind is None or len(body) > RECORD_MAX_BYTES:
                return
            record = kind.decode(body, limits=RECORD_JSON)
            if not (self._store.role.is_slave and self._goes_astray(queue, record)):
                self._take(queue, record, message.queue_offset)
        except BodyError:
            return  # a client may have sent this; Java would fail at every scan

    def _take(self, queue: ReviveQueue, record: PopCheckPoint | AckMsg, offset: int) -> None:
        """Take over a record that has this offset in the revive queue."""
        if isinstance(record, PopCheckPoint):
            self._read_checkpoint(queue, record, offset)
        else:
            self._read_ack(queue, record)

    def _read_checkpoint(self, queue: ReviveQueue, ck: PopCheckPoint, offset: int) -> None:
        diffs = ck.queue_offset_diff
        if ck.topic is None or ck.group is None or (diffs and len(diffs) < ck.num):
            return
        ck.revive_offset = offset
        if diffs:
            del diffs[max(0, ck.num) :]  # a peer may send a million more
        queue.add(ck)

    def _read_ack(self, queue: ReviveQueue, ack: AckMsg) -> None:
        # Without a checkpoint it is late: the message is in the retry topic already.
        ck = queue.pending.get(merge_key_of_ack(ack, self._settings.broker_name))
        if ck is None:
            return
        ended: list[int] = []
        offsets: Collection[int] = (ack.ack_offset,) if type(ack) is AckMsg else ack.offsets
        if len(offsets) > ck.num:  # a peer may send millions
            offsets = set(offsets).intersection(ck.unacknowledged())
        for offset in offsets:
            index = index_of_ack(ck, offset)
            if index >= 0 and not ck.bit_map >> index & 1:
                ck.bit_map |= 1 << index
                ended.append(offset)
        written = self._log.written
        if ack is written or ack == written:
            self._log.ended = ended
        if is_done(ck):
            queue.end(ck)

    def _goes_astray(self, queue: ReviveQueue, record: PopCheckPoint | AckMsg) -> bool:
        """Return whether a record is an acknowledgement without effect: its master is away.

        At a real slave that acts as master, what waits in the timer topic goes into any revive
        queue of another broker: an acknowledgement mostly into another one than its checkpoint.
        """
        if isinstance(record, PopCheckPoint):
            return False
        ck = queue.pending.get(merge_key_of_ack(record, self._settings.broker_name))
        if ck is None or ck.revive_time - ACK_TIME_INTERVAL_MS < self._acts_ms:
            return False
        return self._node.randomness.randrange(max(1, self._log.queues)) > 0

    # -- waiting ------------------------------------------------------------------------------

    def _wait(self, queue: ReviveQueue) -> None:
        clock, first = self._node.clock, queue.first()
        due_ms = None if first is None else max(first.revive_time + LAG_MS, queue.quiet_from_ms)
        if due_ms == queue.due_ms:
            return
        clock.cancel(queue.timer)
        queue.timer, queue.due_ms = None, due_ms
        if due_ms is not None:
            queue.timer = clock.call_later(
                due_ms - clock.now_ms(), lambda: self._on_wait_end(queue), kind="pop_revive"
            )

    def _on_wait_end(self, queue: ReviveQueue) -> None:
        queue.timer = queue.due_ms = None
        if queue.under_way is not None:
            return  # it continues after that
        if self._node.clock.now_ms() < queue.not_before_ms:  # a record has arrived since then
            self._wait_for_another(queue)
        else:
            self._node.clock.carry_out(self._scan(queue), peer=queue)

    def _refused(self, queue: ReviveQueue) -> None:
        """Note that no other master has taken the first checkpoint, and wait for one."""
        queue.failures += 1
        wait_ms = min(queue.failures * HAND_OVER_RETRY_MS, HAND_OVER_MOST_MS)
        queue.not_before_ms = self._node.clock.now_ms() + wait_ms
        self._wait_for_another(queue)

    def _wait_for_another(self, queue: ReviveQueue) -> None:
        clock = self._node.clock
        clock.cancel(queue.timer)
        queue.due_ms = queue.not_before_ms
        queue.timer = clock.call_later(
            queue.due_ms - clock.now_ms(), lambda: self._on_wait_end(queue), kind="pop_revive"
        )

    def _look_again(self) -> None:
        """Set all deadlines again, because the wall clock was moved."""
        for queue in self._queues.values():
            queue.due_ms, queue.not_before_ms = None, 0
            self._node.clock.cancel(queue.timer)
            self._wait(queue)

    # -- reviving -----------------------------------------------------------------------------

    def _scan(self, queue: ReviveQueue) -> Steps[None]:
        """Revive what is due, and commit how far the queue is done.

        Source: PopReviveService.java#mergeAndRevive (5.5.0)
        """
        now_ms = self._node.clock.now_ms()
        while (ck := queue.first()) is not None and ck.revive_time + LAG_MS <= now_ms:
            done = self._elsewhere(ck, queue.queue_id)
            if done is None:
                self._end(queue, ck)
                self._revive(ck, queue.queue_id)
            elif not done.done:
                queue.under_way = done
                done.when_done(partial(self._came, queue, ck, done))
                return
            elif not self._is_over(queue, ck, done):
                return
            yield
            if self._queues.get(queue.queue_id) is not queue:
                return  # the broker was stopped or reset meanwhile; a start reads the rest again
        self._commit(queue)
        self._wait(queue)

    def _end(self, queue: ReviveQueue, ck: PopCheckPoint) -> None:
        held_back = queue.holds_back(ck)
        queue.end(ck)
        if held_back and not self._store.role.is_slave:
            self._note_done(ck, queue.queue_id)

    def _elsewhere(self, ck: PopCheckPoint, revive_queue_id: int) -> Later[bool] | None:
        """Begin what needs another broker, and return whether the checkpoint is done then.

        Return None for a checkpoint that needs none.
        """
        if self._store.role.is_slave:
            return drive(self._hand_over(ck, revive_queue_id))
        if ck.broker_name in (None, self._settings.broker_name):
            return None
        return drive(self._revive_from_elsewhere(ck, revive_queue_id))

    def _came(self, queue: ReviveQueue, ck: PopCheckPoint, done: Later[bool]) -> None:
        if self._queues.get(queue.queue_id) is not queue:
            return  # stopped meanwhile
        queue.under_way = None
        if self._is_over(queue, ck, done):
            self._node.clock.carry_out(self._scan(queue), peer=queue)

    def _is_over(self, queue: ReviveQueue, ck: PopCheckPoint, done: Later[bool]) -> bool:
        """End a checkpoint that needed another broker; return False if that is tried again."""
        try:
            over = done.result()
        except Exception as error:
            self._node.journal.add(failure(self._node.name, None, error))
            over = False
        if not over:
            self._refused(queue)
            return False
        queue.failures = 0
        if queue.is_pending(ck):  # it may have been acknowledged meanwhile
            self._end(queue, ck)
        return True

    def _hand_over(self, ck: PopCheckPoint, revive_queue_id: int) -> Waits[bool]:
        """Send a checkpoint to another broker, which revives it: it reads the messages from here.

        In Java it comes from the timers of this one. Here it has the acknowledgements with effect.
        Source: store/timer/TimerMessageStore.java#doPut (5.5.0)
        """
        put = self._log.put_checkpoint(ck, revive_queue_id)
        return (yield put) if isinstance(put, Later) else put

    def _revive_from_elsewhere(self, ck: PopCheckPoint, revive_queue_id: int) -> Waits[bool]:
        """Revive messages of another broker: they come into a retry topic of this one.

        What is behind waits for the answers: 3 s for a route, and 10 s for all messages together.
        Source: PopReviveService.java#reviveMsgFromCk, EscapeBridge.java#getMessageAsync (5.5.0)
        """
        topic, group = ck.topic or "", ck.group or ""
        queue = self._queues.get(revive_queue_id)

        def take(offset: int, read: RemoteRead) -> None:
            if self._queues.get(revive_queue_id) is not queue:
                return  # stopped meanwhile: the next start reads the checkpoint again
            if read.message is not None:
                again = not self._retry(ck, topic, group, read.message)
            else:
                again = read.again
            if again:
                self._put_again(ck, offset, revive_queue_id)

        if self._knows(topic, group):
            yield self._read_there(ck, take)
        return True

    def _knows(self, topic: str, group: str) -> bool:
        """Return whether a topic and a group are there; without them, nothing is revived."""
        if self._topics.select(normal_topic(topic, group)) is None:
            return False
        return self._groups.find(group) is not None

    def _note_done(self, ck: PopCheckPoint, revive_queue_id: int) -> None:
        """Acknowledge what is revived now: a start that reads this again must not revive it again.

        Java needs no such record: there a checkpoint with a long invisible time comes late into the
        revive topic, behind those that are done before it.
        """
        done = BatchAckMsg(
            ack_offset=-1,
            start_offset=ck.start_offset,
            group=ck.group,
            topic=ck.topic,
            queue_id=ck.queue_id,
            pop_time=ck.pop_time,
            broker_name=ck.broker_name,
            ack_offset_list=ck.unacknowledged(),
        )
        self._log.put_ack(done, revive_queue_id, ck.revive_time)

    def _commit(self, queue: ReviveQueue) -> None:
        offset = queue.take_commit()
        if offset is not None:
            self._offsets.commit(REVIVE_GROUP, self._log.topic, queue.queue_id, offset)

    def _revive(self, ck: PopCheckPoint, revive_queue_id: int) -> None:
        """Put every message that is not acknowledged into its retry topic.

        Source: PopReviveService.java#reviveMsgFromCk (5.5.0)
        """
        topic, group = ck.topic or "", ck.group or ""
        if not self._knows(topic, group):
            return
        for offset in ck.unacknowledged():
            unit = self._store.queue_unit(topic, ck.queue_id, offset)
            stored = None if unit is None else self._store.look_message_by_offset(*unit[:2])
            if stored is not None and not self._retry(ck, topic, group, stored):
                self._put_again(ck, offset, revive_queue_id)

    def _retry(self, ck: PopCheckPoint, topic: str, group: str, stored: MessageExt) -> bool:
        """Store a message in the retry topic; return False if the store refuses it.

        Source: PopReviveService.java#reviveRetry (5.5.0)
        """
        config = self._node.config
        if topic.startswith(RETRY_PREFIX):
            retry = topic
        else:
            retry = pop_retry_topic(topic, group, v2=self._settings.enable_retry_topic_v2)
        properties = _copied(stored)
        if stored.reconsume_times == 0 or FIRST_POP_TIME not in properties:
            properties[FIRST_POP_TIME] = str(ck.pop_time)
        if self._node.reference.marks_revived:
            properties[ORIGIN_GROUP] = group
        self._create_retry_topic(retry, group)
        queue_id = self._retry_queue_id(retry, stored)
        message = InnerMessage.of(stored, retry, queue_id, properties, encode_properties)
        message.born_host = message.store_host = addresses.store_host(config)
        message.reconsume_times = int32(stored.reconsume_times + (0 if ck.suspend else 1))
        appended = self._put(message).append_result
        if appended is None:
            return False
        self._inflight.ended(topic, group, ck.queue_id, 1, ck.pop_time)
        mine = self._settings.broker_name
        self._node.journal.add(
            Revived(
                node=self._node.name,
                group=group,
                topic=topic,
                queue_id=ck.queue_id,
                queue_offset=stored.queue_offset,
                pop_time_ms=ck.pop_time,
                retry_topic=retry,
                retry_offset=appended.logics_offset,
                reconsume_times=message.reconsume_times,
                from_phy_offset=stored.commit_log_offset if ck.broker_name == mine else -1,
                phy_offset=appended.wrote_offset,
                msg_id=properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            )
        )
        return True

    def _create_retry_topic(self, retry: str, group: str) -> None:
        """Source: PopReviveService.java#addRetryTopicIfNotExist (5.5.0)"""
        present = self._topics.select(retry)
        queues = RETRY_QUEUE_NUM
        if self._settings.use_separate_retry_queue:
            normal = self._topics.select(normal_topic(retry, group))
            queues = queues if normal is None else min(normal.write_queue_nums, MAX_QUEUES)
            if present is not None and present.write_queue_nums == queues:
                return
        elif present is not None:
            return
        self._topics.update(
            TopicConfig(
                topic_name=retry,
                read_queue_nums=queues,
                write_queue_nums=queues,
                perm=PermName.READ_WRITE,
            )
        )
        for queue_id in range(queues):
            if self._offsets.query(group, retry, queue_id) < 0:
                self._offsets.commit(group, retry, queue_id, 0)

    def _retry_queue_id(self, retry: str, stored: MessageExt) -> int:
        if not self._settings.use_separate_retry_queue:
            return 0
        config = self._topics.select(retry)
        return (
            0 if config is None or stored.queue_id >= config.write_queue_nums else stored.queue_id
        )

    def _put_again(self, ck: PopCheckPoint, offset: int, revive_queue_id: int) -> None:
        """Put a checkpoint of one message, to revive that later.

        Source: PopReviveService.java#rePutCK (5.5.0)
        """
        times = ck.re_puts
        if times >= len(REPUT_INTERVALS_S) and self._settings.skip_when_c_k_re_put_reach_max_times:
            return
        later = PopCheckPoint(
            num=1,
            pop_time=ck.pop_time,
            invisible_time=ck.invisible_time,
            start_offset=offset,
            group=ck.group,
            topic=ck.topic,
            queue_id=ck.queue_id,
            broker_name=ck.broker_name,
            queue_offset_diff=[0],
            re_put_times=str(int32(times + 1)),
        )
        if ck.revive_time <= self._node.clock.now_ms():
            interval_s = REPUT_INTERVALS_S[min(times, len(REPUT_INTERVALS_S) - 1)]
            later.invisible_time = int64(later.invisible_time + interval_s * 1000)
            later.revive_time = int64(later.revive_time + interval_s * 1000)
        self._log.keep_checkpoint(later, revive_queue_id, _nothing)

    # -- reading by tests ---------------------------------------------------------------------

    def waiting(self) -> Iterable[PopCheckPoint]:
        """Return the checkpoints that were read and are not done."""
        return [ck for queue in self._queues.values() for ck in queue.pending.values()]

    def waiting_in(self, queue_id: int) -> list[PopCheckPoint]:
        """Return those of one revive queue."""
        queue = self._queues.get(queue_id)
        return [] if queue is None else list(queue.pending.values())


def _nothing() -> None:
    """A checkpoint that was put again is stored: its offset was committed before."""


def _copied(stored: MessageExt) -> MadeProperties:
    """Return the properties of a message as Java copies them into a map that has its tags.

    Without tags, that map takes its size from what is copied.
    Source: PopReviveService.java#reviveRetry (5.5.0), java.util.HashMap#putMapEntries
    """
    properties = as_read(stored.properties)
    if stored.tags is not None:
        return MadeProperties({TAGS: stored.tags} | properties)
    if not properties:
        return MadeProperties({})
    return MadeProperties(properties, buckets=int(len(properties) / 0.75 + 1))
