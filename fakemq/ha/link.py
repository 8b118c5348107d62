"""The common part of both ends of a replication connection: link, state and timers.

The link is in memory or over TCP; an end does not know which. Its timers are liveness timers: they
count the time of the peer, which is real time for a peer outside the cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

from fakemq.events.core import LinkClosed, LinkOpened
from fakemq.journal.journal import shortened
from fakemq.net.link import CLOSED_BY_PEER

if TYPE_CHECKING:
    from fakemq.clock.timers import Routine, Timer
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link

WINDOW_BYTES = 4 << 20
"""How many bytes a master sends in memory without an acknowledgement.

About the size of two socket buffers. In memory nothing else stops a master whose slave is paused;
over TCP the sockets do.
"""
PROTOCOL_WARNING = "HA"
"""The kind of warning about a peer that breaks the protocol."""


class EndState(Enum):
    """The state of one end: OPEN ⇄ PAUSED, and from both to CLOSED, which is final."""

    OPEN = auto()
    PAUSED = auto()
    """The node is paused: bytes of the peer stay in the link, and nothing is sent."""
    CLOSED = auto()


class HAEnd:
    """Either end of a connection: its link, its state and its timers."""

    language = "ha"

    def __init__(self, link: Link, node: ReplicatedNode) -> None:
        self.link = link
        self.remote_addr = link.remote_addr
        self.outside = link.outside
        self._state = EndState.OPEN
        self._node = node
        self._timers: dict[str, Timer] = {}
        """Kind → the one timer of that kind."""
        self._last_write_ms = self._last_read_ms = self._now_ms()
        self._node.journal.add(
            LinkOpened(node=self._node.name, peer=self.remote_addr, outside=self.outside)
        )

    @property
    def closed(self) -> bool:
        return self._state is EndState.CLOSED

    @property
    def node(self) -> str:
        return self._node.name

    def data_received(self, data: bytes) -> None:
        """Handle bytes of the peer in one moment of the cluster's time."""
        if self.closed:
            return
        clock = self._node.clock.cluster
        clock.hold_moment()
        try:
            self._receive(data)
        finally:
            clock.release_moment()

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """End the connection: cancel every timer and notify the owner."""
        if self.closed:
            return
        self._state = EndState.CLOSED
        for timer in self._timers.values():
            self._node.clock.cancel(timer)
        self._timers.clear()
        self._node.journal.add(LinkClosed(node=self._node.name, peer=self.remote_addr, why=why))
        self._lost()

    def close(self, why: str) -> None:
        """Close the connection from this end."""
        if not self.closed:
            self.connection_lost(why)
            self.link.close()

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the connection because the peer breaks the protocol, and warn about it."""
        if not self.closed:
            why, node = shortened(why), self._node
            text = f"closed the HA connection of {self.remote_addr}: {why}"
            node.journal.peer_warnings.warn(node.name, kind, text)
            self.close(why)

    def pause(self) -> None:
        if self._state is EndState.OPEN:
            self._state = EndState.PAUSED
        self.link.pause_reading()

    def resume(self) -> None:
        if self._state is EndState.PAUSED:
            self._state = EndState.OPEN
        self.link.resume_reading()

    def _receive(self, data: bytes) -> None:
        """Handle bytes of the peer."""
        raise NotImplementedError

    def _lost(self) -> None:
        """Notify the owner of this end that the connection is closed."""
        raise NotImplementedError

    def _now_ms(self) -> int:
        return self._node.clock.elapsed_ms(outside=self.outside)

    def _write(self, data: bytes) -> None:
        self._last_write_ms = self._now_ms()
        self.link.write(data)

    def _at(
        self,
        due_ms: int,
        callback: Callable[[], None],
        kind: str,
        routine: Routine | None = None,
    ) -> None:
        """Set the timer of a kind, in place of the one that was set before.

        Routine is that of heartbeats, which are `_beat_ms` apart.
        """

        def fire() -> None:
            self._timers.pop(kind, None)
            callback()

        clock = self._node.clock
        clock.cancel(self._timers.get(kind))
        self._timers[kind] = clock.call_later(
            due_ms - self._now_ms(),
            fire,
            kind=kind,
            outside=self.outside,
            routine=routine,
            grid_ms=self._beat_ms,
        )

    def _beat_if_due(self, beat: Callable[[], bytes]) -> None:
        """Write a heartbeat if nothing was written for an interval; check again after the next."""
        beat_ms = self._beat_ms
        if self._now_ms() - self._last_write_ms >= beat_ms:
            self._write(beat())
        due_ms = self._last_write_ms + beat_ms
        self._at(
            due_ms, lambda: self._beat_if_due(beat), "ha_heartbeat", routine=self._move_last_write
        )

    @property
    def _beat_ms(self) -> int:
        """After how long without a write an end beats."""
        return self._node.config.ha_send_heartbeat_interval + 1

    def _move_last_write(self, ms: int) -> None:
        self._last_write_ms += ms

    def _housekeep(self) -> None:
        """Close the connection if nothing was read for haHousekeepingInterval; else wait for that.

        An end that does so notes in `_last_read_ms` when it reads.
        """
        interval_ms = self._node.config.ha_housekeeping_interval
        silent_ms = self._now_ms() - self._last_read_ms
        if silent_ms > interval_ms:
            self.close(f"ha housekeeping, found this connection expired, {silent_ms}")
        else:
            due_ms = self._last_read_ms + interval_ms + 1
            self._at(due_ms, self._housekeep, "ha_housekeeping", routine=self._move_last_read)

    def _move_last_read(self, ms: int) -> None:
        """Note the last heartbeat that the peer would have sent by now."""
        beat_ms = self._beat_ms
        self._last_read_ms += (self._now_ms() - self._last_read_ms) // beat_ms * beat_ms
