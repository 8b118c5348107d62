"""Long work, done in slices: other events happen in between, so that no peer waits for another.

Long work is a generator that yields often: wherever others may go first. `Slices` runs each for
some milliseconds, then leaves the rest for the loop's next turn. The thread's processor time
counts, so that short work is short on a busy machine, too.

There are four cases in which work is done at once, up to its end, so that the order of events does
not depend on the machine:

1. No loop drives the cluster, as in the simulator.
2. Time is being moved by `Clock.advance`: what a timer has begun ends before time moves on. Time
   does not wait for the requests of peers outside the cluster, or each of them could stop it.
3. A peer inside the cluster has caused it (`fakemq.dispatch.long_work`).
4. It takes less than one slice, as nearly all work does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeAlias, TypeVar, cast

from fakemq.clock.machine_time import thread_busy_ms
from fakemq.later import End, Later, drive, resumed

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
_Key: TypeAlias = "tuple[Hashable, bool]"

Steps: TypeAlias = Generator[None, None, T]
"""Long work. It yields where other events may happen, and returns its result."""

FEW_STEPS = 50
"""Work of at most this number of steps is done at once, and costs what a call of it costs."""
SLICE_MS = 8
"""How long work proceeds while others wait, in milliseconds of the thread's processor time.

It is longer than the 5 ms after which a thread that waits for the interpreter asks for it. Between
shorter slices the loop releases the interpreter and takes it back before such a thread is awake,
and that begins its 5 ms anew: a test waited 0.3 s for each answer of its cluster."""
LONG_SLICES = 3
"""A request that is not done after this number of slices is long."""
MOST_LONG = 8
"""How many long requests proceed together; the others wait for their end.

A request may keep 25 MB of unfinished answer, so all together must not grow.
"""


def leaving(peer: Hashable) -> Hashable:
    """Return the peer that causes what a peer's end has caused: the peer's own work is dropped."""
    return "leave", peer


def finished(steps: Steps[T]) -> T:
    """Do work up to its end, and return its result."""
    # Each batch comes here: `drive` would cost another two percent of its instructions.
    while not isinstance(step := resumed(steps, None), End):
        pass
    return step.value


def in_one_step(result: T) -> Steps[T]:
    """Return work that is done in one step."""
    yield from ()
    return result


A_STEP = 500
"""How many keys of a table one step looks at: a tenth of a millisecond."""


def called_each(functions: Iterable[Callable[[], None]]) -> Steps[None]:
    """Call functions, one in each step."""
    for function in functions:
        function()
        yield


def removed_where(
    table: dict[K, V],
    picks: Callable[[K], bool],
    on_removed: Callable[[K, V], None] | None = None,
) -> Steps[None]:
    """Remove the keys of a table for which ``picks`` is true; `on_removed` is called for each."""
    for number, key in enumerate(list(table), 1):
        # What happens between two steps may remove keys.
        if key in table and picks(key):
            value = table.pop(key)
            if on_removed is not None:
                on_removed(key, value)
        if not number % A_STEP:
            yield


class WorkDroppedError(Exception):
    """The result of work that was ended before it was done."""


class Work(Generic[T]):
    """Work that was begun; ``outcome`` gets what it led to, once it is ``done``."""

    __slots__ = (
        "_proceeds",
        "_ran",
        "_steps",
        "_turn",
        "_until_ms",
        "_within",
        "done",
        "dropped",
        "of_timer",
        "on_end",
        "outcome",
        "own",
        "peer",
        "queued",
        "slices",
    )

    def __init__(
        self,
        steps: Steps[T],
        peer: Hashable,
        within: Callable[[], AbstractContextManager[None]] = nullcontext,
        *,
        own: bool = False,
        of_timer: bool = False,
    ) -> None:
        self._steps = steps
        self._within = within
        """Returns the context of each slice."""
        self._until_ms: int | None = None
        self._turn: Later[None] = Later()
        """The end of the pause after the present slice."""
        self._ran: Later[T] | None = None
        """What the steps led to; None before the first slice."""
        self._proceeds = False
        self.peer = peer
        """The cause of the work. Work of one peer is done in its order, one after another; what its
        timers have begun does not wait for the rest."""
        self.own = own
        """Whether it is a node's own work, and no request."""
        self.of_timer = of_timer
        """Whether a timer has begun it, so that time waits for it."""
        self.done = False
        self.dropped = False
        self.queued = False
        """Whether it waits in `Slices`, which sets this."""
        self.slices = 0
        """How many slices of it were done."""
        self.outcome: Later[T] = Later()
        """Its result or error, or WorkDroppedError; never resolved if it ends with its peer."""
        self.on_end: Callable[[Work[T]], None] = _nothing
        """Called just before, by the clock of the node whose work it is."""

    def proceed(self, until_ms: int | None) -> None:
        """Work until this moment of the thread's time, or up to the end if it is None."""
        if self.done:
            return
        assert not self._proceeds, "work cannot wait for its own end"
        self.slices += 1
        self._until_ms = until_ms
        self._proceeds = True
        try:
            with self._within():
                if self._ran is None:
                    self._ran = drive(self._steps, self._pause)
                else:
                    turn, self._turn = self._turn, Later()
                    turn.resolve(None)
        finally:
            self._proceeds = False
        if self._ran.done:
            self.done = True

    def _pause(self, step: None) -> Later[None] | None:
        """Return what the next step waits for: the next slice, if the time of this one is over."""
        if self.dropped:  # by its own step
            self._steps.close()
        elif self._until_ms is None or thread_busy_ms() < self._until_ms:
            return None
        return self._turn

    def drop(self) -> None:
        """End the work as it is, without an outcome."""
        if not self.done:
            self.done = self.dropped = True
            if not self._proceeds:  # else it is closed after its step
                self._steps.close()

    def settle(self) -> None:
        """Pass the outcome of work that is done on, to those that wait for it."""
        self.on_end(self)
        if self.dropped or self._ran is None:
            self.outcome.resolve(WorkDroppedError("the work was ended before it was done"))
        else:
            self.outcome.resolve(cast("T", self._ran.value))


class Slices:
    """The unfinished work of one cluster, by peer. Each peer's oldest is done in turn."""

    def __init__(self) -> None:
        self.soon: Callable[[], None] | None = None
        """Asks for a call of `take_turn` soon; None if no loop drives the cluster."""
        self.at_once = False
        """Whether time is being moved: then no work of timers is left for later."""
        self.in_timer = False
        """Whether timers are being fired."""
        self._queues: dict[_Key, deque[Work[Any]]] = {}
        """Peer, and whether timers have begun it → its work in order; the first is served next."""
        self._long: set[_Key] = set()
        """The peers among them that have a long request in progress, at most `MOST_LONG`."""
        self._late: dict[_Key, deque[Work[Any]]] = {}
        """The peers whose long request waits for the end of another, in their order."""
        self._of_timers: dict[Work[Any], None] = {}
        """The work among this that time waits for, oldest first."""

    @property
    def waiting(self) -> bool:
        """Whether work is left for the next turn."""
        return bool(self._queues)

    @property
    def time_waits(self) -> bool:
        """Whether work is left that a timer has begun."""
        return bool(self._of_timers)

    def begin(self, work: Work[T]) -> None:
        """Do the first slice of work, if no other waits; leave the rest for later turns."""
        # Cases 1 and 2.
        if self.soon is None or (self.at_once and work.of_timer):
            work.proceed(None)
        elif not self._queues:
            # Case 4. Behind other work it waits for its turn, however short it is.
            work.proceed(thread_busy_ms() + SLICE_MS)
        if work.done and not work.dropped:
            work.settle()
        self.put(work)

    def put(self, work: Work[T]) -> None:
        """Leave the rest of some work for the next turn, unless it waits already or is done."""
        if work.done or work.queued:
            return
        if self.soon is None:  # a paused node has resumed, and there are no later turns
            self._serve(work, None)
            return
        work.queued = True
        key = work.peer, work.of_timer
        self._queue_of(key).append(work)
        if work.of_timer:
            self._of_timers[work] = None
        self.soon()

    def take_turn(self) -> None:
        """Do one slice of what waits."""
        until_ms = thread_busy_ms() + SLICE_MS
        while self._queues and thread_busy_ms() < until_ms:
            key, waiting = next(iter(self._queues.items()))
            # The first peer then is the last one.
            del self._queues[key]
            self._queues[key] = waiting
            work = waiting[0]
            self._serve(work, until_ms)
            if work.slices >= LONG_SLICES and work.queued and not work.own:
                self._limit(key)

    def finish_timers_work(self) -> None:
        """Do all the work that timers have begun."""
        while self._of_timers:
            self.finish(list(self._of_timers))

    def finish(self, works: Iterable[Work[Any]]) -> None:
        """Do these works up to their end, in this order."""
        for work in works:
            if not work.done:  # an earlier one may have ended it
                self._serve(work, None)

    def take_out(self, works: Iterable[Work[Any]]) -> None:
        """Let these works wait no more; the caller puts them back, or has dropped them."""
        for work in works:
            if work.queued:
                work.queued = False
                key = work.peer, work.of_timer
                waiting = self._queue_of(key)
                if key in self._long and work is waiting[0]:
                    self._long.remove(key)
                    self._admit()
                waiting.remove(work)  # mostly the first one
                if not waiting:
                    del (self._late if key in self._late else self._queues)[key]
                self._of_timers.pop(work, None)

    def drop(self, works: Iterable[Work[Any]]) -> None:
        """End these works as they are, without an outcome."""
        works = list(works)
        self.take_out(works)
        for work in works:
            work.drop()

    def drop_all(self) -> None:
        """End all work that waits; the outcome of each is WorkDroppedError."""
        queues = [*self._queues.values(), *self._late.values()]
        works = [work for waiting in queues for work in waiting]
        self.drop(works)
        for work in works:
            work.settle()

    def _queue_of(self, key: _Key) -> deque[Work[Any]]:
        """Return the work of a peer that waits; a new queue if there is none."""
        late = self._late.get(key)
        return self._queues.setdefault(key, deque()) if late is None else late

    def _limit(self, key: _Key) -> None:
        """Let a peer with a long request wait if there are enough of them."""
        if key not in self._long:
            if len(self._long) < MOST_LONG:
                self._long.add(key)
            else:
                self._late[key] = self._queues.pop(key)

    def _admit(self) -> None:
        """Let the next long request proceed."""
        if self._late:
            key = next(iter(self._late))
            self._queues[key] = self._late.pop(key)
            self._long.add(key)

    def _serve(self, work: Work[Any], until_ms: int | None) -> None:
        work.proceed(until_ms)
        if work.done and not work.dropped:
            self.take_out([work])
            work.settle()


def _nothing(*_: object) -> None:
    pass
