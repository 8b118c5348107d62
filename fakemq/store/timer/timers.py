"""The timers of one store: units, slots and progress, and how a start finds them again.

Source: store/timer/TimerMessageStore.java#recover, #doEnqueue (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.protocol.java import int32, java_string_hash
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.store.timer import CHECKPOINT_PATH, LOG_FOLDER, WHEEL_PATH
from fakemq.store.timer.checkpoint import TimerCheckpoint
from fakemq.store.timer.log import (
    MAGIC_DEFAULT,
    MAGIC_DELETE,
    MAGIC_ROLL,
    NO_UNIT,
    TimerLog,
    TimerUnit,
)
from fakemq.store.timer.wheel import BLANK_SLOTS, SLOTS, TimerWheel

if TYPE_CHECKING:
    from fakemq.store.files import Files
    from fakemq.store.store import MessageStore

_STEPS_BACK = 20_000
"""How many entries of the timer topic are looked at for a message whose offset is wrong."""


class Timers:
    """Which message becomes due when. Use it from `load` on.

    ``precision_ms`` is timerPrecisionMs, ``window_slots`` timerRollWindowSlot, ``log_file_bytes``
    mappedFileSizeTimerLog.
    """

    def __init__(
        self, store: MessageStore, precision_ms: int, window_slots: int, log_file_bytes: int
    ) -> None:
        self._store = store
        self._precision_ms = precision_ms
        self._window_slots = window_slots
        if not 2 <= window_slots <= SLOTS - BLANK_SLOTS:
            self._window_slots = SLOTS - BLANK_SLOTS
        self._log_file_bytes = log_file_bytes
        self._reading_ms: int | None = None
        self._unread = NO_UNIT  # the position of the next unit of that slot
        self.checkpoint = TimerCheckpoint()

    def load(self, now_ms: int) -> None:
        """Read the files; raise StoreError if a broker cannot start with them.

        What became due more than a week ago is lost, as in Java.
        Differs: after the clock went back, Java loses what becomes due before the last delivery.
        """
        self._reading_ms, self._unread = None, NO_UNIT
        files = self._store.files
        self.checkpoint = checkpoint = TimerCheckpoint()
        checkpoint.read(files, now_ms)
        self.log = TimerLog(files, self._log_file_bytes)
        self.wheel = wheel = TimerWheel(self._precision_ms)
        last = None
        for position, unit in self.log.load(now_ms):
            wheel.put(unit.slot_ms, position, -1 if unit.deletes else 1)
            last = unit
        oldest_ms = wheel.floor_ms(now_ms) - (SLOTS - BLANK_SLOTS) * self._precision_ms
        checkpoint.last_read_ms = max(checkpoint.last_read_ms, oldest_ms)
        checkpoint.queue_offset = self._next_offset(last)
        wheel.unchanged(checkpoint.last_read_ms)
        self.go_back(wheel.floor_ms(now_ms))

    def _next_offset(self, last: TimerUnit | None) -> int:
        """Return the offset of the first message of the timer topic that has no unit.

        The last unit may be of an older message: a message that was due at once has none.
        Source: TimerMessageStore.java#reviseQueueOffset (5.5.0), which takes the older one, so that
        messages that were due at once, or came within the last second, are delivered again
        """
        store, checkpoint = self._store, self.checkpoint
        offset = None if last is None else self._offset_of(last)
        if offset is None:
            offset = checkpoint.queue_offset
        elif self.log.end >= checkpoint.timer_log_flushed:
            offset = max(offset + 1, checkpoint.queue_offset)
        else:
            offset += 1  # units were lost
        least = store.min_offset_in_queue(TIMER_TOPIC, 0)
        return max(least, min(offset, store.max_offset_in_queue(TIMER_TOPIC, 0)))

    def _offset_of(self, unit: TimerUnit) -> int | None:
        message = self._store.look_message_by_offset(unit.phy_offset, unit.size_bytes)
        if message is None:
            return None
        for offset in range(message.queue_offset, message.queue_offset - _STEPS_BACK, -1):
            entry = self._store.queue_unit(TIMER_TOPIC, 0, offset) if offset >= 0 else None
            if entry is not None and entry[0] == unit.phy_offset:
                return offset
        return message.queue_offset

    def add(
        self,
        due_ms: int,
        phy_offset: int,
        size_bytes: int,
        *,
        real_topic: str | None,
        deletes: bool,
        write_ms: int,
        now_ms: int,
    ) -> TimerUnit:
        """Give a unit to a message that becomes due in the slot of ``due_ms``; return the unit.

        If that is beyond the window, the message rolls: it comes back to the timer topic before.
        Raise StoreError if the disk refuses. Source: TimerMessageStore.java#doEnqueue (5.5.0)
        """
        precision_ms, slots = self._precision_ms, self._window_slots
        magic, beyond_ms = MAGIC_DEFAULT, due_ms - write_ms - slots * precision_ms
        if beyond_ms >= 0:
            magic |= MAGIC_ROLL
            near = beyond_ms < slots // 3 * precision_ms  # the next roll should not come too soon
            due_ms = write_ms + (slots // 2 if near else slots) * precision_ms
        if deletes:
            magic |= MAGIC_DELETE
        slot = self.wheel.slot(due_ms)
        unit = TimerUnit(
            NO_UNIT if slot is None else slot.last_position,
            magic,
            write_ms,
            int32(due_ms - write_ms),
            phy_offset,
            size_bytes,
            0 if real_topic is None else java_string_hash(real_topic),
        )
        position = self.log.append(unit, now_ms)
        self.wheel.put(due_ms, position, -1 if deletes else 1)
        return unit

    # -- reading ------------------------------------------------------------------------------

    def first_ms(self) -> int | None:
        """Return the first slot that is not delivered; None if there is none."""
        return self.wheel.first_ms(self.checkpoint.last_read_ms)

    def begin_slot(self, end_ms: int) -> Iterator[TimerUnit] | None:
        """Return the units of the first slot before ``end_ms``, newest first; None if none is left.

        Call `slot_is_done` before the next one.
        """
        self.pass_until(end_ms)
        slot_ms = self.first_ms()
        if slot_ms is None or slot_ms >= end_ms:
            return None
        self._reading_ms, self._unread = slot_ms, self._last_position(slot_ms)
        return self._read()

    def _read(self) -> Iterator[TimerUnit]:
        for unit in self.unread():
            self._unread = unit.previous
            yield unit
        self._unread = NO_UNIT

    def unread(self) -> Iterator[TimerUnit]:
        """Yield the units of the slot that is read which are not read yet, newest first."""
        return self._chain(self._unread)

    def waiting(self) -> Iterator[TimerUnit]:
        """Yield the units of the slots behind the one that is read, of each slot newest first."""
        for slot_ms in self.wheel.times_ms(self.checkpoint.last_read_ms):
            if slot_ms != self._reading_ms:
                yield from self._chain(self._last_position(slot_ms))

    def pass_until(self, end_ms: int) -> None:
        """Note that no message waits before the first slot, or before ``end_ms``."""
        slot_ms = self.first_ms()
        passed_ms = end_ms if slot_ms is None else min(slot_ms, end_ms)
        self.checkpoint.last_read_ms = max(self.checkpoint.last_read_ms, passed_ms)

    def follow(self, master_checkpoint: bytes) -> None:
        """Take over a master's progress, and forget the slots that it has delivered.

        Raise BodyError for bytes that are no checkpoint.
        """
        self.checkpoint.follow(master_checkpoint)
        self.first_ms()

    def slot_is_done(self) -> None:
        """Note that all messages of the slot that was read are delivered, if one was read."""
        if self._reading_ms is not None:
            self.checkpoint.last_read_ms = self._reading_ms + self._precision_ms
            self._reading_ms, self._unread = None, NO_UNIT

    def go_back(self, to_ms: int) -> None:
        """Forget what is delivered, and read from ``to_ms`` on if that is before it."""
        self.first_ms()
        self.checkpoint.last_read_ms = min(self.checkpoint.last_read_ms, to_ms)

    def _last_position(self, slot_ms: int) -> int:
        slot = self.wheel.slot(slot_ms)
        return NO_UNIT if slot is None else slot.last_position

    def _chain(self, position: int) -> Iterator[TimerUnit]:
        while position != NO_UNIT:
            unit = self.log.unit_at(position)
            if unit is None:
                return
            yield unit
            if unit.previous >= position:
                return  # no older one: the files are damaged
            position = unit.previous

    # -- progress -----------------------------------------------------------------------------

    def save(self, now_ms: int) -> None:
        """Bring everything to the disk, in Java's order; raise StoreError if it refuses.

        Source: TimerMessageStore.java#TimerFlushService (5.5.0)
        """
        files = self._store.files
        self.log.flush()
        if files.durable:
            self.wheel.write(files, now_ms)
        else:
            self.wheel.forget_changes()
        self.checkpoint.timer_log_flushed = self.log.end
        self.checkpoint.write(files, now_ms)
        self.log.delete_before(self._store.log.min_offset)

    def __repr__(self) -> str:
        return f"<timers {self.checkpoint}>"


def clear_files(files: Files) -> None:
    """Delete the files of timers, as before the first start."""
    for path in (*files.list(LOG_FOLDER), WHEEL_PATH, CHECKPOINT_PATH):
        files.delete(path)
