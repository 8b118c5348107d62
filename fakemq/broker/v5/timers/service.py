"""Delivery of timer messages: from the timer topic to their real topics, second by second.

A put sends a timer message to the timer topic (`fakemq.broker.v5.timers.diversion`). There it
gets a unit in the slot of its second (`fakemq.store.timer.timers`). Java reads the topic and the
wheel every 100 ms; here a message gets its unit at once, and the first slot has a deadline: the end
of its second. So no message comes early, and none over timerPrecisionMs late.

Source: store/timer/TimerMessageStore.java (5.5.0)
"""

# Over 400 lines: units, waits, deliveries and progress share one state.

from __future__ import annotations

from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.broker.sending.delay import real_place
from fakemq.broker.v5.timers.diversion import TimerDiversion
from fakemq.errors import StoreError, counted
from fakemq.events import StoreRepaired, Warned
from fakemq.events.core import failure
from fakemq.events.timers import (
    TimerDelivered,
    TimerDiscarded,
    TimerRecalled,
    TimerRolled,
    TimerSet,
)
from fakemq.later import Later
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.java import LONG_MAX, int32
from fakemq.protocol.properties import (
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_OUT_MS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.timers import TIMER_DEQUEUE_MS, TIMER_ENQUEUE_MS, TIMER_ROLL_TIMES, TIMER_TOPIC
from fakemq.protocol.v5.properties import encode_properties
from fakemq.store.inner_message import InnerMessage
from fakemq.store.timer import CHECKPOINT_PATH, LOG_FOLDER
from fakemq.store.timer.metrics import TimerMetrics
from fakemq.store.timer.timers import Timers, clear_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.broker.sending.puts import Put
    from fakemq.broker.tables.stats import BrokerStatsManager
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.events.core import Event
    from fakemq.protocol.message import MessageExt
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper
    from fakemq.store.puts import AppendMessageResult, PutMessageResult
    from fakemq.store.store import MessageStore
    from fakemq.store.timer.checkpoint import TimerCheckpoint
    from fakemq.store.timer.comparison import Compared
    from fakemq.store.timer.log import TimerUnit

MOST_WAIT_MS: Final = 10_000
"""How long a delivery that was refused often waits for the next try."""
_NOT_ENQUEUED: Final = LONG_MAX
"""TIMER_ENQUEUE_MS of a message that was due when it reached the timer topic."""


class _Due(NamedTuple):
    """A message that is due, or that has to roll; it is read when its turn comes."""

    phy_offset: int
    size_bytes: int
    enqueue_ms: int
    rolls: bool
    queue_offset: int | None = None
    """Its offset in the timer topic, if it has no unit."""


class TimerMessageService:
    """The timers of one broker. A slave only follows its master's: that delivers.

    A slave that acts as master delivers itself.
    """

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        config: BrokerConfig5,
        store: MessageStore,
        stats: BrokerStatsManager,
        *,
        put: Put,
        keep: Callable[[], None],
    ) -> None:
        self._node = node
        self._config = config
        self._store = store
        self._stats = stats
        self._put = put
        self._keep = keep
        """Writes `metrics` into their file, if the broker has a directory."""
        self.metrics = TimerMetrics()
        self.timers: Timers
        """From the first start on, with timerWheelEnable."""
        self.running = False
        self._diversion = TimerDiversion(
            config, lambda: self.timers.wheel, node.clock.now_ms, node.randomness
        )
        store.divert = self._diversion.divert
        self._write_ms = 0  # the present slot
        self._due: deque[_Due] = deque()  # what is delivered next
        self._recalls: set[str] = set()  # what the deletions of its slot name
        self._delivering = False
        self._under_way: Later[PutMessageResult] | None = None
        """The answer of another broker that has the first of these; delivery waits for it."""
        self._failures = 0  # how often the first of these was refused
        self._timer: Timer | None = None
        self._flush_timer: Timer | None = None
        node.clock.on_jump.append(self._look_again)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Find the timers of the store again, and begin to deliver."""
        config = self._config
        if not config.timer_wheel_enable:
            return
        self.timers = Timers(
            self._store,
            config.timer_precision_ms,
            config.timer_roll_window_slot,
            config.mapped_file_size_timer_log,
            config.timer_flush_interval_ms,
        )
        self._due.clear()
        self._recalls.clear()
        self._delivering, self._failures, self._under_way = False, 0, None
        now_ms = self._node.clock.now_ms()
        self.metrics.begin(now_ms)
        self._compared(self.timers.load(now_ms))
        self._write_ms = self.timers.wheel.floor_ms(now_ms)
        self.running = True
        self._store.put_listeners.append(self)
        self.enqueue()
        self._wait()

    def _compared(self, found: Compared) -> None:
        """Say what a start found wrong, and count the messages again that wait."""
        node, files = self._node, self._store.files
        for path, offset, text in found.findings:
            node.journal.add(Warned(node=node.name, text=f"{files.path_of(path)}:{offset}: {text}"))
        made_anew = {CHECKPOINT_PATH: found.bad_checkpoint, LOG_FOLDER: found.bad_log}
        for path, why in made_anew.items():
            if why:
                count, waiting = len(found.timed), len(found.waiting)
                text = f"{why}: made anew of {counted(count, 'timer message')}, {waiting} wait"
                repaired = StoreRepaired(
                    node=node.name, file=files.path_of(path), offset=0, cut_bytes=0, why=text
                )
                node.journal.add(repaired)
        if found.in_doubt and not self._store.role.is_slave:
            counts: Counter[str] = Counter()
            for one in found.timed:
                if one.topic is not None and one.phy_offset in found.waiting:
                    counts[one.topic] += -1 if one.deletes else 1
            if self.metrics.revise(counts, node.clock.now_ms()):
                self._keep_metrics()

    def stop(self, *, persist: bool) -> None:
        """Stop the delivery.

        A start after a kill delivers again what was delivered since the last flush, as Java's.
        """
        if not self.running:
            return
        self.running = False
        self._under_way = None
        self._store.put_listeners.remove(self)
        for timer in (self._timer, self._flush_timer):
            self._node.clock.cancel(timer)
        self._timer = self._flush_timer = None
        if persist:
            self.save()

    def reset(self, *, running: bool) -> None:
        """Forget all timers; begin again if the broker is ``running``."""
        self.stop(persist=False)
        clear_files(self._store.files)
        self.metrics.clear()
        if running:
            self.start()

    def follow_config(self) -> None:
        """Act on keys that were set while the broker runs, such as timerStopDequeue.

        Java asks for them every 100 ms.
        """
        if self.running:
            self.enqueue()
            if self._timer is None:
                self._wait()

    # -- units --------------------------------------------------------------------------------

    def stored(self, message: InnerMessage, result: PutMessageResult) -> None:
        """Give units to what a put has brought into the timer topic."""
        if message.topic == TIMER_TOPIC:
            self.enqueue()

    def take_metrics(self, metrics: TimerMetricsSerializeWrapper) -> bool:
        """Replace the counts by the master's if these have another version; return whether.

        Source: broker/slave/SlaveSynchronize.java#syncTimerMetrics (5.5.0)
        """
        if not self.running or metrics.data_version == self.metrics.persisted().data_version:
            return False
        self.metrics.load(metrics)
        self._keep_metrics()
        return True

    def take_checkpoint(self, data: bytes) -> None:
        """Follow the master: give units to the messages that have some there.

        If this broker becomes a master, it delivers what the master had not delivered. Raise
        BodyError for bytes that are no checkpoint.
        Source: broker/slave/SlaveSynchronize.java#syncTimerCheckPoint (5.5.0)
        """
        if not self.running or self._store.role.has_duties:
            return
        self.timers.follow(data)
        self.enqueue()
        self._changed()

    def enqueue(self) -> None:
        """Give units to the new messages of the timer topic.

        A slave makes units for those that have one at its master.

        Source: TimerMessageStore.java#enqueue (5.5.0)
        """
        store, checkpoint = self._store, self.timers.checkpoint
        if self._config.timer_stop_enqueue:
            return
        self._move_write_time()
        end = store.max_offset_in_queue(TIMER_TOPIC, 0)
        if self._store.role.is_slave and not self._store.role.has_duties:
            end = min(end, checkpoint.master_queue_offset)
        offset = max(checkpoint.queue_offset, store.min_offset_in_queue(TIMER_TOPIC, 0))
        while offset < end:
            entry = store.queue_unit(TIMER_TOPIC, 0, offset)
            message = None if entry is None else store.look_message_by_offset(entry[0], entry[1])
            if message is not None and entry is not None:
                try:
                    self._take(message, offset, entry[1])
                except StoreError as error:
                    store.disk_space.failed(error, self.enqueue)
                    return
            offset += 1
            self._progress(offset)

    def _progress(self, queue_offset: int) -> None:
        checkpoint = self.timers.checkpoint
        checkpoint.queue_offset = queue_offset
        if self._store.role.has_duties:
            checkpoint.master_queue_offset = queue_offset
        self._changed()

    def _take(self, message: MessageExt, offset: int, size_bytes: int) -> None:
        """Give a unit to one message; one that is due already has none."""
        node, properties = self._node, message.properties
        try:
            due_ms = parse_long(properties.get(TIMER_OUT_MS, ""))
        except NumberFormatError:
            self._discard(message, f"it has no {TIMER_OUT_MS}")  # Java tries for ever
            return
        topic = properties.get(REAL_TOPIC)
        rolls_at_ms = None
        if due_ms < self._write_ms and self._store.role.has_duties:
            at = message.commit_log_offset
            due = _Due(at, size_bytes, _NOT_ENQUEUED, rolls=False, queue_offset=offset)
            self._due.append(due)
            self._wait()
        else:
            deletes = TIMER_DEL_UNIQKEY in properties
            unit = self.timers.add(
                due_ms,
                message.commit_log_offset,
                size_bytes,
                real_topic=topic,
                deletes=deletes,
                write_ms=self._write_ms,
                now_ms=node.clock.now_ms(),
            )
            self._count(message, -1 if deletes else 1)
            if unit.rolls:
                rolls_at_ms = unit.slot_ms + self._precision_ms
            if self._timer is None or self.timers.first_ms() == unit.slot_ms:
                self._wait()
        if self._store.role.is_slave:
            return  # its master has journaled it
        node.journal.add(
            TimerSet(
                node=node.name,
                timer_offset=offset,
                phy_offset=message.commit_log_offset,
                due_at_ms=due_ms + self._precision_ms,
                rolls_at_ms=rolls_at_ms,
                topic=topic or "",
                msg_id=_msg_id(message),
            )
        )

    @property
    def _precision_ms(self) -> int:
        return self.timers.wheel.precision_ms

    def _count(self, message: MessageExt, change: int) -> None:
        """Source: TimerMessageStore.java#addMetric (5.5.0)"""
        topic = message.properties.get(REAL_TOPIC)
        if topic is not None:
            self.metrics.add(topic, change, self._node.clock.now_ms())

    def checkpoint(self) -> TimerCheckpoint:
        """Return the progress, as it is at this moment."""
        if not self._delivering and self._store.role.has_duties:
            self._move_write_time()
            self.timers.pass_until(self._write_ms)
        return self.timers.checkpoint

    def waiting(self) -> Steps[list[tuple[MessageExt, int]]]:
        """Return the messages that will be delivered, each with the time when it is due, in ms.

        They are those that wait at the first step, in no order. What a deletion names is left out.
        """
        if not hasattr(self, "timers"):
            return []  # it has never had a wheel
        # As they are now: between two steps a message may move from its topic into the wheel.
        places, recalls = self._places(), frozenset(self._recalls)
        found: list[tuple[MessageExt, int]] = []
        deleted: set[tuple[int, str]] = set()
        for phy_offset, size_bytes, in_slot in places:
            message = self._store.look_message_by_offset(phy_offset, size_bytes)
            yield
            if message is None:
                continue
            try:
                out_ms = parse_long(message.properties.get(TIMER_OUT_MS, ""))
            except NumberFormatError:
                continue  # it will be dropped
            key = message.properties.get(TIMER_DEL_UNIQKEY)
            if key is not None:
                deleted.add((out_ms, key))
            elif not (in_slot and self._delete_key(message) in recalls):
                found.append((message, out_ms))
        return [
            (message, out_ms + self._precision_ms)
            for message, out_ms in found
            if (out_ms, self._delete_key(message)) not in deleted
        ]

    def _places(self) -> list[tuple[int, int, bool]]:
        """Return where the records are of what is being delivered, has units, or gets them soon.

        Each comes with its size, and whether it is of the slot whose deletions `_recalls` names.
        """
        store, timers = self._store, self.timers
        places = [
            (due.phy_offset, due.size_bytes, due.enqueue_ms != _NOT_ENQUEUED) for due in self._due
        ]
        places += [(unit.phy_offset, unit.size_bytes, True) for unit in timers.unread()]
        places += [(unit.phy_offset, unit.size_bytes, False) for unit in timers.waiting()]
        for offset in range(
            timers.checkpoint.queue_offset, store.max_offset_in_queue(TIMER_TOPIC, 0)
        ):
            unit = store.queue_unit(TIMER_TOPIC, 0, offset)
            if unit is not None:
                places.append((unit[0], unit[1], False))
        return places

    # -- waiting ------------------------------------------------------------------------------

    def _move_write_time(self) -> None:
        self._write_ms = self.timers.wheel.floor_ms(self._node.clock.now_ms())

    def _look_again(self) -> None:
        """Set the deadline again, because the wall clock was moved.

        Differs: Java's write time never goes back. After a jump back it delivers at once what is
        sent, until the clock is where it was.
        """
        if self.running:
            self._move_write_time()
            if self.timers.go_back(self._write_ms):
                self._save()
            self._wait()

    def _wait(self, least_ms: int = 0) -> None:
        """Wait for the first slot, if there is one; at least ``least_ms``."""
        clock = self._node.clock
        clock.cancel(self._timer)
        self._timer = None
        # A delivery under way waits again at its end.
        if self._delivering or not self._store.role.has_duties:
            return
        left_ms = 0
        if not self._due:
            first_ms = None if self._config.timer_stop_dequeue else self.timers.first_ms()
            if first_ms is None:
                return
            left_ms = first_ms + self._precision_ms - clock.now_ms()
        self._timer = clock.call_later(
            max(left_ms, least_ms),
            lambda: clock.carry_out(self._until_none_is_due(), peer=self),
            kind="timer",
        )

    # -- delivering ---------------------------------------------------------------------------

    def _until_none_is_due(self, *, in_slot: bool = False) -> Steps[None]:
        """Deliver all that is due; an unexpected error counts as a refusal, and is raised."""
        self._timer, self._delivering = None, True
        try:
            wait_ms = yield from self._deliver_due(in_slot=in_slot)
            if self._under_way is not None:
                return
        except Exception:
            self._failures += 1
            self._delivering = False
            self._wait(self._retry_ms())
            raise
        self._delivering = False
        self._wait(wait_ms)

    def _retry_ms(self) -> int:
        """Return how long a delivery that was refused waits for the next try."""
        return min(self._failures * self._precision_ms // 2, MOST_WAIT_MS)

    def _escaped(
        self, due: _Due, message: MessageExt, copy: InnerMessage, put: Later[PutMessageResult]
    ) -> None:
        """Continue to deliver: another broker has the first message, or has refused it."""
        if self._under_way is not put:
            return  # stopped meanwhile
        self._under_way = None
        try:
            delivered = self._is_delivered(due, message, copy, put.result())
        except Exception as error:
            self._failures += 1
            self._node.journal.add(failure(self._node.name, None, error))
            delivered = False
        if delivered:
            self._due.popleft()
            self._node.clock.carry_out(self._until_none_is_due(in_slot=True), peer=self)
        else:
            self._delivering = False
            self._wait(self._retry_ms())

    def _deliver_due(self, *, in_slot: bool) -> Steps[int]:
        """Deliver all that is due, slot by slot; return how long to wait at least, in ms.

        ``in_slot``: the rest of a slot comes first, or its end.
        With timerStopDequeue that is what was due when it came, and the slot that is being read.
        Source: TimerMessageStore.java#dequeue (5.5.0)
        """
        config = self._config
        wait_ms = 0
        while not wait_ms and (
            in_slot
            or self._due
            or (not config.timer_stop_dequeue and (yield from self._read_next_slot()))
        ):
            in_slot = False
            while self._due:
                delivered = self._deliver(self._due[0])
                if self._under_way is not None:
                    return 0
                if not delivered:
                    wait_ms = self._retry_ms()
                    break
                self._due.popleft()
                yield
            else:
                # Deletions count for the messages of their slot only.
                self._recalls.clear()
                self.timers.slot_is_done()
                self._changed()
        return wait_ms

    def _read_next_slot(self) -> Steps[bool]:
        """Take the messages of the first slot that is over; return False if none is.

        Deletions are read first: what they name is not delivered. A peer may fill a slot with
        millions of messages: they are not read before their turn.
        Source: TimerMessageStore.java#dequeue, #TimerDequeueGetMessageService (5.5.0)
        """
        self._move_write_time()
        units = self.timers.begin_slot(self._write_ms)
        if units is None:
            return False
        for unit in units:
            if unit.deletes and not unit.rolls:
                self._read_deletion(unit)
            else:
                due = _Due(unit.phy_offset, unit.size_bytes, unit.write_ms, unit.rolls)
                self._due.appendleft(due)  # the oldest comes last
            yield
        return True

    def _read_deletion(self, unit: TimerUnit) -> None:
        message = self._store.look_message_by_offset(unit.phy_offset, unit.size_bytes)
        key = None if message is None else message.properties.get(TIMER_DEL_UNIQKEY)
        if message is not None and key is not None:
            # This takes back what `_take` counted for the deletion.
            self._count(message, 1)
            self._recalls.add(key)

    def _is_recalled(self, message: MessageExt) -> bool:
        """Return whether a deletion of the present slot names a message of that slot."""
        return bool(self._recalls) and self._delete_key(message) in self._recalls

    def _delete_key(self, message: MessageExt) -> str | None:
        """Return what deletions call a message. Source: TimerMessageStore.java#buildDeleteKey"""
        key = message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
        if key is None:
            return None
        return delete_key(self._config, message.properties.get(REAL_TOPIC, ""), key)

    def _deliver(self, due: _Due) -> bool:
        """Store a message in its real topic, or again in the timer topic; False: try again.

        If another broker has to answer first, delivery is `_under_way` until then.

        Differs: without timerEnableRetryUntilSuccess Java drops an acknowledged message after three
        refusals, for example on a disk that is full for two seconds.
        Source: TimerMessageStore.java#TimerDequeuePutMessageService, #doPut (5.5.0)
        """
        node = self._node
        message = self._store.look_message_by_offset(due.phy_offset, due.size_bytes)
        if message is None:  # its file was deleted
            self._failures = 0
            return True
        in_slot = due.enqueue_ms != _NOT_ENQUEUED
        # Counted at the first try only. Without a unit it was never counted.
        if not self._failures and in_slot:
            self._count(message, -1)
        if in_slot and self._is_recalled(message):
            self._recalled(message)
            return True
        if not due.rolls and TIMER_DEL_UNIQKEY in message.properties:
            self._discard(message, "it is a deletion that came too late")
            return True
        copy = _copy(due, message, node.clock.now_ms())
        if copy is None:
            self._discard(message, "it has no real topic and queue")
            return True
        result = self._put(copy)
        if isinstance(result, Later):
            self._under_way = result
            result.when_done(partial(self._escaped, due, message, copy, result))
            return False
        return self._is_delivered(due, message, copy, result)

    def _is_delivered(
        self, due: _Due, message: MessageExt, copy: InnerMessage, result: PutMessageResult
    ) -> bool:
        """Note how a delivery ended; return False if the message has to be put again."""
        if result.ok:
            self._delivered(due, message, copy, result.append_result)
        elif not result.status.final:
            self._failures += 1
            return False
        else:
            self._discard(message, result.why)
        self._failures = 0
        return True

    # -- the journal --------------------------------------------------------------------------

    def _delivered(
        self,
        due: _Due,
        message: MessageExt,
        copy: InnerMessage,
        appended: AppendMessageResult | None,
    ) -> None:
        self._stats.put(copy.topic, 1, 0 if appended is None else appended.wrote_bytes)
        if appended is None:  # it is at another broker
            return
        node, properties = self._node.name, copy.properties
        from_phy_offset, phy_offset = due.phy_offset, appended.wrote_offset
        if due.rolls:
            event: Event = TimerRolled(
                node=node,
                from_phy_offset=from_phy_offset,
                phy_offset=phy_offset,
                topic=properties.get(REAL_TOPIC, ""),
                timer_offset=appended.logics_offset,
                times=int(properties[TIMER_ROLL_TIMES]),
                msg_id=_msg_id(message),
            )
        else:
            event = TimerDelivered(
                node=node,
                from_phy_offset=from_phy_offset,
                phy_offset=phy_offset,
                topic=copy.topic,
                queue_id=copy.queue_id,
                queue_offset=appended.logics_offset,
                msg_id=_msg_id(message),
            )
        self._node.journal.add(event)

    def _recalled(self, message: MessageExt) -> None:
        self._node.journal.add(
            TimerRecalled(
                node=self._node.name,
                phy_offset=message.commit_log_offset,
                topic=message.properties.get(REAL_TOPIC, ""),
                msg_id=_msg_id(message),
            )
        )

    def _discard(self, message: MessageExt, why: str) -> None:
        """Write that a message leaves the timers without a delivery."""
        node, topic = self._node, message.properties.get(REAL_TOPIC, "")
        self._failures = 0
        node.journal.add(
            TimerDiscarded(
                node=node.name,
                phy_offset=message.commit_log_offset,
                topic=topic,
                why=why,
                msg_id=_msg_id(message),
            )
        )
        text = f"a timer message for topic {topic!r} is dropped: {why}"
        node.journal.peer_warnings.warn(node.name, "timer messages that are dropped", text)

    # -- progress -----------------------------------------------------------------------------

    def _changed(self) -> None:
        """Save the progress: in memory at once, on a disk with the next flush."""
        if not self._store.files.durable:
            self.save()
        elif self._flush_timer is None:
            self._flush_timer = self._node.clock.call_later(
                self._config.timer_flush_interval_ms, self._flush, kind="timer_flush"
            )

    def _flush(self) -> None:
        self._flush_timer = None
        self._save()

    def _save(self) -> None:
        if self._store.disk is not None and self._store.disk.flush.stalled:
            self._changed()
            return
        try:
            self.save()
        except StoreError as error:
            self._store.disk_space.failed(error, self.save)

    def save(self) -> None:
        """Bring units and progress to the disk; raise StoreError if it refuses.

        The log comes first: progress must not survive a power failure that takes what it is of.
        """
        queue_offset = self.checkpoint().queue_offset
        for due in self._due:  # a kill must not lose what has no unit
            if due.queue_offset is not None:
                queue_offset = min(queue_offset, due.queue_offset)
                break
        if self._store.disk is not None:
            self._store.disk.flush.log()
        self.timers.save(self._node.clock.now_ms(), queue_offset)
        self._keep_metrics()

    def _keep_metrics(self) -> None:
        """Write the counts: into a directory with each flush, as Java, else after a change."""
        if self._store.files.durable or not self.metrics.are_kept:
            self._keep()
            self.metrics.are_kept = True

    def settle(self) -> None:
        """Save the progress now, if that waits for a flush."""
        if self._flush_timer is not None:
            self._node.clock.cancel(self._flush_timer)
            self._flush()

    def __repr__(self) -> str:
        return f"<timers of {self._node.name}, {self.metrics}>"


def delete_key(config: BrokerConfig5, topic: str, unique_key: str) -> str:
    """Return how a deletion names the message of a topic that has this unique key.

    Source: TimerMessageStore.java#buildDeleteKey (5.5.0)
    """
    return f"{topic}+{unique_key}" if config.append_topic_for_timer_delete_key else unique_key


def _copy(due: _Due, message: MessageExt, now_ms: int) -> InnerMessage | None:
    """Return the message to store; None if it has no real topic and queue.

    The stored properties keep the real topic and queue.
    Source: TimerMessageStore.java#convert, #convertMessage (5.5.0)
    """
    properties = dict(message.properties)
    properties[TIMER_ENQUEUE_MS] = str(due.enqueue_ms)
    if due.rolls:
        properties[TIMER_ROLL_TIMES] = str(int32(_rolled(properties) + 1))
    properties[TIMER_DEQUEUE_MS] = str(now_ms)
    if due.rolls:
        return InnerMessage.of(
            message, message.topic, message.queue_id, properties, encode_properties
        )
    place = real_place(message)
    if place is None:
        return None
    copy = InnerMessage.of(message, *place, properties, encode_properties)
    for name in (REAL_TOPIC, REAL_QUEUE_ID):  # the stored text is made before: it keeps them
        properties.pop(name, None)
    return copy


def _rolled(properties: Mapping[str, str]) -> int:
    """Return how often a message came back to the timer topic.

    Differs: 0 if a producer wrote a text that is no number. Java then delivers nothing more.
    """
    try:
        return parse_int(properties.get(TIMER_ROLL_TIMES, "0"))
    except NumberFormatError:
        return 0


def _msg_id(message: MessageExt) -> str:
    return message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, "")
