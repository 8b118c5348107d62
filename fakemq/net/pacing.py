"""When a TCP connection has to wait: for its turn, and for a peer that does not read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.net.held import HeldBytes, Holder

_TURN_MS = 5


class TurnScheduler:
    """Limits how long one connection is served while others wait: to `_TURN_MS`.

    A turn begins with bytes that arrive, and is measured from the first look at the time.
    """

    def __init__(self, soon: Callable[[Callable[[], None]], None]) -> None:
        # Calls its argument in a later turn, after the other connections.
        self._soon = soon
        self.waiting = False
        """Whether a turn is over and the next has not begun."""
        self.ends_ms: int | None = 0
        """The machine's elapsed time at the end of the turn; 0 before the first look at the time,
        None for a turn without end."""

    def is_over(self, on_wait: Callable[[], None], on_turn: Callable[[], None]) -> bool:
        """Return whether the connection has to wait; at the end of a turn schedule the next.

        Call ``on_wait`` when the turn is over, and ``on_turn`` when the next one begins.
        """
        ends_ms, now_ms = self.ends_ms, real_elapsed_ms()
        if ends_ms == 0:
            self.ends_ms = now_ms + _TURN_MS
        elif ends_ms is not None and now_ms >= ends_ms and not self.waiting:
            self.waiting = True
            on_wait()
            self._soon(partial(self._begin, on_turn))
        return self.waiting

    def _begin(self, on_turn: Callable[[], None]) -> None:
        self.waiting = False
        on_turn()

    def serve_all(self) -> None:
        """Let the present turn have no end."""
        self.ends_ms, self.waiting = None, False


class Backpressure:
    """Counts what a peer makes its link hold, and knows whether the peer reads.

    The sum is reported to `HeldBytes` with each change, so that all peers together have a limit.
    """

    def __init__(self, held: HeldBytes) -> None:
        self._held = held
        self.blocked = False
        """Whether the peer does not read what is written, or a fault holds the bytes back."""
        self.system_is_full = False
        """Whether asyncio has asked to stop writing."""
        self.unread_bytes = 0
        """An upper bound of the bytes that the peer has not read; counted while ``blocked``."""
        self.unfinished_bytes = 0
        """What the endpoint holds of incomplete frames and requests."""

    def block(self, unsent_bytes: int) -> None:
        """The peer does not read; ``unsent_bytes`` were written, and not taken by the system."""
        self.blocked = True
        self.unread_bytes = unsent_bytes

    def unblock(self) -> None:
        """The peer has read what was written."""
        self.blocked = False
        self.unread_bytes = 0

    def forget(self) -> None:
        """Nothing is held any more: the connection is lost."""
        self.unblock()
        self.unfinished_bytes = 0

    def report(self, holder: Holder, arrived_bytes: int) -> None:
        """Report all that is held, with ``arrived_bytes`` that a fault delays."""
        self._held.put(holder, self.unread_bytes + self.unfinished_bytes + arrived_bytes)

    def report_only(self, holder: Holder, size_bytes: int) -> None:
        """Report ``size_bytes``: the link is closing or lost, and holds nothing else."""
        self._held.put(holder, size_bytes)
