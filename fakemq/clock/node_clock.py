"""The cluster's clock as one of its nodes sees it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from fakemq.clock.clock import Clock
from fakemq.clock.slices import FEW_STEPS, Steps, Work, WorkDroppedError
from fakemq.clock.timers import Routine, Timer
from fakemq.events.core import ClockSkewed, Event, failure

T = TypeVar("T")


class TimerJournal(Protocol):
    """What a node's clock needs of the journal."""

    def add(self, event: Event) -> int:
        """Write an event; return its number."""

    def fire(self, node: str, kind: str, callback: Callable[[], None]) -> None:
        """Call ``callback`` with the timer as cause; write an exception as a bug."""

    def resume(self) -> Callable[[], AbstractContextManager[None]]:
        """Return a function that restores the present cause later, for a block."""


class NodeClock:
    """The clock of one node: the cluster's time plus a skew, and the node's own timers.

    - A stopped or killed node loses its timers (`cancel_all`).
    - A paused node keeps them: those that fall due wait, and fire late in `resume`, as in a stopped
      process.

    An exception of a timer is written to ``journal`` as a bug of fakemq, and time continues;
    without a journal the exception reaches the caller that moves the time.
    """

    def __init__(self, clock: Clock, owner: str, journal: TimerJournal | None = None) -> None:
        self.cluster = clock
        """The cluster's clock, which is the same for all nodes."""
        self._journal = journal
        # Pending timers of this node only.
        self._timers: set[Timer] = set()
        self.paused = False
        # Kind and callback of each timer that fell due while the node was paused, oldest first.
        self._missed: dict[Timer, tuple[str, Callable[[], None]]] = {}
        # Unfinished work by peer, oldest first, and how much there is.
        self._works: dict[Hashable, dict[Work[Any], None]] = {}
        self.unfinished_count = 0
        """How much work of the node is unfinished."""
        self._skew_ms = 0
        self.owner = owner
        """The node's name."""
        # The same for every node, so called without a step in between.
        self.elapsed_ms = clock.elapsed_ms
        self.on_jump: list[Callable[[], None]] = []
        """Called, each in turn, when the node's wall time jumped and its elapsed time did not."""

    @property
    def skew_ms(self) -> int:
        """How far the node's wall clock is ahead of the cluster's, in milliseconds."""
        return self._skew_ms

    @skew_ms.setter
    def skew_ms(self, ms: int) -> None:
        if ms != self._skew_ms:
            self._skew_ms = ms
            if self._journal is not None:
                self._journal.add(ClockSkewed(node=self.owner, skew_ms=ms))
            self.jumped()

    def jumped(self) -> None:
        """Call the listeners in `on_jump`."""
        for listener in self.on_jump:
            listener()

    def now_ms(self) -> int:
        """Return the node's wall time, in milliseconds since the epoch."""
        # The first half of `Clock.now_ms`, repeated: saves a call.
        moment_ms = self.cluster.moment_ms
        return (self.cluster.now_ms() if moment_ms is None else moment_ms) + self._skew_ms

    @property
    def follows_real_time(self) -> bool:
        """As `Clock.follows_real_time`; a skew does not count, as a real machine may have one."""
        return self.cluster.follows_real_time

    def call_later(
        self,
        delay_ms: int,
        callback: Callable[[], None],
        *,
        kind: str,
        outside: bool = False,
        routine: Routine | None = None,
        grid_ms: int = 0,
    ) -> Timer:
        """As `Clock.call_later`, with this node as the owner."""

        def fire() -> None:
            self._timers.discard(timer)
            if self.paused:
                self._missed[timer] = (kind, callback)
            else:
                self._call(kind, callback)

        timer = self.cluster.call_later(
            delay_ms,
            fire,
            kind=kind,
            owner=self.owner,
            outside=outside,
            routine=routine,
            grid_ms=grid_ms,
        )
        self._timers.add(timer)
        return timer

    def begin(
        self, steps: Steps[T], *, peer: Hashable, own: bool = False, count: int = FEW_STEPS + 1
    ) -> Work[T]:
        """Begin long work of this node, see `fakemq.clock.slices`; it may be done on return.

        ``peer`` causes the work, a session or a part of the node: peers are served in turn. With
        ``own`` it is the node's own work, which `end_all` does not drop, and for which time waits
        if a timer begins it. Work of a paused node begins when it continues. ``count`` is about the
        number of its steps, by default many; few are done at once.
        """
        if count <= FEW_STEPS:
            work = Work(steps, peer)
            work.proceed(None)
            work.settle()
            return work
        within = nullcontext if self._journal is None else self._journal.resume()
        slices = self.cluster.slices
        work = Work(steps, peer, within, own=own, of_timer=own and slices.in_timer)
        work.on_end = self._forget
        # Known before its first slice, which may pause or end the node.
        self._works.setdefault(peer, {})[work] = None
        self.unfinished_count += 1
        if not self.paused:
            slices.begin(work)
        if self.paused:
            slices.take_out([work])
        return work

    def carry_out(
        self, steps: Steps[object], *, peer: Hashable, count: int = FEW_STEPS + 1
    ) -> None:
        """Begin long work that no caller waits for; what it raises is written as a bug.

        ``count`` is about the number of its steps, by default many; few are done at once, and what
        they raise is raised here.

        Time waits for it if a timer begins it. Without a journal, what it raises is raised here, or
        by the slice that raises it.
        """
        if count <= FEW_STEPS:
            for _ in steps:  # as `finished`, at less cost: it has no result
                pass
            return
        outcome = self.begin(steps, peer=peer, own=True).outcome
        outcome.when_done(lambda: self._note_error(outcome.value))

    def unfinished(self, peer: Hashable) -> int:
        """Return how much work of ``peer`` is unfinished."""
        return len(self._works.get(peer, ()))

    def drop_of(self, peer: Hashable) -> None:
        """End the work of ``peer`` as it is; nothing is called for it."""
        works = self._works.pop(peer, {})
        self.unfinished_count -= len(works)
        self.cluster.slices.drop(works)

    def end_all(self) -> None:
        """Do all the node's own work, and drop the rest; a peer gets a refusal for its request."""
        slices = self.cluster.slices
        while own := [work for work in self._all_works() if work.own]:
            slices.finish(own)
        works = self._all_works()
        slices.drop(works)
        for work in works:
            work.settle()

    def _forget(self, work: Work[Any]) -> None:
        works = self._works.get(work.peer)
        if works is not None and work in works:
            del works[work]
            self.unfinished_count -= 1
            if not works:
                del self._works[work.peer]

    def _all_works(self) -> list[Work[Any]]:
        return [work for works in self._works.values() for work in works]

    def _note_error(self, outcome: object) -> None:
        if isinstance(outcome, Exception) and not isinstance(outcome, WorkDroppedError):
            if self._journal is None:
                raise outcome
            self._journal.add(failure(self.owner, None, outcome))

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer of this node, also one that waits for `resume`; None is ignored."""
        if timer is not None:
            timer.cancel()
            self._timers.discard(timer)
            self._missed.pop(timer, None)

    def cancel_all(self) -> None:
        """Cancel all timers, those that wait for `resume` too, and end all work as it is."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        for peer in list(self._works):
            self.drop_of(peer)
        self._missed.clear()
        self.paused = False

    def pause(self) -> None:
        """Let timers that fall due wait for `resume`, and work, too."""
        self.paused = True
        self.cluster.slices.take_out(self._all_works())

    def resume(self) -> None:
        """Fire the timers that fell due while the node was paused, oldest first."""
        slices = self.cluster.slices
        if not self.paused:
            return
        self.paused = False
        for work in self._all_works():
            slices.put(work)
        before, slices.in_timer = slices.in_timer, True
        try:
            while self._missed and not self.paused:
                kind, callback = self._missed.pop(next(iter(self._missed)))
                self._call(kind, callback)
        finally:
            slices.in_timer = before

    def _call(self, kind: str, callback: Callable[[], None]) -> None:
        if self._journal is None:
            callback()
        else:
            self._journal.fire(self.owner, kind, callback)
