"""The wheel: one slot for each second, with the chain of its units.

Here the timer log says what is in the wheel: a start makes it from there. The file ``timerwheel``,
which has a place for each second of a fortnight, is written for Java's sake: Java trusts it for
units of old timer-log files.
Source: store/timer/TimerWheel.java (5.5.0)
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.protocol.layout.timer_codecs import WHEEL_SLOT
from fakemq.store.timer import WHEEL_PATH

if TYPE_CHECKING:
    from fakemq.store.files import File, Files

SLOTS: Final = 7 * 24 * 3600
"""How many slots lie before the present one, and how many behind: timerWheelTTL of a week."""
BLANK_SLOTS: Final = 60
"""The nearest slots to the end that are not used."""
FILE_BYTES: Final = 2 * SLOTS * WHEEL_SLOT.size


class Slot(NamedTuple):
    """The units of one slot. ``time`` is in units of the precision."""

    time: int
    first_position: int
    last_position: int
    messages: int
    """Its messages, less its deletions."""
    magic: int = 0


class TimerWheel:
    """The slots of one broker. ``precision_ms`` is the length of a slot."""

    def __init__(self, precision_ms: int) -> None:
        self.precision_ms = precision_ms
        self._slots: dict[int, Slot] = {}  # by time
        self._times: list[int] = []  # a heap of the times of slots, each as often as it was begun
        self._changed: dict[int, Slot] = {}

    def floor_ms(self, time_ms: int) -> int:
        """Return the time of the slot to which a time belongs."""
        return time_ms // self.precision_ms * self.precision_ms

    def slot(self, time_ms: int) -> Slot | None:
        """Return the slot of a time; None if it has no unit."""
        return self._slots.get(time_ms // self.precision_ms)

    def put(self, time_ms: int, position: int, change: int) -> None:
        """Add a unit to the slot of a time; ``change`` is 1, or -1 for a deletion."""
        time = time_ms // self.precision_ms
        old = self._slots.get(time)
        if old is None:
            new = Slot(time, position, position, change)
            heapq.heappush(self._times, time)
        else:
            new = old._replace(last_position=position, messages=old.messages + change)
        self._slots[time] = self._changed[time] = new

    def first_ms(self, from_ms: int) -> int | None:
        """Return the time of the first slot at or after a time; None if there is none.

        Slots before that time are forgotten.
        """
        from_time, times = -(-from_ms // self.precision_ms), self._times
        while times and times[0] < from_time:
            self._slots.pop(heapq.heappop(times), None)
        return times[0] * self.precision_ms if times else None

    def times_ms(self, from_ms: int) -> list[int]:
        """Return the times of the slots at or after a time, the first one first."""
        from_time = -(-from_ms // self.precision_ms)
        times = {time for time in self._times if time >= from_time}
        return [time * self.precision_ms for time in sorted(times)]

    def forget_changes(self) -> None:
        """Take all slots for written, because no file has them."""
        self._changed.clear()

    def messages(self, from_ms: int) -> int:
        """Return how many messages are in the slots from a time on.

        Source: TimerWheel.java#getAllNum (5.5.0)
        """
        from_time = from_ms // self.precision_ms
        return sum(slot.messages for slot in self._slots.values() if slot.time >= from_time)

    # -- the file -----------------------------------------------------------------------------

    def write(self, files: Files, now_ms: int) -> None:
        """Write the slots that changed; raise StoreError if the disk refuses."""
        if not self._changed:
            return
        file = self.open(files, now_ms)
        for time, slot in sorted(self._changed.items()):
            # What is overdue by a fortnight shares its place with a later time, which counts.
            at = time % (2 * SLOTS) * WHEEL_SLOT.size
            file.write_at(at, WHEEL_SLOT.pack(*slot), now_ms)
            del self._changed[time]
        file.flush()

    @staticmethod
    def open(files: Files, now_ms: int) -> File:
        """Return the file; raise StoreError if it has another size."""
        return files.open(WHEEL_PATH, FILE_BYTES, now_ms, sparse=True)

    def __repr__(self) -> str:
        return f"<timer wheel of {len(self._slots)} slots>"
