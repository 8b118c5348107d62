"""The state that endpoints work on: the running cluster, and the objects made by requests."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fakemq.clock.durations import duration_ms
from fakemq.control.results import Refusal
from fakemq.handles.brokers import BrokerView
from fakemq.handles.clock import ClockHandle
from fakemq.handles.cluster import ClusterBase
from fakemq.handles.running import Life
from fakemq.journal.journal import line
from fakemq.serving.on_loop import OnLoop

if TYPE_CHECKING:
    from fakemq.control.results import Duration
    from fakemq.core.cluster import ClusterCore
    from fakemq.core.snapshots import Snapshot
    from fakemq.handles.clock import ClockHold
    from fakemq.handles.faults import Fault
    from fakemq.serving.server import ClusterServer

T = TypeVar("T")

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
    awaited at the `ClusterServer` instead.
    """

    def __init__(self, server: ClusterServer) -> None:
        super().__init__(Life(OnLoop(server)))

    @property
    def clock(self) -> ClockHandle:
        return ClockHandle(self._running)

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
        self._waits: set[asyncio.Event] = set()
        """One event for each waiting request; set when the journal grows or the port closes."""
        self.closing = False
        """True once `close` was called: no request waits any longer."""
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

    async def wait_until(self, look: Callable[[], T], timeout: Duration) -> T:
        """Call ``look`` whenever the journal has grown, until it returns something true; return it.

        Return its last result when the timeout, in real time, is over.
        """
        grown = asyncio.Event()
        unlisten = self.core.journal.listen(lambda entry: grown.set())
        self._waits.add(grown)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_ms(timeout) / 1000
        try:
            while True:
                grown.clear()
                seen = look()
                left_s = until_s - loop.time()
                if seen or left_s <= 0 or self.closing:
                    return seen
                try:
                    async with asyncio.timeout(left_s):
                        await grown.wait()
                except TimeoutError:
                    return look()
        finally:
            self._waits.remove(grown)
            unlisten()

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
