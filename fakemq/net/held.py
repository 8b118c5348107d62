"""The bytes that a cluster holds for its peers: incomplete frames, and answers that are not read.

Both may stay for ever: a frame may have 16 MiB, and its end may never arrive. Java holds the bytes
until its direct memory is full. Here the sum has a limit. Beyond it, the peer with the most bytes
loses its connection; the other peers notice nothing.
"""

from __future__ import annotations

from typing import Protocol

from fakemq.net.link import HELD, UNREAD
from fakemq.protocol.limits import HELD_MAX_BYTES


class Holder(Protocol):
    """A link that holds bytes for its peer."""

    def measure_held_bytes(self) -> int:
        """Return the present number of bytes; the number that the link reported may be too high."""

    def drop_soon(self, why: str, kind: str) -> None:
        """Close the connection on a later turn of the loop: a caller may be writing to it now.

        ``kind`` is as in `Endpoint.close_for_violation`.
        """


class HeldBytes:
    """Counts the held bytes of each holder; one for all links of a cluster."""

    def __init__(self, max_bytes: int = HELD_MAX_BYTES) -> None:
        self.total_bytes = 0
        self._max_bytes = max_bytes
        self._by_holder: dict[Holder, int] = {}
        """Holder → the bytes that it reported last; never 0."""

    def put(self, holder: Holder, size_bytes: int) -> None:
        """Record how much ``holder`` holds now; 0 removes it."""
        self.total_bytes += size_bytes - self._by_holder.pop(holder, 0)
        if size_bytes:
            self._by_holder[holder] = size_bytes
        if self.total_bytes > self._max_bytes:
            self._relieve()

    def _relieve(self) -> None:
        """Drop the holder with the most bytes until the sum is below the limit.

        Its reported number may be too high. So each holder is measured first; if it has less than
        it reported, the number is corrected and the search starts again.
        """
        while self.total_bytes > self._max_bytes:
            greatest = max(self._by_holder, key=self._by_holder.__getitem__)
            reported_bytes, size_bytes = self._by_holder[greatest], greatest.measure_held_bytes()
            if size_bytes < reported_bytes:
                self._by_holder[greatest] = size_bytes
                self.total_bytes += size_bytes - reported_bytes
                continue
            why = (
                f"all peers make us hold {self.total_bytes} bytes; {self._max_bytes} is the most,"
                f" and {reported_bytes} of them are for this one"
            )
            self.total_bytes -= self._by_holder.pop(greatest)
            greatest.drop_soon(why, HELD)

    def drop_all(self) -> None:
        """Drop every holder: the server stops."""
        holders, self._by_holder, self.total_bytes = self._by_holder, {}, 0
        for holder in holders:
            holder.drop_soon("the server stops, and the bytes are not read", UNREAD)
