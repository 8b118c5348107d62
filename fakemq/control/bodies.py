"""The bodies of the requests that are under way at one control port.

One body may have 16 MiB, and its end may take ten seconds to arrive. So all of them together have a
limit, as all peers of a cluster have (`fakemq.net.held`). Beyond it, the largest of the bodies that
are still arriving is given up; the other requests notice nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fakemq.control.results import Refusal

ALL_MAX_BYTES = 64 << 20
"""The bodies of all requests that are not answered: four of the largest."""
FREE_BYTES = 64 << 10
"""So much of each body does not count: a small request is never refused for large ones."""


class Bodies:
    """Counts the bytes of the bodies of one port."""

    def __init__(self) -> None:
        self.total_bytes = 0
        """What all requests hold that are not answered, less what is free."""
        self._arriving: set[Arriving] = set()

    @contextmanager
    def begin(self, max_bytes: int) -> Iterator[Arriving]:
        """Give the body of one request; it counts until the block ends."""
        body = Arriving(self, max_bytes)
        self._arriving.add(body)
        try:
            yield body
        finally:
            self._arriving.discard(body)
            self.count(body, 0)

    def count(self, body: Arriving, size_bytes: int) -> None:
        """Record how much a body holds now; give up the largest ones while the sum is too large."""
        counted_bytes = max(0, size_bytes - FREE_BYTES)
        self.total_bytes += counted_bytes - body.counted_bytes
        body.counted_bytes = counted_bytes
        while self.total_bytes > ALL_MAX_BYTES:
            largest = max(self._arriving, key=lambda one: one.counted_bytes)
            self.total_bytes -= largest.counted_bytes
            largest.give_up()

    def complete(self, body: Arriving) -> None:
        """Record that a body has arrived: from now on it is not given up."""
        self._arriving.discard(body)


class Arriving:
    """The body of one request, while it arrives."""

    def __init__(self, bodies: Bodies, max_bytes: int) -> None:
        self.counted_bytes = 0
        self._bodies = bodies
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._given_up = False

    def add(self, part: bytes) -> None:
        """Take the next part; raise Refusal for a body that is too large, or was given up."""
        self._require_room()
        self._data += part
        if len(self._data) > self._max_bytes:
            raise Refusal(413, f"the body has over {self._max_bytes >> 20} MiB")
        self._bodies.count(self, len(self._data))
        self._require_room()

    def whole(self) -> bytes:
        """Return the body, which is complete; raise Refusal if it was given up."""
        self._require_room()
        self._bodies.complete(self)
        whole = bytes(self._data)
        self._data = bytearray()
        return whole

    def give_up(self) -> None:
        """Free the memory at once; the next part that arrives, or the end, is refused."""
        self._given_up = True
        self._data = bytearray()
        self.counted_bytes = 0

    def _require_room(self) -> None:
        if self._given_up:
            raise Refusal(
                503,
                f"the bodies of all requests under way have over {ALL_MAX_BYTES >> 20} MiB; send"
                " fewer at the same time, or smaller ones",
            )
