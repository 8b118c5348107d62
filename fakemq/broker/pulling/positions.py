"""Where each connection reads each queue, so that a cluster reset can send it back to 0.

A reset empties every queue while its consumers stay connected. By Java's rules their next pull lies
beyond the end of the queue (PULL_OFFSET_MOVED), and the client drops the queue for half a minute.
Here such a consumer is sent back instead. There are three rules:

1. A connection that read a queue before the reset: its first pull from an offset other than 0 is
   answered "nothing matched, continue at 0". Its client still commits the old offset, because it
   never commits a lower one. So a commit counts only up to what the client was given since.
2. A connection made after the reset: it is sent back, too, if it comes with an offset that only an
   answer before the reset can have contained. Its client lost the connection of that answer. This
   is remembered for the time that a broker waits for a heartbeat (120 s), up to the next reset.
3. A restored snapshot does the same, with the group's committed offset in place of 0.
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.clients.client_channel import CHANNEL_EXPIRED_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.net.session import Session

Key: TypeAlias = tuple[str, str, int]
"""Group, topic, queue id."""


class ReadState(Enum):
    """By which offsets a connection reads a queue: CURRENT → STALE ⇄ SENT_BACK."""

    CURRENT = auto()
    """There was no reset since it first read the queue."""
    STALE = auto()
    """There was a reset and no pull since; the next pull may have an offset from before."""
    SENT_BACK = auto()
    """There was a reset, and a pull since then was at the new offset or was sent there."""


class Position:
    """One connection's place in one queue: ``next_offset`` is that of the last answer."""

    __slots__ = ("next_offset", "reading")

    def __init__(self) -> None:
        self.next_offset = 0
        self.reading = ReadState.CURRENT

    @property
    def outlived_reset(self) -> bool:
        """Whether there was a reset since the connection first read the queue."""
        return self.reading is not ReadState.CURRENT

    def committable(self, offset: int) -> int:
        """Return the offset to commit in place of ``offset``; it is lower only after a reset."""
        return min(offset, self.next_offset) if self.outlived_reset else offset


_NOWHERE: dict[Key, Position] = {}
_NO_FORMER = (0, 0)


def _at_the_start(_: Key) -> int:
    return 0


class PullPositions:
    """The positions of all open connections of one broker."""

    def __init__(self, clock: NodeClock) -> None:
        self._clock = clock
        self._table: dict[Session, dict[Key, Position]] = {}
        self._highest: dict[Key, int] = {}
        """The highest offset of all answers since the last reset."""
        self._former: dict[Key, tuple[int, int]] = {}
        """The highest offset of all answers before it, and when the reset was; oldest first."""
        self._continue_at: Callable[[Key], int] = _at_the_start

    def find(
        self, session: Session, group: str, topic: str, queue_id: int, offset: int
    ) -> Position | None:
        """Return the position of a connection that pulls from ``offset``; None for a new one."""
        key = (group, topic, queue_id)
        position = self._table.get(session, _NOWHERE).get(key)
        if (
            position is None
            and self._highest.get(key, 0) < offset <= self._former.get(key, _NO_FORMER)[0]
        ):
            position = self._table.setdefault(session, {})[key] = Position()
            position.next_offset = self._continue_at(key)
            position.reading = ReadState.STALE
        return position

    def replied(
        self, session: Session, group: str, topic: str, queue_id: int, next_offset: int
    ) -> None:
        """Note that an answer sends the connection to ``next_offset``."""
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
        """Return the offset to commit when this connection commits ``offset``."""
        position = self.find(session, group, topic, queue_id, offset)
        return offset if position is None else position.committable(offset)

    def session_closed(self, session: Session) -> None:
        """Forget a connection that was closed."""
        self._table.pop(session, None)

    def forget_closed(self) -> None:
        """Forget the connections that were closed without a call of `session_closed`."""
        for session in [session for session in self._table if session.closed]:
            del self._table[session]

    def reset(self, continue_at: Callable[[Key], int] = _at_the_start) -> None:
        """Send every connection back, as every queue has other messages now, or none.

        ``continue_at`` returns the new offset by group, topic and queue id.
        """
        self._continue_at = continue_at
        now_ms = self._clock.elapsed_ms(outside=True)  # the axis of the peers
        for key, offset in self._highest.items():
            before, _ = self._former.pop(key, _NO_FORMER)
            self._former[key] = max(offset, before), now_ms
        self._highest.clear()
        expired_ms = now_ms - CHANNEL_EXPIRED_TIMEOUT_MS
        old = takewhile(lambda entry: entry[1][1] < expired_ms, self._former.items())
        for key in [key for key, _ in old]:
            del self._former[key]
        self.forget_closed()
        for positions in self._table.values():
            for key, position in positions.items():
                position.next_offset = continue_at(key)
                position.reading = ReadState.STALE
