"""Long work, done in slices: other events happen in between, so that no peer waits for another.

Long work is a generator that yields often: wherever others may go first. `Slices` runs each for
some milliseconds, then leaves the rest for the loop's next turn. The thread's processor time
counts, so that short work is short on a busy machine, too.

There are four cases in which work is done at once, up to its end, so that the order of events does
not depend on the machine:

1. No loop drives the cluster, as in the simulator.
2. Time is being moved by `Clock.advance`: everything that is due happens before time moves on.
3. A peer inside the cluster has caused it (`fakemq.dispatch.long_work`).
4. It takes less than one slice, as nearly all work does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Generator, Hashable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeAlias, TypeVar

from fakemq.clock.machine_time import thread_busy_ms

T = TypeVar("T")

Steps: TypeAlias = Generator[None, None, T]
"""Long work. It yields where other events may happen, and returns its result."""

SLICE_MS = 5
"""How long work proceeds while others wait, in milliseconds of the thread's processor time."""


def finished(steps: Steps[T]) -> T:
    """Do work up to its end, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class Work(Generic[T]):
    """Work that was begun; `result` returns or raises what it led to, once it is `done`."""

    __slots__ = ("_error", "_result", "_steps", "_within", "done", "on_done", "on_end", "peer")

    def __init__(
        self,
        steps: Steps[T],
        peer: Hashable,
        within: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._steps = steps
        self._within = within
        """Returns the context of each slice."""
        self._result: T
        self._error: Exception | None = None
        self.peer = peer
        """The cause of the work. Work of one peer is done in its order, one after another."""
        self.done = False
        self.on_done: Callable[[], None] = _nothing
        """Called when work that was not done in its first slice is done."""
        self.on_end: Callable[[Work[T]], None] = _nothing
        """Called just before, by the clock of the node whose work it is."""

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._result

    def proceed(self, until_ms: int | None) -> None:
        """Work until this moment of the thread's time, or up to the end if it is None."""
        steps = self._steps
        try:
            with self._within():
                while True:
                    next(steps)
                    if until_ms is not None and thread_busy_ms() >= until_ms:
                        return
        except StopIteration as end:
            self._result = end.value
        except Exception as error:
            self._error = error
        self.done = True

    def drop(self) -> None:
        """End the work as it is; `on_done` is not called."""
        self.done, self.on_done = True, _nothing
        self._steps.close()


class Slices:
    """The unfinished work of one cluster, by peer. Each peer's oldest is done in turn."""

    def __init__(self) -> None:
        self.soon: Callable[[], None] | None = None
        """Asks for a call of `take_turn` soon; None if no loop drives the cluster."""
        self.at_once = False
        """Whether time is being moved: then no work is left for later."""
        self._by_peer: dict[Hashable, deque[Work[Any]]] = {}
        """Peer → its work in order; the first peer is the next to be served."""

    @property
    def waiting(self) -> bool:
        """Whether work is left for the next turn."""
        return bool(self._by_peer)

    def waiting_of(self, peer: Hashable) -> int:
        """Return how much work of a peer is unfinished."""
        return len(self._by_peer.get(peer, ()))

    def begin(self, work: Work[T]) -> None:
        """Do the first slice of work, if no other waits; leave the rest for later turns."""
        if self.soon is None or self.at_once:
            work.proceed(None)
        elif not self._by_peer:
            work.proceed(thread_busy_ms() + SLICE_MS)
        if not work.done:
            self.put(work)

    def put(self, work: Work[T]) -> None:
        """Leave the rest of some work for the next turn."""
        self._by_peer.setdefault(work.peer, deque()).append(work)
        if self.soon is not None:
            self.soon()

    def take_turn(self) -> None:
        """Do one slice of what waits."""
        until_ms = thread_busy_ms() + SLICE_MS
        while self._by_peer and thread_busy_ms() < until_ms:
            self._serve_next(until_ms)

    def finish(self) -> None:
        """Do everything that waits."""
        while self._by_peer:
            self._serve_next(None)

    def take_out(self, works: Container[Work[Any]]) -> None:
        """Let these works wait no more; the caller puts them back, or has dropped them."""
        for peer, waiting in list(self._by_peer.items()):
            left = deque(work for work in waiting if work not in works)
            if left:
                self._by_peer[peer] = left
            else:
                del self._by_peer[peer]

    def _serve_next(self, until_ms: int | None) -> None:
        """Serve the first peer, which then is the last one."""
        peer, waiting = next(iter(self._by_peer.items()))
        del self._by_peer[peer]
        self._by_peer[peer] = waiting
        work = waiting[0]
        work.proceed(until_ms)
        if not work.done:
            return
        if waiting and waiting[0] is work:  # it has not been taken out meanwhile
            waiting.popleft()
            if not waiting and self._by_peer.get(peer) is waiting:
                del self._by_peer[peer]
        work.on_end(work)
        work.on_done()


def _nothing(*_: object) -> None:
    pass
