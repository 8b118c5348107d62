"""The clock of a cluster.

It has two axes of elapsed time, in whole milliseconds:

- The *cluster* axis runs with real time, faster or slower by ``rate``, or is stopped (frozen).
  ``advance`` moves it.
- The *outside* axis always runs with real time. It carries the liveness of peers that the clock
  does not control (a JVM, a Go program); ``advance`` moves it only with ``outside_peers=True``.

``now_ms`` is wall time on top of the cluster axis. Freezing, unfreezing, another rate and
``jump_to`` change no elapsed time and fire no timer.
"""

# Over 400 lines: a read of the time goes through clock, wall and axis, so they stay in one file.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from fakemq.clock.durations import Duration, duration_ms
from fakemq.clock.machine_time import MachineTime, TimeSource, thread_busy_ms
from fakemq.clock.slices import Slices
from fakemq.clock.timers import (
    CYCLE_MS,
    DOMAINS,
    SEEN_MS,
    Domain,
    Routine,
    Timeline,
    Timer,
    domain_of,
    pending_of,
)
from fakemq.errors import FakemqError

MAX_RATE: Final = 10_000
"""The highest rate: an idle cluster then has work in nearly every real millisecond."""
MIN_RATE: Final = 1 / MAX_RATE
"""The lowest rate: a second of the cluster then takes three hours. With one of 1e-308 the real time
of a deadline would be no number."""

_MOST_READS: Final = 100
"""How often two times are read until they were read together."""
_LOOK_MS: Final = 100
"""How long a correction of the machine's wall time may go unseen."""


def checked_rate(rate: object) -> float:
    """Return the rate; raise ValueError for one that is not from `MIN_RATE` to `MAX_RATE`."""
    number = rate if isinstance(rate, int | float) and not isinstance(rate, bool) else 0
    if MIN_RATE <= number <= MAX_RATE:
        return number
    raise ValueError(
        f"rate={rate!r}: expected how many times as fast as real time, from {MIN_RATE:g} to"
        f" {MAX_RATE:,}; freeze() stops the clock, advance() jumps"
    )


class Axis:
    """Elapsed time: what the source has counted while the axis ran, plus what `add` added.

    A running axis is ``rate`` times as fast as the source. The time is computed from one anchor
    (``_base_ms``, ``_passed_ms``, ``_rest_ms``), so rounding errors do not add up.
    """

    def __init__(self, source: TimeSource, running: bool) -> None:
        self._real_ms = source.elapsed_ms
        # The anchor: the source's time at the last change of `running` or `rate` …
        self._base_ms = self._real_ms()
        # … the axis' own time at that moment, in whole milliseconds …
        self._passed_ms = 0
        # … and the fraction of a millisecond beyond it, in [0, 1).
        self._rest_ms = 0.0
        self.at_ms: int | None = None
        """The deadline that is being fired, while `Clock` walks the axis; otherwise None."""
        self.running = running
        self.rate = 1.0
        self.timeline = Timeline()
        """The timers of this axis; their deadlines are in its time."""

    def target_ms(self, source_ms: int | None = None) -> int:
        """Return the axis' time in milliseconds, without regard to a walk that is under way.

        ``source_ms`` is the source's time, if the caller has read it.
        """
        if not self.running:
            return self._passed_ms
        real_ms = (self._real_ms() if source_ms is None else source_ms) - self._base_ms
        if self.rate != 1:
            real_ms = int(real_ms * self.rate + self._rest_ms)
        return self._passed_ms + real_ms

    def elapsed_ms(self) -> int:
        """Return the time that callers see: during a walk, the deadline that is being fired."""
        return self.target_ms() if self.at_ms is None else self.at_ms

    def real_ms_at(self, at_ms: int) -> int:
        """Return the source's time at which a running axis reaches ``at_ms``."""
        left_ms = at_ms - self._passed_ms
        if self.rate != 1:
            left_ms = math.ceil((left_ms - self._rest_ms) / self.rate)
        return self._base_ms + left_ms

    def run(self, running: bool, rate: float) -> None:
        """Run at ``rate`` from now on, or stop. The time itself does not change."""
        now_ms = self._real_ms()
        if self.running and self.rate != 1:
            exact_ms = (now_ms - self._base_ms) * self.rate + self._rest_ms
            self._passed_ms += int(exact_ms)
            self._rest_ms = exact_ms % 1
        elif self.running:
            self._passed_ms += now_ms - self._base_ms
        self._base_ms = now_ms
        self.running, self.rate = running, rate

    def add(self, ms: int) -> None:
        """Move the time by ``ms``."""
        self._passed_ms += ms


class SavedClock(NamedTuple):
    """The state of a clock, as `Clock.state` returns it and `Clock.restore` takes it."""

    frozen: bool
    rate: float
    at_ms: int
    """The wall time, in milliseconds since the epoch."""
    offset_ms: int
    """How far the wall was ahead of the machine's, in milliseconds."""


class Wall:
    """Wall time on top of an axis.

    There are two cases:
    1. The axis runs at rate 1. The wall is the source's wall time plus an offset, so it takes part
       in corrections of the machine's time.
    2. The axis is stopped or has another rate. The wall is the axis' time plus a constant.

    In case 1, too, wall and axis reach their next millisecond together. The source counts them
    apart, so a message that is due by the wall would have its timer end a millisecond early.
    """

    def __init__(self, source: TimeSource, axis: Axis, start_at_ms: int | None) -> None:
        self._real_wall_ms = source.wall_ms
        self._axis = axis
        self._start_at_ms = start_at_ms
        # Wall time minus the axis' elapsed time …
        self._ahead_ms = 0
        # … and when it was last compared with the source's.
        self._looked_ms = 0
        self.offset_ms = 0
        """The offset of case 1: how far the wall is ahead of the source's, in milliseconds."""
        self.follows = True
        """Whether case 1 applies."""
        self.begin()

    def now_ms(self) -> int:
        """Return wall time, in milliseconds since the epoch; during a walk, at its deadline."""
        return self.at(self._axis.elapsed_ms())

    def at(self, axis_ms: int) -> int:
        """Return the wall time at a time of the axis."""
        if self.follows and axis_ms - self._looked_ms >= _LOOK_MS:
            self._looked_ms = axis_ms
            self.follow(self.offset_ms)
        return axis_ms + self._ahead_ms

    def follow(self, offset_ms: int) -> None:
        """Be ``offset_ms`` ahead of the source's wall time, as it is now."""
        self.offset_ms = offset_ms
        for _ in range(_MOST_READS):
            before_ms = self._axis.target_ms()
            wall_ms, target_ms = self._real_wall_ms(), self._axis.target_ms()
            # Otherwise another process had the processor between the reads.
            if target_ms - before_ms <= 1:
                break
        ahead_ms = wall_ms + offset_ms - target_ms
        # By one millisecond the two always differ.
        if not -1 <= ahead_ms - self._ahead_ms <= 1:
            self._ahead_ms = ahead_ms

    def machine_ms(self) -> int:
        """Return the source's wall time, without the offset."""
        return self._real_wall_ms()

    def set(self, at_ms: int) -> None:
        """Set the wall to ``at_ms``, and choose the case by the axis' present state."""
        self.follows = self._axis.running and self._axis.rate == 1
        self._looked_ms = self._axis.elapsed_ms()
        self._ahead_ms = at_ms - self._looked_ms
        self.offset_ms = at_ms - self._real_wall_ms()

    def begin(self) -> None:
        """Set the wall to its start value; without one that is the machine's present time."""
        self.set(self._real_wall_ms() if self._start_at_ms is None else self._start_at_ms)
        if self._start_at_ms is None:
            self.follow(0)  # the source may have moved on within `set`


class Hold:
    """A block on automatic movement; leaving the ``with`` block or ``release`` ends it."""

    def __init__(self, holds: list[Hold], why: str, on_change: Callable[[], None]) -> None:
        # The clock's own list, shared: a hold is active as long as it is in there.
        self._holds = holds
        self._on_change = on_change
        self.why = why
        holds.append(self)
        on_change()

    def release(self) -> None:
        """End the block; a second call, or one after `Clock.reset`, does nothing."""
        if self in self._holds:
            self._holds.remove(self)
            self._on_change()

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Clock:
    """One cluster's time and timers. Not thread-safe: used on the cluster's own thread."""

    def __init__(
        self,
        *,
        frozen: bool = False,
        start_at_ms: int | None = None,
        source: TimeSource | None = None,
    ) -> None:
        source = MachineTime() if source is None else source
        # The number of timers made so far; it orders timers of one deadline.
        self._seq = 0
        # Blocks on automatic movement of the cluster axis, oldest first.
        self._holds: list[Hold] = []
        # Whether timers are being fired; no second walk starts within the first.
        self._firing = False
        self.slices = Slices()
        """The long work of all nodes. What timers have begun is finished before time is moved."""
        self.moment_ms: int | None = None
        """What `now_ms` returns in a held moment; None outside of one. Only the clock sets it."""
        # What is called at the end of the held moment, in this order.
        self._at_release: list[Callable[[], None]] = []
        # Whether the clock has had a rate other than 1, so that its wall has left real time.
        self._was_paced = False
        self.settle: Callable[[], None] = lambda: None
        """Called after each timer; it delivers what nodes have sent each other."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when `next_due_at_ms` may have changed; set by the driver."""
        self.why_ended: Callable[[], str] = lambda: ""
        """Called before each timer of an ``advance``; a reason, other than "", ends it."""
        self.may_skip: Callable[[], bool] = lambda: True
        """Called before an ``advance`` skips routine; it returns whether that is allowed."""
        self.on_skip: Callable[[int], None] = lambda ms: None
        """Called with the milliseconds that an ``advance`` is about to skip."""
        # The source's time at which `advance_part` leaves the rest; None outside of one.
        self._part_ends_ms: int | None = None
        # Whether the last movement left a rest.
        self._has_rest = False
        self.axis = self._cluster = Axis(source, running=not frozen)
        """The cluster axis, for parts that read the time with each message."""
        self._outside = Axis(source, running=True)
        self._wall = Wall(source, self._cluster, start_at_ms)
        self._real_ms = source.elapsed_ms

    # -- reading ------------------------------------------------------------------------------

    @property
    def frozen(self) -> bool:
        return not self._cluster.running

    @property
    def rate(self) -> float:
        """How many times as fast as real time the clock runs while it is not frozen."""
        return self._cluster.rate

    @rate.setter
    def rate(self, rate: object) -> None:
        checked = checked_rate(rate)
        self._run(not self.frozen, checked)
        self._was_paced |= checked != 1

    @property
    def holds(self) -> list[str]:
        """The reasons of the active holds, oldest first."""
        return [hold.why for hold in self._holds]

    def now_ms(self) -> int:
        """Return the cluster's wall time, in milliseconds since the epoch."""
        return self._wall.now_ms() if self.moment_ms is None else self.moment_ms

    @property
    def follows_real_time(self) -> bool:
        """Whether ``now_ms`` is the machine's own wall time, as peers outside the cluster use."""
        wall = self._wall
        return wall.follows and wall.offset_ms == 0 and not self._was_paced

    def machine_ms(self) -> int:
        """Return the machine's own wall time, as peers outside the cluster have it."""
        return self._wall.machine_ms()

    def elapsed_ms(self, *, outside: bool = False) -> int:
        """Return the time of the cluster axis, or of the outside axis; it never decreases."""
        axis = self._outside if outside else self._cluster
        return axis.target_ms() if axis.at_ms is None else axis.at_ms

    def timers(self) -> list[Timer]:
        """Return the pending timers: the cluster's in firing order, then those outside."""
        return self._cluster.timeline.pending() + self._outside.timeline.pending()

    def due_in_ms(self, timer: Timer) -> int:
        """Return how many milliseconds of its own axis remain until ``timer`` is due."""
        return timer.due_ms - self.elapsed_ms(outside=timer.outside)

    # -- timers -------------------------------------------------------------------------------

    def call_later(
        self,
        delay_ms: int,
        callback: Callable[[], None],
        *,
        kind: str,
        owner: str,
        outside: bool = False,
        routine: Routine | None = None,
        grid_ms: int = 0,
    ) -> Timer:
        """Call ``callback`` once, ``delay_ms`` from now.

        ``kind`` is a row of `timers.DOMAINS`. ``outside`` says that the timer watches a peer
        outside the cluster: a liveness timer then counts on the outside axis.
        ``routine`` says that the callback is routine, see `fakemq.clock.timers`; ``grid_ms`` is
        its period if that need not divide `CYCLE_MS`.
        """
        domain = DOMAINS.get(kind) or domain_of(kind)  # most kinds have no number
        outside = outside and domain is Domain.LIVENESS
        axis = self._outside if outside else self._cluster
        self._seq += 1
        timer = Timer(
            axis.elapsed_ms() + max(0, delay_ms),
            self._seq,
            callback,
            kind,
            owner,
            domain,
            outside,
            routine,
            grid_ms,
        )
        if axis.timeline.push(timer) and axis.running:
            self.on_change()
        return timer

    def next_due_at_ms(self) -> int | None:
        """Return the source's elapsed time at which the next timer falls due; None if none will.

        A stopped axis and a held cluster axis have no such timer.
        """
        moments = []
        for axis in self._moving():
            due_ms = axis.timeline.next_due_ms()
            if due_ms is not None:
                moments.append(axis.real_ms_at(due_ms))
        return min(moments, default=None)

    def next_due_in_ms(self) -> int | None:
        """Return the real milliseconds until the next timer falls due; None if none will."""
        at_ms = self.next_due_at_ms()
        return None if at_ms is None else max(0, at_ms - self._real_ms())

    def fire_due(self, most_ms: int | None = None) -> list[Timer]:
        """Fire the timers that real time has made due; return them.

        The driver calls this. Within a timer it does nothing. After ``most_ms`` of the thread's
        processor time it leaves the rest for the next call: peers may let thousands be due at once.
        """
        fired: list[Timer] = []
        if self._firing:
            return fired
        busy_until_ms = None if most_ms is None else thread_busy_ms() + most_ms
        for axis in self._moving():
            now_ms = axis.target_ms()
            self._walk(axis, fired, now_ms, now_ms, busy_until_ms=busy_until_ms)
        return fired

    def _moving(self) -> tuple[Axis, ...]:
        """Return the axes that real time moves now."""
        cluster_moves = self._cluster.running and not self._holds
        return (self._cluster, self._outside) if cluster_moves else (self._outside,)

    # -- moving -------------------------------------------------------------------------------

    def hold_moment(self, *, outside: bool = False) -> int:
        """Return the same time to all callers until `release_moment`, or until a caller moves it.

        Return the elapsed time, of the cluster axis or of the outside axis.

        A session handles all commands of one batch of bytes within one moment.
        """
        cluster, source_ms = self._cluster, self._real_ms()
        if self.moment_ms is None and not self._firing:
            cluster.at_ms = at_ms = cluster.target_ms(source_ms)
            self.moment_ms = self._wall.at(at_ms)
        axis = self._outside if outside else cluster
        return axis.target_ms(source_ms) if axis.at_ms is None else axis.at_ms

    def release_moment(self) -> None:
        """End the moment; without one this does nothing."""
        if self.moment_ms is not None:
            self.moment_ms = None
            self._cluster.at_ms = None
            while self._at_release:  # if one fails, the next release calls the others
                self._at_release.pop(0)()

    def at_release(self, act: Callable[[], None]) -> bool:
        """Call ``act`` at the end of the held moment; return False if no moment is held."""
        if self.moment_ms is None:
            return False
        self._at_release.append(act)
        return True

    def freeze(self) -> None:
        """Stop the cluster axis; no timer fires, and the outside axis keeps running."""
        self._run(False, self.rate)

    def unfreeze(self) -> None:
        """Let the cluster axis run again, from its present time."""
        self._run(True, self.rate)

    def jump_to(self, at_ms: int) -> None:
        """Set the wall time, forward or back; no time passes and no timer fires."""
        self.release_moment()
        self._wall.set(at_ms)

    def state(self) -> SavedClock:
        """Return the state that `restore` takes."""
        return SavedClock(self.frozen, self.rate, self.now_ms(), self._wall.offset_ms)

    def restore(self, state: SavedClock) -> None:
        """Return to a state; no time passes and no timer fires.

        There are two cases:
        1. The clock runs at rate 1 in ``state``. Its wall gets the same offset from the machine's.
        2. Otherwise its wall gets the same time.
        """
        self._run(not state.frozen, state.rate)
        self._wall.set(state.at_ms)
        if self._wall.follows:
            self._wall.follow(state.offset_ms)

    def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Timer]:
        """Move time by a duration such as ``"11s"``; see `advance_ms`."""
        return self.advance_ms(duration_ms(duration), outside_peers=outside_peers)

    def advance_ms(self, ms: int, *, outside_peers: bool = False) -> list[Timer]:
        """Move time by ``ms``, fire what falls due in (deadline, insertion) order; return it.

        With ``outside_peers`` the outside axis moves too. Raise ValueError for a negative number,
        RuntimeError inside a timer, and FakemqError if ``why_ended`` returns a reason: time then
        stays at the deadline of the last timer that fired.
        """
        if ms < 0:
            raise ValueError(f"time does not go back: {ms} ms")
        fired: list[Timer] = []
        # What timers have begun ends before time moves on, and so does what they begin from now on.
        self.slices.finish_timers_work()
        self.slices.at_once = True
        try:
            left_ms = self._advance(ms, fired, outside_peers)
        finally:
            self.slices.at_once = False
        if self._has_rest:
            raise FakemqError(f"{self.why_ended()}: time was moved by {ms - left_ms} of {ms} ms")
        return fired

    def advance_part(
        self, ms: int, fired: list[Timer], *, part_ms: int, outside_peers: bool = False
    ) -> int | None:
        """Move time by up to ``ms``, for about ``part_ms`` of real time; add to ``fired``.

        Return None if all is done, otherwise the milliseconds left, which may be 0: then timers of
        this moment are left. Time waits for long work that a timer has begun.
        """
        self._part_ends_ms = self._real_ms() + part_ms
        try:
            left_ms = self._advance(ms, fired, outside_peers)
        finally:
            self._part_ends_ms = None
        return left_ms if self._has_rest else None

    def next_of(self, kind: str, *, outside_peers: bool = False) -> Timer:
        """Return the next pending timer of ``kind``; ``"delay_level"`` finds those of all levels.

        With ``outside_peers`` only timers count that watch a peer outside the cluster. Raise
        LookupError, naming the kinds that are pending, if there is none.
        """
        timers = [one for one in self.timers() if one.outside or not outside_peers]
        return min(pending_of(kind, timers), key=self.due_in_ms)

    def hold(self, why: str) -> Hold:
        """Block automatic movement until the hold is released; several holds may be active."""
        return Hold(self._holds, why, self.on_change)

    def reset(self, *, frozen: bool) -> None:
        """Set the wall to its start value and the rate to 1, and release all holds.

        Elapsed time and timers stay.
        """
        self._holds.clear()
        self._run(not frozen, 1)
        self._wall.begin()
        self._was_paced = False

    # -- inside -------------------------------------------------------------------------------

    def _run(self, running: bool, rate: float) -> None:
        self.release_moment()
        if (running, rate) != (self._cluster.running, self._cluster.rate):
            now_ms = self.now_ms()
            self._cluster.run(running, rate)
            self._wall.set(now_ms)
            self.on_change()

    def _move(self, ms: int) -> None:
        self._cluster.add(ms)
        self._wall.offset_ms += ms

    def _advance(self, ms: int, fired: list[Timer], outside_peers: bool) -> int:
        """Move by ``ms``; return the milliseconds left, 0 unless it ended early."""
        if self._firing:
            raise RuntimeError("advance was called from within a timer")
        self.release_moment()
        self._has_rest = False
        left_ms = self._advance_both(ms, fired) if outside_peers else self._advance_one(ms, fired)
        if outside_peers or not self.frozen:
            self.on_change()
        return left_ms

    def _ends(self) -> bool:
        """Return whether a movement ends before its next timer."""
        ends_ms = self._part_ends_ms
        self._has_rest = bool(self.why_ended()) or (
            ends_ms is not None and (self.slices.time_waits or self._real_ms() >= ends_ms)
        )
        return self._has_rest

    def _advance_one(self, ms: int, fired: list[Timer]) -> int:
        from_ms = self._cluster.target_ms()
        self._move(ms)
        left_ms = self._walk(self._cluster, fired, from_ms, self._cluster.target_ms(), ends=True)
        # It ended early: time stays where the last timer fired.
        if left_ms:
            self._move(-left_ms)
        return left_ms

    def _walk(
        self,
        axis: Axis,
        fired: list[Timer],
        from_ms: int,
        until_ms: int,
        *,
        ends: bool = False,
        busy_until_ms: int | None = None,
    ) -> int:
        """Fire what is due on ``axis`` by ``until_ms``.

        Return the milliseconds left, 0 unless `_ends` or ``busy_until_ms`` ended it early.
        """
        self._firing = self.slices.in_timer = True
        at_ms = from_ms
        quiet_from_ms = from_ms  # since then only routine has fired
        try:
            while not (ends and self._ends()):
                timer = axis.timeline.pop_due(until_ms)
                if timer is None:
                    return 0
                # A late timer sees ``from_ms``: callers have seen that time, it must not go back.
                at_ms = max(timer.due_ms, from_ms)
                axis.at_ms = at_ms
                is_routine = timer.routine is not None
                callback = timer.take()
                if callback is not None:
                    fired.append(timer)
                    callback()
                    self.settle()
                    if not is_routine:
                        quiet_from_ms = at_ms
                    elif ends and at_ms - quiet_from_ms >= SEEN_MS:
                        at_ms += self._skip_routine(axis, at_ms, until_ms)
                        axis.at_ms = quiet_from_ms = at_ms
                    if busy_until_ms is not None and thread_busy_ms() >= busy_until_ms:
                        break
            return until_ms - at_ms
        finally:
            axis.at_ms = None
            self._firing = self.slices.in_timer = False

    def _skip_routine(self, axis: Axis, at_ms: int, until_ms: int) -> int:
        """Skip the time before the next other timer, or ``until_ms``; return how long that is."""
        if not self.may_skip():
            return 0
        next_ms = axis.timeline.next_without_routine_ms()
        next_ms = until_ms if next_ms is None else min(next_ms, until_ms)
        skipped_ms = max(0, next_ms - at_ms) // CYCLE_MS * CYCLE_MS
        if skipped_ms > 0:
            self.on_skip(skipped_ms)
            axis.at_ms = at_ms + skipped_ms
            axis.timeline.skip_routine(at_ms, skipped_ms)
        return skipped_ms

    def _advance_both(self, ms: int, fired: list[Timer]) -> int:
        """Move both axes by ``ms``; return the milliseconds left, 0 unless it ended early.

        They move together from deadline to deadline, so that the effects of an outside peer's
        silence fall between the cluster's own events, as in real time.
        """
        left_ms = ms
        while not self._ends():
            waits = []
            for axis in (self._cluster, self._outside):
                due_ms = axis.timeline.next_due_ms()
                if due_ms is not None:
                    waits.append(max(0, due_ms - axis.target_ms()))
            step_ms = min([*waits, left_ms])
            self._move(step_ms)
            self._outside.add(step_ms)
            left_ms -= step_ms
            before = len(fired)
            for axis in (self._cluster, self._outside):
                now_ms = axis.target_ms()
                self._walk(axis, fired, now_ms, now_ms)
            if left_ms == 0 and len(fired) == before:
                break
        return left_ms
