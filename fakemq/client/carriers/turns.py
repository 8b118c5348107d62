"""What the carriers over sockets share: timers, callbacks and connections, done turn by turn.

In a *turn* the owner reads what arrived, and then calls `Turns.run`: callbacks and due timers run,
and all that they sent over one connection is written at once.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakemq.client.carriers.connections import Channel, Connections
from fakemq.clock.machine_time import MachineTime
from fakemq.clock.timers import Domain, Timeline, Timer

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

_log = logging.getLogger("fakemq.client")

TIMERS_PER_TURN = 1_000
"""How many timers fire before sockets have their turn: timers may set others that are due."""


class Host(Protocol):
    """What differs between threads and loops."""

    def connect(self, channel: Channel) -> None:
        """Begin to connect a channel."""

    def write(self, channel: Channel) -> None:
        """Write what a channel has to send."""

    def disconnect(self, channel: Channel) -> None:
        """Close the socket of a channel."""

    def turn_needed(self, delay_ms: int) -> None:
        """Let a turn come in ``delay_ms`` at the latest."""


class Turns(MachineTime):
    """The timers, callbacks and connections of one client; used by one thread at a time."""

    def __init__(self, host: Host, credentials: Credentials | None, tls: ClientTls | None) -> None:
        self.connections = Connections(self, credentials=credentials, tls=tls)
        self._host = host
        self._timeline = Timeline()
        self._timer_count = 0
        self._soon: deque[Callable[[], None]] = deque()
        self._to_write: dict[Channel, None] = {}

    # -- for tasks --------------------------------------------------------------

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Timer:
        """Call ``callback`` after ``delay_ms``."""
        self._timer_count += 1
        due_ms = self.elapsed_ms() + delay_ms
        timer = Timer(due_ms, self._timer_count, callback, kind, "client", Domain.DEADLINE, True)
        if self._timeline.push(timer):
            self._host.turn_needed(delay_ms)
        return timer

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the present call has returned."""
        if not self._soon:
            self._host.turn_needed(0)
        self._soon.append(callback)

    # -- for connections ----------------------------------------------------------

    def connect(self, channel: Channel) -> None:
        """Begin to connect a channel."""
        self._host.connect(channel)

    def write_soon(self, channel: Channel) -> None:
        """Write what the channel has to send, when this turn ends."""
        if not self._to_write:
            self._host.turn_needed(0)
        self._to_write[channel] = None

    def disconnect(self, channel: Channel) -> None:
        """Close the socket of a channel."""
        self._to_write.pop(channel, None)
        self._host.disconnect(channel)

    # -- for the host -------------------------------------------------------------

    def run(self) -> None:
        """Fire due timers, run callbacks, write."""
        self._fire()
        self.run_callbacks()

    def run_callbacks(self) -> None:
        """Run callbacks, write; no timer is due."""
        soon = self._soon
        if soon:
            for _ in range(len(soon)):
                carefully(soon.popleft())
        while self._to_write:
            channel, _ = self._to_write.popitem()
            try:
                self._host.write(channel)
            except Exception:
                _log.exception("writing to %s failed", channel.addr)
                channel.lost()

    def _fire(self) -> None:
        now_ms = self.elapsed_ms()
        for _ in range(TIMERS_PER_TURN):
            timer = self._timeline.pop_due(now_ms)
            if timer is None:
                return
            callback = timer.take()
            if callback is not None:
                carefully(callback)

    def wait_ms(self) -> int | None:
        """Return how long nothing is to be done unless bytes arrive; None: without end."""
        if self._soon or self._to_write:
            return 0
        due_ms = self._timeline.next_due_ms()
        if due_ms is None:
            return None
        left_ms = due_ms - self.elapsed_ms()
        return left_ms if left_ms > 0 else 0

    def close(self) -> None:
        """Close all connections, and forget timers and callbacks."""
        self.connections.close()
        self._timeline.clear()
        self._soon.clear()
        self._to_write.clear()


def carefully(callback: Callable[[], None]) -> None:
    """Call a function; log its error, which must not end the thread or loop of all the others."""
    try:
        callback()
    except Exception:
        _log.exception("%r failed", callback)
