"""The state that endpoints work on: the running cluster, and the objects made by requests."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from fakemq.clock.durations import duration_ms
from fakemq.clock.slices import finished
from fakemq.control.bodies import Bodies
from fakemq.control.results import Refusal
from fakemq.events.core import Event
from fakemq.handles.brokers import BrokerView
from fakemq.handles.clock import ClockHandle
from fakemq.handles.cluster import ClusterBase
from fakemq.handles.running import ClusterLife
from fakemq.journal.journal import line
from fakemq.journal.wakes import Waiter

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.control.results import Duration
    from fakemq.core.cluster import ClusterCore
    from fakemq.core.movement import Movement
    from fakemq.core.snapshots import Snapshot
    from fakemq.handles.clock import ClockHold
    from fakemq.handles.faults import Fault
    from fakemq.journal.wakes import Key
    from fakemq.serving.server import ClusterServer

T = TypeVar("T")

_SHORTEST_PAUSE_S = 0.002
LONGEST_WAIT_MS = 600_000
"""The largest timeout of a request, in real milliseconds."""


class Numbered(dict[int, T]):
    """Objects that requests make and later name by number; a number is never used twice."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self._numbers = itertools.count(1)

    def keep(self, thing: T) -> int:
        """Store an object and return its number."""
        number = next(self._numbers)
        self[number] = thing
        return number

    def of(self, text: str) -> tuple[int, T]:
        """Return the number in a path's text and its object; Refusal (404) if there is none."""
        # 0 is never used. Under ten digits: int() refuses texts of thousands of digits.
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        if number not in self:
            there = ", ".join(map(str, self)) or "none"
            raise Refusal(404, f"no {self.what} {text}; there are: {there}")
        return number, self[number]


class ClusterOnLoop(ClusterBase):
    """The running cluster as a test sees it, for callers on the cluster's own loop.

    Such a caller must not block: an operation that takes time, such as a broker's restart, is
    awaited at the `ClusterServer` instead, and an assertion is awaited by `assertion`.
    """

    def __init__(self, server: ClusterServer) -> None:
        super().__init__(ClusterLife(OnLoop(server)))

    @property
    def clock(self) -> ClockHandle:
        return ClockHandle(self._running)

    def reading_of_journal(self) -> Steps[None]:
        """Read the journal for biographies: these are quick to write afterwards."""
        return self._biographer().reading()

    def diagnosing(self, topic: str | None, group: str | None) -> Steps[list[str]]:
        """Check the names, and return the steps of `diagnosis`."""
        self._check_topic(topic, may_come=False)
        self._check_group(group)
        return self._diagnosis(topic, group)

    def assertion(self, assertion: Callable[[], None]) -> Steps[str]:
        """Call a function that calls one assertion of this object; return the assertion's steps.

        They return the text of the failure, "" if there is none.
        """
        assertion()
        return self._asserted

    def _require(self, why_not: Steps[str]) -> None:
        # An endpoint awaits the steps, so that other requests are answered meanwhile.
        self._asserted = why_not

    def broker(self, name: str) -> BrokerView:
        """Return the broker ``broker-a-0``; a bare ``broker-a`` means its master."""
        return BrokerView(self._running, self._core.broker(name))


class Control:
    """The argument ``control`` of each endpoint function.

    ``mq`` is for operations that take effect at once; an operation that takes several turns of the
    loop is awaited at ``server``.
    """

    def __init__(self, server: ClusterServer) -> None:
        self.server = server
        self.mq = ClusterOnLoop(server)
        self.placed: dict[int, Fault] = {}
        """Number → fault, as the placing method returned it; only faults placed by this port."""
        self.holds: Numbered[ClockHold] = Numbered("hold")
        self.snapshots: Numbered[Snapshot] = Numbered("snapshot")
        self.bodies = Bodies()
        """What requests make the port hold until they are answered."""
        self.readers = 0
        """How many requests follow the journal."""
        self._waits: set[asyncio.Event] = set()
        """One event for each waiting request; set when the journal grows or the port closes."""
        self.closing = False
        """True once `close` was called: no request waits any longer."""
        self._moving = asyncio.Lock()
        """Held while a request moves the clock, which takes several turns of the loop."""
        self.movement: Movement | None = None
        """The movement that is under way."""
        self.changing = asyncio.Lock()
        """Held while nodes stop or start, which takes several turns of the loop."""

    @property
    def core(self) -> ClusterCore:
        return self.server.core

    def close(self) -> None:
        """End the wait of every request, so that it answers now."""
        self.closing = True
        for grown in self._waits:
            grown.set()

    async def wait_until(
        self, look: Callable[[], T], timeout: Duration, keys: Iterable[Key] = (Event,)
    ) -> T:
        """Call ``look`` after events with one of ``keys``, until it returns something true.

        Return its last result, which is not true when the timeout, in real time, is over. All waits
        together look for at most a tenth of the time.
        """
        grown = asyncio.Event()
        waiter, wakes = Waiter(grown.set, keys), self.core.wakes
        self._waits.add(grown)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_ms(timeout) / 1000
        try:
            while True:
                grown.clear()
                wakes.arm(waiter)
                began_s = loop.time()
                seen = look()
                now_s = loop.time()
                left_s = until_s - now_s
                if seen or left_s <= 0 or self.closing:
                    return seen
                try:
                    async with asyncio.timeout(left_s):
                        await grown.wait()
                        pause_s = 9 * (now_s - began_s) * len(self._waits) - (loop.time() - now_s)
                        if pause_s > _SHORTEST_PAUSE_S and not self.closing:
                            await asyncio.sleep(pause_s)
                except TimeoutError:
                    return look()
        finally:
            self._waits.remove(grown)
            wakes.leave(waiter)

    async def move(self, begin: Callable[[], Movement]) -> Movement:
        """Move the clock, one request after another; return the movement when it is done.

        A cancelled caller, and `close`, end it.
        """
        async with self._moving:
            movement = self.movement = begin()
            try:
                while not movement.proceed():
                    await asyncio.sleep(0)
                    if self.closing:
                        movement.why_ended = "the cluster is being stopped"
            finally:
                self.movement = None
                movement.give_up()
        return movement

    def as_placed(self, fault: Fault) -> Fault:
        """Return a fault as its placing method returned it, such as a `GateFault`.

        Return ``fault`` itself if this port did not place it, or a reset has happened since.
        """
        placed = self.placed.get(fault.number)
        return placed if placed is not None and placed == fault else fault

    def tail(self) -> list[str]:
        """Return the journal's last lines."""
        return [line(entry) for entry in self.core.journal.tail()]


def wait_ms(timeout: Duration) -> int:
    """Return a request's timeout in milliseconds; Refusal if it is below 0 or over ten minutes."""
    ms = duration_ms(timeout, name="timeout")
    if not 0 <= ms <= LONGEST_WAIT_MS:
        raise Refusal(400, f"timeout={timeout!r}: expected up to {LONGEST_WAIT_MS // 1000} s")
    return ms


# A running cluster for callers on its own loop: each call is made directly.


class OnLoop:
    """A `RunningCluster` for callers on the cluster's thread, which cannot wait for it."""

    def __init__(self, server: ClusterServer) -> None:
        self.server = server

    def call(self, function: Callable[[], T]) -> T:
        """Call ``function`` and return its result."""
        return function()

    def carry_out(self, steps: Steps[T]) -> T:
        """Do long work at once, and return its result."""
        return finished(steps)

    def wait(self, coroutine: Coroutine[object, object, T]) -> T:
        """Raise an error: the loop would wait for itself."""
        coroutine.close()
        self.require_waiting()

    def require_waiting(self) -> NoReturn:
        """Raise an error: the loop would wait for itself."""
        raise RuntimeError("the cluster's own loop cannot wait for it")

    def stop(self) -> None:
        """Raise an error: the owner of the server stops it."""
        raise RuntimeError("the cluster's own loop cannot stop it")
