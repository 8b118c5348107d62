"""Where each connection reads each queue, so that a cluster reset can take it back to 0.

A reset empties every queue under consumers that go on living. By Java's rules their next pull is
beyond the end of its queue (PULL_OFFSET_MOVED), and the client drops the queue for half a minute.
Here a connection that read a queue before the reset is led back instead: its first pull of that
queue from an offset other than 0 is answered "nothing matched, go on at 0". Its client still
remembers the old offset as the one to commit (it never takes a lower one), so what it commits
counts at most up to what it has been given since. A connection made since the reset is led back
too, if it comes with an offset that only the life before it can have told: its client lost the
connection on which it was told. That is remembered for as long as a broker goes without a sign of
life from a client: who has not come back by then is forgotten at the next reset. A restored
snapshot does the same, with what the group had committed in the place of 0.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.client_channel import CHANNEL_EXPIRED_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.net.session import Session

Key: TypeAlias = tuple[str, str, int]
"""Group, topic, queue id."""


class Position:
    """One connection's place in one queue: ``next_offset`` is where it was last told to go on."""

    __slots__ = ("next_offset", "outlived_reset", "stale")

    def __init__(self) -> None:
        self.next_offset = 0
        self.outlived_reset = False
        self.stale = False
        """The connection still reads by an offset from before the reset."""

    def committable(self, offset: int) -> int:
        """What a commit of ``offset`` is worth: less than it says only after a reset."""
        return min(offset, self.next_offset) if self.outlived_reset else offset


_NOWHERE: dict[Key, Position] = {}
_NEVER_TOLD = (0, 0)


def _at_the_start(_: Key) -> int:
    return 0


class PullPositions:
    """All places that live connections read from at one broker."""

    def __init__(self, clock: NodeClock) -> None:
        self._clock = clock
        self._table: dict[Session, dict[Key, Position]] = {}
        self._highest: dict[Key, int] = {}
        """The highest offset that anyone was told, since the last reset."""
        self._former: dict[Key, tuple[int, int]] = {}
        """The highest that anyone was told before it, and when that life ended; oldest first."""
        self._go_on_at: Callable[[Key], int] = _at_the_start

    def find(
        self, session: Session, group: str, topic: str, queue_id: int, offset: int
    ) -> Position | None:
        """The place of a connection that comes with ``offset``, if it was ever told one."""
        key = (group, topic, queue_id)
        position = self._table.get(session, _NOWHERE).get(key)
        if (
            position is None
            and self._highest.get(key, 0) < offset <= self._former.get(key, _NEVER_TOLD)[0]
        ):
            position = self._table.setdefault(session, {})[key] = Position()
            position.next_offset = self._go_on_at(key)
            position.outlived_reset = position.stale = True
        return position

    def told(
        self, session: Session, group: str, topic: str, queue_id: int, next_offset: int
    ) -> None:
        """An answer tells the connection to go on at ``next_offset``."""
        positions = self._table.get(session)
        if positions is None:
            positions = self._table[session] = {}
        key = (group, topic, queue_id)
        position = positions.get(key)
        if position is None:
            position = positions[key] = Position()
        position.next_offset = next_offset
        if next_offset > self._highest.get(key, 0):
            self._highest[key] = next_offset

    def committable(
        self, session: Session, group: str, topic: str, queue_id: int, offset: int
    ) -> int:
        """What a commit of ``offset`` by this connection is worth."""
        position = self.find(session, group, topic, queue_id, offset)
        return offset if position is None else position.committable(offset)

    def session_closed(self, session: Session) -> None:
        """A connection is gone."""
        self._table.pop(session, None)

    def forget_closed(self) -> None:
        """Connections that were closed without a word are gone."""
        for session in [session for session in self._table if session.closed]:
            del self._table[session]

    def reset(self, go_on_at: Callable[[Key], int] = _at_the_start) -> None:
        """Every queue has other messages now, or none: who is connected goes on elsewhere."""
        self._go_on_at = go_on_at
        now_ms = self._clock.elapsed_ms(outside=True)  # what the peers live by
        for key, offset in self._highest.items():
            before, _ = self._former.pop(key, _NEVER_TOLD)
            self._former[key] = max(offset, before), now_ms
        self._highest.clear()
        expired_ms = now_ms - CHANNEL_EXPIRED_TIMEOUT_MS
        old = takewhile(lambda entry: entry[1][1] < expired_ms, self._former.items())
        for key in [key for key, _ in old]:
            del self._former[key]
        self.forget_closed()
        for positions in self._table.values():
            for key, position in positions.items():
                position.next_offset = go_on_at(key)
                position.outlived_reset = position.stale = True
