"""The clock of a cluster, and the clock as one of its nodes sees it.

Two elapsed axes in integer milliseconds. The *cluster* axis runs with real time or stands still
(frozen) and moves by ``advance``; ``rate`` has it run faster or slower. The *outside* axis always
runs with real time: it carries the liveness of peers the clock has no power over (a JVM, a Go
program), and moves by ``advance`` only when the test says ``outside_peers=True``. ``now_ms`` is a
wall on top of the cluster axis. Entering or leaving a freeze, another rate and `jump_to` change no
elapsed time and fire nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.clock.durations import Duration, duration_ms
from fakemq.clock.machine_time import Axis, MachineTime, Standing, TimeSource, Wall, checked_rate
from fakemq.clock.timers import Domain, Timer, domain_of, pending_of
from fakemq.errors import FakemqError
from fakemq.events.core import ClockSkewed

if TYPE_CHECKING:
    from fakemq.clock.hold import Hold
    from fakemq.journal.journal import Journal


class Clock:
    """One cluster's time and timers. Not thread-safe: used on the cluster's own thread.

    ``settle`` is called after every timer, so that all peers living in the cluster are quiet
    before the next; ``on_change`` tells the driver that ``next_due_in_ms`` may have changed.
    """

    def __init__(
        self,
        *,
        frozen: bool = False,
        start_at_ms: int | None = None,
        source: TimeSource | None = None,
    ) -> None:
        source = MachineTime() if source is None else source
        self._seq = 0
        self._holds: list[Hold] = []
        self._firing = False
        self._moment_ms: int | None = None
        self._was_paced = False
        self.settle: Callable[[], None] = lambda: None
        self.on_change: Callable[[], None] = lambda: None
        self.why_ended: Callable[[], str] = lambda: ""
        """Asked before each timer of an ``advance`` why that is over; "" lets it go on."""
        self._cluster = Axis(source, running=not frozen)
        self._outside = Axis(source, running=True)
        self._wall = Wall(source, self._cluster, start_at_ms)

    # -- reading ------------------------------------------------------------------------------

    @property
    def frozen(self) -> bool:
        return not self._cluster.running

    @property
    def rate(self) -> float:
        """How many times as fast as real time the clock runs, while it is not frozen."""
        return self._cluster.rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._run(not self.frozen, checked_rate(rate))
        self._was_paced |= rate != 1

    @property
    def holds(self) -> list[str]:
        """Why automatic movement is blocked, oldest reason first; empty if it is not."""
        return [hold.why for hold in self._holds]

    def now_ms(self) -> int:
        """Wall time of the cluster, in milliseconds since the epoch."""
        return self._wall.now_ms() if self._moment_ms is None else self._moment_ms

    @property
    def tells_real_time(self) -> bool:
        """Whether ``now_ms`` is the machine's own wall, which peers outside the cluster live by."""
        wall = self._wall
        return wall.follows and wall.offset_ms == 0 and not self._was_paced

    def elapsed_ms(self, *, outside: bool = False) -> int:
        """Time on the cluster's axis, or on that of outside peers; never goes back."""
        return (self._outside if outside else self._cluster).elapsed_ms()

    def timers(self) -> list[Timer]:
        """Pending timers of both axes, each axis in firing order."""
        return self._cluster.timeline.pending() + self._outside.timeline.pending()

    def due_in_ms(self, timer: Timer) -> int:
        """How long until ``timer`` is due on its own axis."""
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
    ) -> Timer:
        """Call ``callback`` once, ``delay_ms`` from now.

        ``kind`` is a row of `timers.DOMAINS`; ``outside`` says that the timer watches a peer
        outside the cluster, which takes a liveness timer off the cluster's axis.
        """
        domain = domain_of(kind)
        outside = outside and domain is Domain.LIVENESS
        axis = self._outside if outside else self._cluster
        self._seq += 1
        timer = Timer(
            axis.elapsed_ms() + max(0, delay_ms), self._seq, callback, kind, owner, domain, outside
        )
        before = axis.timeline.next_due_ms()
        axis.timeline.push(timer)
        if before is None or timer.due_ms < before:
            self.on_change()
        return timer

    def next_due_in_ms(self) -> int | None:
        """How much real time may pass until a timer falls due by itself; None if none will."""
        waits = []
        for axis in (self._cluster, self._outside):
            due_ms = axis.timeline.next_due_ms()
            if due_ms is not None and axis.running and not (self._holds and axis is self._cluster):
                waits.append(axis.real_ms_until(due_ms))
        return min(waits, default=None)

    def fire_due(self) -> list[Timer]:
        """Fire what real time has made due; the driver calls it. Within a timer it does nothing."""
        fired: list[Timer] = []
        if self._firing:
            return fired
        for axis in (self._cluster, self._outside):
            if axis.running and not (self._holds and axis is self._cluster):
                self._walk(axis, fired, axis.target_ms())
        return fired

    # -- moving -------------------------------------------------------------------------------

    def stand_still(self) -> None:
        """Let the cluster's time stand until `go_on`, or until somebody moves it: one moment."""
        if self._moment_ms is None and not self._firing:
            self._moment_ms = self.now_ms()
            self._cluster.walk_to(self._cluster.target_ms())

    def go_on(self) -> None:
        """The moment is over."""
        if self._moment_ms is not None:
            self._moment_ms = None
            self._cluster.walk_to(None)

    def freeze(self) -> None:
        """Let the cluster's time stand still; nothing fires, outside peers go on in real time."""
        self._run(False, self.rate)

    def unfreeze(self) -> None:
        """Let the cluster's time run on from where it stands."""
        self._run(True, self.rate)

    def jump_to(self, at_ms: int) -> None:
        """Have another wall time, earlier or later; no time passes and nothing fires."""
        self.go_on()
        self._wall.set(at_ms)

    def standing(self) -> Standing:
        """How it stands, for `stand`."""
        return Standing(self.frozen, self.rate, self.now_ms(), self._wall.offset_ms)

    def stand(self, standing: Standing) -> None:
        """Stand as it stood then; no time passes and nothing fires.

        One that ran with the machine's time is as far ahead of that as it was.
        """
        self._run(not standing.frozen, standing.rate)
        self._wall.set(standing.at_ms)
        if self._wall.follows:
            self._wall.offset_ms = standing.offset_ms

    def advance(self, duration: Duration, *, outside_peers: bool = False) -> list[Timer]:
        """Move time on by what people write; see `advance_ms`."""
        return self.advance_ms(duration_ms(duration), outside_peers=outside_peers)

    def advance_ms(self, ms: int, *, outside_peers: bool = False) -> list[Timer]:
        """Move time on, firing what falls due in (deadline, insertion) order; gives what fired.

        With ``outside_peers`` the liveness of peers outside the cluster ages too. Raises
        ValueError for a negative duration, RuntimeError inside a timer, and FakemqError if
        ``why_ended`` has a reason: time is then where the last timer fired.
        """
        if ms < 0:
            raise ValueError(f"time does not go back: {ms} ms")
        if self._firing:
            raise RuntimeError("advance was called from within a timer")
        self.go_on()
        fired: list[Timer] = []
        if outside_peers:
            left_ms = self._advance_both(ms, fired)
        else:
            from_ms = self._cluster.target_ms()
            self._move(ms)
            left_ms = self._walk(self._cluster, fired, from_ms, ends=True)
            self._move(-left_ms)
        self.on_change()
        if why := self.why_ended():
            raise FakemqError(f"{why}: time was moved by {ms - left_ms} of {ms} ms")
        return fired

    def next_of(self, kind: str, *, outside_peers: bool = False) -> Timer:
        """The next pending deadline of ``kind``; ``"delay_level"`` finds those of all levels.

        With ``outside_peers`` only those count that watch a peer outside the cluster.

        Raises LookupError if there is none, naming the kinds that are pending, and those that may
        be meant.
        """
        timers = [one for one in self.timers() if one.outside or not outside_peers]
        return min(pending_of(kind, timers), key=self.due_in_ms)

    def hold(self, why: str) -> Hold:
        """A counted block on every automatic movement, until released; a context manager."""
        from fakemq.clock.hold import Hold  # few tests do this

        return Hold(self._holds, why, self.on_change)

    def reset(self, *, frozen: bool) -> None:
        """The wall back to its start value, running or not, at rate 1 and held by nobody.

        Elapsed time and timers go on.
        """
        self._holds.clear()
        self._run(not frozen, 1)
        self._wall.begin()
        self._was_paced = False

    # -- inside -------------------------------------------------------------------------------

    def _run(self, running: bool, rate: float) -> None:
        self.go_on()
        if (running, rate) != (self._cluster.running, self._cluster.rate):
            now_ms = self.now_ms()
            self._cluster.run(running, rate)
            self._wall.set(now_ms)
            self.on_change()

    def _move(self, ms: int) -> None:
        self._cluster.add(ms)
        self._wall.offset_ms += ms

    def _walk(self, axis: Axis, fired: list[Timer], from_ms: int, ends: bool = False) -> int:
        # Gives how much is left of the way, which is 0 unless it ended early. A timer that is late
        # sees ``from_ms``, which others have seen already: no step back.
        self._firing = True
        at_ms, until_ms = from_ms, axis.target_ms()
        try:
            while not (ends and self.why_ended()):
                timer = axis.timeline.pop_due(until_ms)
                if timer is None:
                    return 0
                at_ms = max(timer.due_ms, from_ms)
                axis.walk_to(at_ms)
                callback = timer.take()
                if callback is not None:
                    fired.append(timer)
                    callback()
                    self.settle()
            return until_ms - at_ms
        finally:
            axis.walk_to(None)
            self._firing = False

    def _advance_both(self, ms: int, fired: list[Timer]) -> int:
        # The two axes move together from deadline to deadline, so that what an outside peer's
        # silence brings about happens between the cluster's own events, as it would in real life.
        left_ms = ms
        while not self.why_ended():
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
                self._walk(axis, fired, axis.target_ms())
            if left_ms == 0 and len(fired) == before:
                break
        return left_ms


class NodeClock:
    """The clock as one node sees it: through its own skew, with its own timers.

    Stopping or killing the node cancels its timers; while it is paused they wait and fire on
    resuming, late, as those of a stopped process do. What a timer raises goes into ``journal`` as a
    bug of ours, and time goes on; without one it meets whoever moves the time.
    """

    def __init__(self, clock: Clock, owner: str, journal: Journal | None = None) -> None:
        self._clock = clock
        self._journal = journal
        self._timers: set[Timer] = set()
        self._missed: list[tuple[str, Callable[[], None]]] | None = None
        self._skew_ms = 0
        self.owner = owner
        self.on_jump: list[Callable[[], None]] = []
        """Each is called when the node's wall time has jumped and its elapsed time has not."""

    @property
    def paused(self) -> bool:
        return self._missed is not None

    @property
    def skew_ms(self) -> int:
        """How far the node's wall clock is ahead of the cluster's."""
        return self._skew_ms

    @skew_ms.setter
    def skew_ms(self, ms: int) -> None:
        if ms != self._skew_ms:
            self._skew_ms = ms
            if self._journal is not None:
                self._journal.add(ClockSkewed(node=self.owner, skew_ms=ms))
            self.jumped()

    def jumped(self) -> None:
        """The wall time has jumped, and no time has passed."""
        for look_again in self.on_jump:
            look_again()

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._skew_ms

    @property
    def tells_real_time(self) -> bool:
        """As `Clock.tells_real_time`; a node that is wrong by its skew is so in a real cluster."""
        return self._clock.tells_real_time

    def elapsed_ms(self, *, outside: bool = False) -> int:
        return self._clock.elapsed_ms(outside=outside)

    def stand_still(self) -> None:
        self._clock.stand_still()

    def go_on(self) -> None:
        self._clock.go_on()

    def call_later(
        self, delay_ms: int, callback: Callable[[], None], *, kind: str, outside: bool = False
    ) -> Timer:
        """As `Clock.call_later`, owned by this node."""

        def fire() -> None:
            self._timers.discard(timer)
            if self._missed is None:
                self._call(kind, callback)
            else:
                self._missed.append((kind, callback))

        timer = self._clock.call_later(delay_ms, fire, kind=kind, owner=self.owner, outside=outside)
        self._timers.add(timer)
        return timer

    def cancel(self, timer: Timer | None) -> None:
        if timer is not None:
            timer.cancel()
            self._timers.discard(timer)

    def cancel_all(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._missed = None

    def pause(self) -> None:
        self._missed = [] if self._missed is None else self._missed

    def resume(self) -> None:
        missed, self._missed = self._missed or [], None
        for kind, callback in missed:
            self._call(kind, callback)

    def _call(self, kind: str, callback: Callable[[], None]) -> None:
        if self._journal is None:
            callback()
        else:
            self._journal.fire(self.owner, kind, callback)
