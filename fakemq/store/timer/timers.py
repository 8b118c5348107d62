"""The timers of one store: units, slots and progress, and how a start finds them again.

Source: store/timer/TimerMessageStore.java#recover, #doEnqueue (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.protocol.java import LONG_MIN, int32, java_string_hash
from fakemq.store.timer import CHECKPOINT_PATH, LOG_FOLDER, WHEEL_PATH
from fakemq.store.timer.checkpoint import TimerCheckpoint
from fakemq.store.timer.comparison import Comparison, anchor_of
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
    from fakemq.store.timer.comparison import Compared, Timed


class Timers:
    """Which message becomes due when. Use it from `load` on.

    ``precision_ms`` is timerPrecisionMs, ``window_slots`` timerRollWindowSlot, ``log_file_bytes``
    mappedFileSizeTimerLog, ``flush_interval_ms`` timerFlushIntervalMs.
    """

    def __init__(
        self,
        store: MessageStore,
        precision_ms: int,
        window_slots: int,
        log_file_bytes: int,
        flush_interval_ms: int,
    ) -> None:
        self._store = store
        self._precision_ms = precision_ms
        self._window_slots = window_slots
        if not 2 <= window_slots <= SLOTS - BLANK_SLOTS:
            self._window_slots = SLOTS - BLANK_SLOTS
        self._log_file_bytes = log_file_bytes
        self._repeat_ms = flush_interval_ms + precision_ms
        self._reading_ms: int | None = None
        self._unread = NO_UNIT  # the position of the next unit of that slot
        self._delivered: set[int] = set()
        """Physical offsets of messages in slots with waiting ones that are delivered already."""
        self._followed_end = 0  # where the log of a slave ended when it last asked its master
        self.checkpoint = TimerCheckpoint()

    def load(self, now_ms: int) -> Compared:
        """Read the files, and repair them; raise StoreError if a broker cannot start with them.

        Return what was found. What is not delivered yet waits, however long it is overdue.
        Differs: Java loses what became due more than a week ago, and, after the clock went back,
        what becomes due before the last delivery.
        """
        self._reading_ms, self._unread, self._followed_end = None, NO_UNIT, 0
        files, precision_ms = self._store.files, self._precision_ms
        self.checkpoint = checkpoint = TimerCheckpoint()
        checkpoint.read(files, now_ms)
        self.log = log = TimerLog(files, self._log_file_bytes)
        self.wheel = wheel = TimerWheel(precision_ms)
        present_ms = wheel.floor_ms(now_ms)
        comparison = Comparison(self._store, log, checkpoint, present_ms, self._repeat_ms)
        compared = comparison.run(log.load(now_ms))
        if files.durable and compared.timed:
            wheel.open(files, now_ms)  # of another size: the start is refused
        if compared.broken:
            placed = list(self._written_anew(compared, now_ms))
        else:
            placed = [(one.phy_offset, *one.unit) for one in compared.timed if one.unit is not None]
        for phy_offset, position, unit in placed:
            if phy_offset in compared.waiting:
                wheel.put(unit.slot_ms, position, -1 if unit.deletes else 1)
        done = [
            (unit.slot_ms, phy_offset)
            for phy_offset, _, unit in placed
            if phy_offset not in compared.waiting
        ]
        self._delivered = {at for slot_ms, at in done if wheel.slot(slot_ms) is not None}
        read_ms = present_ms if comparison.why_not is not None else checkpoint.last_read_ms
        done_ms = max((slot_ms + precision_ms for slot_ms, _ in done), default=0)
        checkpoint.queue_offset = compared.next_offset
        checkpoint.read_before_ms = max(checkpoint.read_before_ms, read_ms, done_ms)
        checkpoint.last_read_ms = min(read_ms, present_ms)
        first_ms = wheel.first_ms(LONG_MIN)
        if first_ms is not None:
            checkpoint.last_read_ms = min(checkpoint.last_read_ms, first_ms)
        if compared.in_doubt:
            if files.durable:
                files.delete(WHEEL_PATH)
            self.save(now_ms, checkpoint.queue_offset)
        return compared

    def _written_anew(
        self, compared: Compared, now_ms: int
    ) -> Iterator[tuple[int, int, TimerUnit]]:
        """Write a unit for each message of the timer topic, as if there had been no log.

        Yield physical offset, position and unit of each. A process that is killed meanwhile leaves
        an empty checkpoint: the next one begins again.
        """
        self.checkpoint.clear(self._store.files, now_ms)
        self.log.clear()
        newest: dict[int, int] = {}
        for one in compared.timed:
            waits = one.phy_offset in compared.waiting
            unit = self._unit_of(one, now_ms, waits=waits) if one.unit is None else one.unit[1]
            unit = unit._replace(previous=newest.get(unit.slot_ms, NO_UNIT))
            newest[unit.slot_ms] = position = self.log.append(unit, now_ms)
            yield one.phy_offset, position, unit

    def _unit_of(self, one: Timed, now_ms: int, *, waits: bool) -> TimerUnit:
        """Return a unit for a message that has none."""
        write_ms = min(self.wheel.floor_ms(now_ms if waits else one.store_ms), one.out_ms)
        return self._unit(
            *(one.out_ms, one.phy_offset, one.size_bytes),
            real_topic=one.topic,
            deletes=one.deletes,
            write_ms=write_ms,
        )

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
        unit = self._unit(
            *(due_ms, phy_offset, size_bytes),
            real_topic=real_topic,
            deletes=deletes,
            write_ms=write_ms,
        )
        slot = self.wheel.slot(unit.slot_ms)
        if slot is not None:
            unit = unit._replace(previous=slot.last_position)
        position = self.log.append(unit, now_ms)
        self.wheel.put(unit.slot_ms, position, -1 if deletes else 1)
        return unit

    def _unit(
        self,
        due_ms: int,
        phy_offset: int,
        size_bytes: int,
        *,
        real_topic: str | None,
        deletes: bool,
        write_ms: int,
    ) -> TimerUnit:
        """Return a unit that is not in a chain yet."""
        precision_ms, slots = self._precision_ms, self._window_slots
        magic, beyond_ms = MAGIC_DEFAULT, due_ms - write_ms - slots * precision_ms
        if beyond_ms >= 0:
            magic |= MAGIC_ROLL
            near = beyond_ms < slots // 3 * precision_ms  # the next roll should not come too soon
            due_ms = write_ms + (slots // 2 if near else slots) * precision_ms
        if deletes:
            magic |= MAGIC_DELETE
        return TimerUnit(
            NO_UNIT,
            magic,
            write_ms,
            int32(due_ms - write_ms),
            phy_offset,
            size_bytes,
            0 if real_topic is None else java_string_hash(real_topic),
        )

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
        # What the master has delivered since then came behind this end.
        self.checkpoint.log_end = self._followed_end
        self._followed_end = self._store.log.max_offset
        self.first_ms()

    def slot_is_done(self) -> None:
        """Note that all messages of the slot that was read are delivered, if one was read."""
        if self._reading_ms is not None:
            self.checkpoint.last_read_ms = self._reading_ms + self._precision_ms
            self._reading_ms, self._unread = None, NO_UNIT

    def go_back(self, to_ms: int) -> bool:
        """Forget what is delivered, and read from ``to_ms`` on; return False if it is not before.

        Save that before a new message comes: the next start would take its slot for delivered.
        """
        self.first_ms()
        checkpoint = self.checkpoint
        if to_ms >= checkpoint.last_read_ms:
            return False
        checkpoint.read_before_ms = max(checkpoint.read_before_ms, checkpoint.last_read_ms)
        checkpoint.last_read_ms = to_ms
        return True

    def _last_position(self, slot_ms: int) -> int:
        slot = self.wheel.slot(slot_ms)
        return NO_UNIT if slot is None else slot.last_position

    def _chain(self, position: int) -> Iterator[TimerUnit]:
        while position != NO_UNIT:
            unit = self.log.unit_at(position)
            if unit is None:
                return
            if unit.phy_offset not in self._delivered:
                yield unit
            if unit.previous >= position:
                return  # no older one: the files are damaged
            position = unit.previous

    # -- progress -----------------------------------------------------------------------------

    def save(self, now_ms: int, queue_offset: int) -> None:
        """Bring everything to the disk, in Java's order; raise StoreError if it refuses.

        ``queue_offset`` is that of the first message of the topic that is neither delivered nor
        has a unit. Source: TimerMessageStore.java#TimerFlushService (5.5.0)
        """
        store, files, checkpoint = self._store, self._store.files, self.checkpoint
        self.log.flush()
        if files.durable:
            self.wheel.write(files, now_ms)
        else:
            self.wheel.forget_changes()
        checkpoint.timer_log_flushed = self.log.end
        if self._reading_ms is None and not store.role.is_slave:
            checkpoint.log_end = store.log.max_offset
        checkpoint.anchor = anchor_of(store, queue_offset)
        checkpoint.write(files, now_ms, queue_offset)
        self.log.delete_before(store.log.min_offset)

    def __repr__(self) -> str:
        return f"<timers {self.checkpoint}>"


def clear_files(files: Files) -> None:
    """Delete the files of timers, as before the first start."""
    for path in (*files.list(LOG_FOLDER), WHEEL_PATH, CHECKPOINT_PATH):
        files.delete(path)
