"""A slave's way to its master: connect, and connect again.

Source: store/ha/HAService.java#HAClient (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

from fakemq.clock.timers import next_tick_ms
from fakemq.dispatch.node import NodeState
from fakemq.ha.slave_link import SlaveEnd
from fakemq.store.replica import Replica

if TYPE_CHECKING:
    from fakemq.clock.timers import Timer
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link

PAUSE_MS = 5_000
"""The time between two attempts, if the first one failed or had no address."""
_ADDRESS_MIN_LENGTH = 6


class _State(Enum):
    """Where a slave is on its way to its master."""

    WAITING = auto()
    """It has no connection. A timer starts the next attempt, once the address is known."""
    CONNECTING = auto()
    CONNECTED = auto()
    STOPPED = auto()


_TRANSITIONS = {
    _State.WAITING: (_State.CONNECTING, _State.STOPPED),
    _State.CONNECTING: (_State.WAITING, _State.CONNECTED, _State.STOPPED),
    _State.CONNECTED: (_State.WAITING, _State.STOPPED),
    _State.STOPPED: (),
}
"""State → the states that may follow: by an attempt, its result, a lost connection, and stop."""


class HAClient:
    """One slave's connection to its master's HA port, from `start` to `stop`.

    ``appended`` is called when the log has grown.
    """

    def __init__(self, node: ReplicatedNode, appended: Callable[[], None]) -> None:
        self._node = node
        self.replica = Replica(node.store, node.clock, node.journal, node.name, appended)
        self.master_address: str | None = None
        self.end: SlaveEnd | None = None
        """The open connection; None in every state but CONNECTED."""
        self._state = _State.WAITING
        self._is_configured = False
        """Whether the address comes from haMasterAddress. If so, name servers do not change it."""
        self._tried_ms: dict[bool, int] = {}
        """Whether the master is outside → when the last attempt was, by the clock of such peers."""
        self._timer: Timer | None = None
        """Starts the next attempt."""

    def start(self) -> None:
        """Connect to haMasterAddress; if it is not set, wait for the address from a name server.

        Call this once. Source: broker/BrokerController.java#initialize (4.9.7)
        """
        self._note_try()
        configured = self._node.config.ha_master_address
        if configured is not None and len(configured) >= _ADDRESS_MIN_LENGTH:
            self._is_configured = True
            self.master_address = configured
            self._connect()

    def stop(self, why: str) -> None:
        """Close the connection and make no other. The client is not started again."""
        self._enter(_State.STOPPED)
        self._node.clock.cancel(self._timer)
        self._timer = None
        end, self.end = self.end, None
        if end is not None:
            end.close(why)
        self.replica.close()

    @property
    def connected(self) -> bool:
        return self._state is _State.CONNECTED

    def wake(self) -> None:
        """Connect at once, if there is no connection and the address is known."""
        self._connect()

    def update_master_address(self, addr: str | None) -> None:
        """Take the master's address from a name server; an open connection stays.

        None: the master is away.

        The next attempt is at the next multiple of `PAUSE_MS` after the last one: Java's loop looks
        for an address then.
        """
        if self._is_configured or self._state is _State.STOPPED:
            return
        if addr != self.master_address:
            self.master_address = addr
            now_ms, tried_ms = self._now_ms(), self._tried_ms[self._outside]
            self._wait_until(next_tick_ms(now_ms, tried_ms, PAUSE_MS, PAUSE_MS))

    def sync_now(self) -> None:
        """Connect at once and report at once, where Java takes five seconds for each."""
        if self.end is None:
            self._connect()
        if self.end is not None:
            self.end.report_now()

    def pause(self) -> None:
        if self.end is not None:
            self.end.pause()

    def resume(self) -> None:
        if self.end is not None:
            self.end.resume()

    def connection_closed(self) -> None:
        """Connect again; a connection that is closed while it opens is left to `_opened`."""
        due_ms = self._next_try_ms(self.end)
        self.end = None
        if self._state is _State.CONNECTED:
            self._enter(_State.WAITING)
        self._wait_until(due_ms)

    # -- inside -------------------------------------------------------------------------------

    def _next_try_ms(self, lost: SlaveEnd | None) -> int:
        """Return when to connect again: at once, or `PAUSE_MS` after the last attempt if later.

        ``lost`` is the connection that was closed; None if it was not open yet.
        """
        return max(self._now_ms(), self._tried_ms[self._outside] + PAUSE_MS)

    def _make_end(self, link: Link) -> SlaveEnd:
        return SlaveEnd(link, self._node, self)

    def _enter(self, state: _State) -> None:
        assert state in _TRANSITIONS[self._state], (self._state, state)
        self._state = state

    @property
    def _outside(self) -> bool:
        addr = self.master_address
        return addr is not None and not self._node.outbound.is_inside(addr)

    def _now_ms(self) -> int:
        return self._node.clock.elapsed_ms(outside=self._outside)

    def _note_try(self) -> None:
        clock = self._node.clock
        self._tried_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}

    def _wait_until(self, due_ms: int) -> None:
        if self._state is not _State.WAITING:
            return
        clock = self._node.clock
        clock.cancel(self._timer)
        self._timer = clock.call_later(
            due_ms - self._now_ms(), self._connect, kind="ha_connect", outside=self._outside
        )

    def _connect(self) -> None:
        self._node.clock.cancel(self._timer)
        self._timer = None
        if self._state is _State.WAITING and self.master_address is not None:
            self._note_try()
            self._enter(_State.CONNECTING)
            self._node.outbound.dial(self.master_address, self._make, self._opened)

    def _make(self, link: Link) -> SlaveEnd:
        end = self._make_end(link)
        if self._node.state is NodeState.PAUSED:
            end.pause()
        return end

    def _opened(self, end: SlaveEnd | None) -> None:
        """Take the result of an attempt. There are three cases:

        1. The client was stopped meanwhile: close the connection.
        2. The connection is open: keep it.
        3. The attempt failed, or the connection is closed again: wait.
        """
        if self._state is _State.STOPPED:
            if end is not None:
                end.close("no longer wanted")
        elif end is not None and not end.closed:
            self._enter(_State.CONNECTED)
            self.end = end
        else:
            self._enter(_State.WAITING)
            self._note_try()
            self._wait_until(self._now_ms() + PAUSE_MS)
