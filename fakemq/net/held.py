"""What peers make a cluster hold: incomplete frames, and answers that are not read.

Both may last for ever: a frame may have 16 MiB, and its end may never come. Java holds it all until
its direct memory is used up. Here the peer with most of it loses its connection when the sum is too
large; the other peers notice nothing.
"""

from __future__ import annotations

from typing import Protocol

from fakemq.net.link import HELD, UNREAD
from fakemq.protocol.limits import HELD_MAX_BYTES


class Holder(Protocol):
    """A link that holds bytes for its peer."""

    def measure_held_bytes(self) -> int:
        """Return how many they are now; what the link has reported may be too much."""

    def drop_soon(self, why: str, kind: str) -> None:
        """Close the connection on a later turn, as a caller may be writing to it now.

        ``kind`` is as in `Endpoint.close_for_violation`.
        """


class HeldBytes:
    """The bytes that are held, by holder."""

    def __init__(self, max_bytes: int = HELD_MAX_BYTES) -> None:
        self.total_bytes = 0
        self._max_bytes = max_bytes
        self._by_holder: dict[Holder, int] = {}

    def put(self, holder: Holder, size_bytes: int) -> None:
        """Record that ``holder`` holds this much now; 0 forgets it."""
        self.total_bytes += size_bytes - self._by_holder.pop(holder, 0)
        if size_bytes:
            self._by_holder[holder] = size_bytes
        if self.total_bytes > self._max_bytes:
            self._relieve()

    def _relieve(self) -> None:
        """Drop the holder of most bytes, until the sum is small enough.

        What it reported may be too much, so it is measured first."""
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
        """Drop every holder: the server stops."""
        holders, self._by_holder, self.total_bytes = self._by_holder, {}, 0
        for holder in holders:
            holder.drop_soon("nobody reads it any more", UNREAD)
