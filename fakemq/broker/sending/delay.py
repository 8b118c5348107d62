"""Delivery of delayed messages: from the queues of the schedule topic to their real topics.

The store puts messages into the schedule topic (`fakemq.store.delay_detour`). Java checks each
level every 100 ms; here the first message of a level has a deadline, and a level without messages
has none. Clients cannot see a difference with enableScheduleAsyncDeliver.

Source: store/schedule/ScheduleMessageService.java (4.9.7)
"""

# Over 400 lines: progress, waits and deliveries of the levels share one state.

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.broker.tables.persistence import TICKS_AFTER_CHANGE
from fakemq.clock.timers import next_tick_ms
from fakemq.events.core import Scheduled, ScheduledDelivered, ScheduledDiscarded, failure
from fakemq.later import Later
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int
from fakemq.protocol.java import java_concurrent_map_order
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC
from fakemq.store.delay_detour import delay_level_to_queue_id, queue_id_to_delay_level
from fakemq.store.inner_message import InnerMessage

if TYPE_CHECKING:
    from fakemq.broker.sending.puts import Put
    from fakemq.broker.tables.persistence import ConfigFile
    from fakemq.broker.tables.stats import BrokerStatsManager
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper
    from fakemq.protocol.message import MessageExt
    from fakemq.protocol.properties import PropertiesEncoder
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.results import LogRecord
    from fakemq.store.store import MessageStore

FIRST_DELAY_TIME_MS = 1_000
"""The time after a start before the first delivery."""
DELAY_FOR_A_WHILE_MS = 100
DELAY_FOR_A_PERIOD_MS = 10_000
_FIRST_PERSIST_MS = 10_000
_TABLE_CAPACITY = 32
"""The capacity of Java's table, which decides the order in the file."""


class _Level:
    """One level: the progress of its delivery, and the timer that it waits for."""

    __slots__ = ("delay_ms", "failures", "next_offset", "number", "timer", "under_way")

    def __init__(self, number: int, delay_ms: int, next_offset: int) -> None:
        self.number = number
        self.delay_ms = delay_ms
        self.next_offset = next_offset
        self.failures = 0
        self.timer: Timer | None = None
        self.under_way = False
        """Whether another broker has the first message, and has not answered yet."""

    @property
    def queue_id(self) -> int:
        return delay_level_to_queue_id(self.number)


class ScheduleMessageService:
    """The delay levels of one broker. A slave has none: its master delivers,
    as long as the slave does not act as one."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        store: MessageStore,
        stats: BrokerStatsManager,
        file: ConfigFile[DelayOffsetSerializeWrapper],
        *,
        put: Put,
    ) -> None:
        self._node = node
        self._store = store
        self._stats = stats
        self._file = file
        self._put = put
        self._levels: dict[int, _Level] = {}
        self._offset_table: dict[int, int] = {}
        self._persisted: dict[int, int] = {}
        self._persist_timer: Timer | None = None
        self._persists = 0
        self._started_ms = 0
        node.clock.on_jump.append(self._look_again)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to deliver, from the saved progress on."""
        config, levels = self._node.config, self._store.delay_levels
        levels.read(config.message_delay_level)
        self._load()
        if not self._store.role.has_duties:
            return
        self._started_ms = self._node.clock.elapsed_ms()
        self._levels = {
            number: _Level(number, delay_ms, self._offset_table.get(number, 0))
            for number, delay_ms in levels.table.items()
        }
        self._look_again()

    def stop(self, *, persist: bool) -> None:
        """Stop the delivery; the next start forgets progress that was not persisted."""
        for level in self._levels.values():
            self._node.clock.cancel(level.timer)
        self._levels = {}
        self._node.clock.cancel(self._persist_timer)
        self._persist_timer = None
        if persist and self._store.role.has_duties:
            self._persist()

    def reset(self, *, running: bool) -> None:
        """Forget all progress; begin again if the broker is ``running``."""
        self.stop(persist=False)
        self._offset_table = {}
        self.forget()
        if running:
            self.start()

    # -- progress -----------------------------------------------------------------------------

    def encode(self) -> bytes:
        """Return the next offset of every level that ever delivered, as delayOffset.json text."""
        return self.persisted().encode()

    def persisted(self) -> DelayOffsetSerializeWrapper:
        """Return the next offset of every level that ever delivered, as delayOffset.json has it."""
        from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper  # seldom asked for

        levels = java_concurrent_map_order(self._offset_table, _TABLE_CAPACITY)
        return DelayOffsetSerializeWrapper(
            offset_table={level: self._offset_table[level] for level in levels}
        )

    def load(self, saved: DelayOffsetSerializeWrapper) -> None:
        """Use this progress from the next start on.

        Source: ScheduleMessageService.java#decode (4.9.7)
        """
        self._persisted = dict(saved.offset_table)

    def follow(self, master: DelayOffsetSerializeWrapper) -> None:
        """Answer with a master's progress, too; a slave of 5.5.0 does so.

        Source: ScheduleMessageService.java#loadWhenSyncDelayOffset (5.5.0)
        """
        self._offset_table.update(master.offset_table)

    def forget(self) -> None:
        """Begin without progress at the next start."""
        self._persisted = {}

    @property
    def offsets(self) -> dict[int, int]:
        """The next offset of every level that ever delivered, by level."""
        return dict(self._offset_table)

    def waiting_offsets(self) -> dict[int, int]:
        """Return the offset of the first message of each level that has one to deliver."""
        return {
            number: level.next_offset
            for number, level in self._levels.items()
            if self._first(level) is not None
        }

    def next_offset(self, level: int) -> int:
        """Return the queue offset of the first message of a level that is not delivered yet."""
        found = self._levels.get(level)
        return self._offset_table.get(level, 0) if found is None else found.next_offset

    def _load(self) -> None:
        """Take over the persisted progress, limited to the messages that exist.

        A crash may have lost delivered messages. The corrected progress is written at once, where
        Java does that after ten seconds: after a second crash before that, Java would skip the
        messages that were stored at those offsets meanwhile.
        Source: ScheduleMessageService.java#load, #correctDelayOffset (4.9.7)
        """
        levels = self._store.delay_levels.table
        self._offset_table = {
            number: self._within(delay_level_to_queue_id(number), offset)
            if number in levels
            else offset
            for number, offset in self._persisted.items()
        }
        if self._offset_table != self._persisted:
            self._persist()

    def _within(self, queue_id: int, offset: int) -> int:
        """Return the nearest offset that the queue has, or will have next."""
        store = self._store
        least = store.min_offset_in_queue(SCHEDULE_TOPIC, queue_id)
        return max(least, min(offset, store.max_offset_in_queue(SCHEDULE_TOPIC, queue_id)))

    def _progress(self, level: _Level) -> None:
        level.failures = 0
        self._offset_table[level.number] = level.next_offset + 1
        self._persists = 1 if self._file.file is None else TICKS_AFTER_CHANGE
        if self._persist_timer is None:
            self._persist_from(self._node.clock.elapsed_ms())

    def _persist_from(self, from_ms: int) -> None:
        clock = self._node.clock
        period_ms = self._node.config.flush_delay_offset_interval
        tick_ms = next_tick_ms(from_ms, self._started_ms, _FIRST_PERSIST_MS, period_ms)
        self._persist_timer = clock.call_later(
            tick_ms - clock.elapsed_ms(), self._persist_tick, kind="delay_offset_persist"
        )

    def _persist_tick(self) -> None:
        self._persist_timer = None
        self._persist()
        self._persists -= 1
        if self._persists:
            self._persist_from(self._node.clock.elapsed_ms() + 1)

    def _persist(self) -> None:
        # A killed broker begins again with this, with a file or without.
        self._persisted = dict(self._offset_table)
        self._file.persist()

    # -- waiting ------------------------------------------------------------------------------

    def scheduled(self, record: LogRecord) -> None:
        """Wait for a record that a put has brought into the schedule topic, if it has a level."""
        properties = record.decoded_properties
        due_ms = self._store.delay_levels.deliver_timestamp_ms(
            properties, record.store_timestamp_ms
        )
        if due_ms is None:
            return
        number = queue_id_to_delay_level(record.queue_id)
        self._node.journal.add(
            Scheduled(
                node=self._node.name,
                level=number,
                schedule_offset=record.queue_offset,
                phy_offset=record.phy_offset,
                due_at_ms=due_ms,
                topic=properties.get(REAL_TOPIC, ""),
                msg_id=properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            )
        )
        level = self._levels.get(number)
        if level is not None and level.timer is None and not level.under_way:
            self._wait(level)

    def _look_again(self) -> None:
        """Set all deadlines again, because the wall clock was moved."""
        for level in self._levels.values():
            self._node.clock.cancel(level.timer)
            if not level.under_way:
                self._wait(level)

    def _wait(self, level: _Level) -> None:
        """Wait for the level's first message, if there is one."""
        first = self._first(level)
        if first is None:
            level.timer = None
        else:
            self._wait_ms(level, self._countdown_ms(level, first[2]))

    def _wait_ms(self, level: _Level, ms: int) -> None:
        clock = self._node.clock
        not_before_ms = self._started_ms + FIRST_DELAY_TIME_MS - clock.elapsed_ms()
        level.timer = clock.call_later(
            max(ms, not_before_ms),
            lambda: self._deliver_due(level),
            kind=f"delay_level_{level.number}",
        )

    def _first(self, level: _Level) -> tuple[int, int, int] | None:
        """Return physical offset, size and delivery time of the level's first message."""
        level.next_offset = self._within(level.queue_id, level.next_offset)
        return self._store.queue_unit(SCHEDULE_TOPIC, level.queue_id, level.next_offset)

    def _countdown_ms(self, level: _Level, deliver_timestamp_ms: int) -> int:
        """Return the time until a message is due; it is never longer than the level's delay.

        Source: ScheduleMessageService.java#correctDeliverTimestamp (4.9.7)
        """
        left_ms = deliver_timestamp_ms - self._node.clock.now_ms()
        return 0 if left_ms > level.delay_ms else left_ms

    # -- delivering ---------------------------------------------------------------------------

    def _deliver_due(self, level: _Level) -> None:
        """Source: ScheduleMessageService.java#executeOnTimeup (4.9.7)"""
        self._node.clock.cancel(level.timer)
        while (first := self._first(level)) is not None:
            phy_offset, size_bytes, deliver_timestamp_ms = first
            if self._countdown_ms(level, deliver_timestamp_ms) > 0:
                break
            delivered = self._deliver(level, phy_offset, size_bytes)
            if level.under_way:
                return
            if not delivered:
                self._try_again(level)
                return
            level.next_offset += 1
        self._wait(level)

    def _try_again(self, level: _Level) -> None:
        """Wait for the next try; Java tries again every 100 ms for as long as it takes."""
        level.failures += 1
        wait_ms = min(level.failures * DELAY_FOR_A_WHILE_MS, DELAY_FOR_A_PERIOD_MS)
        self._wait_ms(level, wait_ms)

    def _deliver(self, level: _Level, phy_offset: int, size_bytes: int) -> bool:
        """Store a message in its real topic; return False if the store refuses it.

        If another broker has to answer first, the level is `under_way` until then.
        """
        stored = self._store.look_message_by_offset(phy_offset, size_bytes)
        if stored is None:
            return True
        message = _time_up(stored, self._node.reference.encode_properties)
        if isinstance(message, str):
            self._discard(level, stored, message)
            return True
        result = self._put(message)
        if isinstance(result, Later):
            level.under_way = True
            result.when_done(partial(self._escaped, level, stored, message, result))
            return False
        return self._is_delivered(level, stored, message, result)

    def _escaped(
        self,
        level: _Level,
        stored: MessageExt,
        message: InnerMessage,
        put: Later[PutMessageResult],
    ) -> None:
        """Continue a level whose first message another broker has, or has refused."""
        if self._levels.get(level.number) is not level:
            return  # stopped meanwhile
        level.under_way = False
        try:
            delivered = self._is_delivered(level, stored, message, put.result())
        except Exception as error:
            self._node.journal.add(failure(self._node.name, None, error))
            delivered = False
        if delivered:
            level.next_offset += 1
            self._deliver_due(level)
        else:
            self._try_again(level)

    def _is_delivered(
        self, level: _Level, stored: MessageExt, message: InnerMessage, result: PutMessageResult
    ) -> bool:
        """Note how a delivery ended; return False if the message has to be put again."""
        node, appended = self._node, result.append_result
        if not result.ok:
            if result.status.final:
                self._discard(level, stored, result.why)
            return result.status.final
        self._progress(level)
        if appended is None:  # it is at another broker
            return True
        if node.config.enable_schedule_message_stats:
            self._stats.delivered(level.number, message.topic, appended.wrote_bytes)
        node.journal.add(
            ScheduledDelivered(
                node=node.name,
                level=level.number,
                schedule_offset=level.next_offset,
                from_phy_offset=stored.commit_log_offset,
                phy_offset=appended.wrote_offset,
                topic=message.topic,
                queue_id=message.queue_id,
                queue_offset=appended.logics_offset,
                msg_id=message.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            )
        )
        return True

    def _discard(self, level: _Level, stored: MessageExt, why: str) -> None:
        """Write that a message leaves its level without a delivery, because none can succeed."""
        node, topic = self._node, stored.properties.get(REAL_TOPIC, "")
        node.journal.add(
            ScheduledDiscarded(
                node=node.name,
                level=level.number,
                schedule_offset=level.next_offset,
                phy_offset=stored.commit_log_offset,
                topic=topic,
                why=why,
            )
        )
        text = f"a message of delay level {level.number} for topic {topic!r} is dropped: {why}"
        node.journal.peer_warnings.warn(node.name, "delayed messages that are dropped", text)


def _time_up(stored: MessageExt, encode_properties: PropertiesEncoder) -> InnerMessage | str:
    """Return the message to deliver; its stored properties keep level, real topic and queue.

    Return why there is none, for three kinds of messages: half messages, as it is too late for
    their transaction; messages without a real topic; and messages for the schedule topic itself.
    Java would try the last two for ever.
    Source: ScheduleMessageService.java#messageTimeup (4.9.7)
    """
    place = real_place(stored)
    if place is None:
        return "it has no real topic and queue"
    if place[0] == TRANS_HALF_TOPIC:
        return "it is a half message with a delay, and its real topic is lost"
    if place[0] == SCHEDULE_TOPIC:
        return "it would be delayed again, without end"
    message = InnerMessage.of(stored, *place, dict(stored.properties), encode_properties)
    # With the level it would go through the schedule topic again.
    message.properties.pop(DELAY_TIME_LEVEL, None)
    return message


def real_place(stored: MessageExt) -> tuple[str, int] | None:
    """Return real topic and queue id of a message in the schedule topic; None if it has none."""
    topic = stored.properties.get(REAL_TOPIC)
    try:
        queue_id = parse_int(stored.properties.get(REAL_QUEUE_ID, ""))
    except NumberFormatError:
        return None
    return (topic, queue_id) if topic else None
