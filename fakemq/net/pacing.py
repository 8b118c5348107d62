"""When a TCP connection has to wait: for its turn, and for a peer that does not read."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.net.held import HeldBytes, Holder

_TURN_MS = 5


class TurnScheduler:
    """Limits how long one connection is served while others wait: to `_TURN_MS`.

    A turn begins with bytes that arrive, and is measured from the first look at the time.
    """

    def __init__(
        self,
        on_wait: Callable[[], None],
        on_turn: Callable[[], None],
        soon: Callable[[Callable[[], None]], None],
    ) -> None:
        # Called when a turn is over, and when the next one begins.
        self._on_wait = on_wait
        self._on_turn = on_turn
        # Calls its argument after the other connections have had their turns.
        self._soon = soon
        self.waiting = False
        """Whether a turn is over and the next has not begun."""
        self.ends_ms: int | None = 0
        """The machine's elapsed time at the end of the turn; 0 before the first look at the time,
        None for a turn without end."""

    def is_over(self) -> bool:
        """Return whether the connection has to wait; at the end of a turn schedule the next."""
        ends_ms, now_ms = self.ends_ms, real_elapsed_ms()
        if ends_ms == 0:
            self.ends_ms = now_ms + _TURN_MS
        elif ends_ms is not None and now_ms >= ends_ms and not self.waiting:
            self.waiting = True
            self._on_wait()
            self._soon(self._begin)
        return self.waiting

    def _begin(self) -> None:
        self.waiting = False
        self._on_turn()

    def serve_all(self) -> None:
        """Let the present turn have no end."""
        self.ends_ms, self.waiting = None, False


class Backpressure:
    """Counts what a peer makes its link hold, and knows whether the peer reads.

    The sum is reported to `HeldBytes` with each change, so that all peers together have a limit.
    """

    def __init__(self, holder: Holder, held: HeldBytes, count_unsent: Callable[[], int]) -> None:
        self._holder = holder
        self._held = held
        # Returns the bytes that the link has written and the system has not taken.
        self._count_unsent = count_unsent
        self.blocked = False
        """Whether the peer does not read what is written, or a fault holds the bytes back."""
        self.system_is_full = False
        """Whether asyncio has asked to stop writing."""
        self.unread_bytes = 0
        """An upper bound of the bytes that the peer has not read; counted while ``blocked``."""
        self.unfinished_bytes = 0
        """What the endpoint holds of incomplete frames and requests."""

    def block(self) -> None:
        """The peer does not read."""
        self.blocked = True
        self.unread_bytes = self._count_unsent()

    def unblock(self) -> None:
        """The peer has read what was written."""
        self.blocked = False
        self.unread_bytes = 0

    def forget(self) -> None:
        """Nothing is held any more: the connection is lost."""
        self.unblock()
        self.unfinished_bytes = 0

    def report(self, arrived_bytes: int) -> None:
        """Report all that is held, with ``arrived_bytes`` that a fault delays."""
        self._held.put(self._holder, self.unread_bytes + self.unfinished_bytes + arrived_bytes)

    def report_only(self, size_bytes: int) -> None:
        """Report ``size_bytes``: the link is closing or lost, and holds nothing else."""
        self._held.put(self._holder, size_bytes)
