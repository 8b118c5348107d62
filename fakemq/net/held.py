"""What peers make a cluster hold: frames half received, and answers that nobody reads.

Neither is anything but waiting: a frame may be 16 MiB, and nothing says that its end ever comes.
Java holds it all, until its direct memory is gone. Here the peer that has most of it loses its
connection when all have too much; the others notice nothing.
"""

from __future__ import annotations

from typing import Protocol

from fakemq.net.link import HELD, UNREAD
from fakemq.protocol.limits import HELD_MAX_BYTES


class Holder(Protocol):
    """A link that holds bytes for its peer."""

    def measure_held_bytes(self) -> int:
        """How many they are now; what it has said of them itself may be too much."""

    def drop_soon(self, why: str, kind: str) -> None:
        """Close the connection, soon: nobody who is just writing to it must notice.

        ``kind`` is the offence's, as in `Endpoint.close_for_violation`.
        """


class HeldBytes:
    """How many bytes are held for whom."""

    def __init__(self, max_bytes: int = HELD_MAX_BYTES) -> None:
        self.total_bytes = 0
        self._max_bytes = max_bytes
        self._by_holder: dict[Holder, int] = {}

    def put(self, holder: Holder, size_bytes: int) -> None:
        """``holder`` holds this much now; 0 forgets it."""
        self.total_bytes += size_bytes - self._by_holder.pop(holder, 0)
        if size_bytes:
            self._by_holder[holder] = size_bytes
        if self.total_bytes > self._max_bytes:
            self._relieve()

    def _relieve(self) -> None:
        """Have who holds most let go, until all hold little enough: looked up before it must."""
        while self.total_bytes > self._max_bytes:
            greatest = max(self._by_holder, key=self._by_holder.__getitem__)
            said_bytes, size_bytes = self._by_holder[greatest], greatest.measure_held_bytes()
            if size_bytes < said_bytes:
                self._by_holder[greatest] = size_bytes
                self.total_bytes += size_bytes - said_bytes
                continue
            why = (
                f"all peers make us hold {self.total_bytes} bytes; {self._max_bytes} is the most,"
                f" and {said_bytes} of them are for this one"
            )
            self.total_bytes -= self._by_holder.pop(greatest)
            greatest.drop_soon(why, HELD)

    def drop_all(self) -> None:
        """Nobody is waited for any more."""
        holders, self._by_holder, self.total_bytes = self._by_holder, {}, 0
        for holder in holders:
            holder.drop_soon("nobody reads it any more", UNREAD)
