"""The held pulls of one queue, found by what an arriving record says.

Java asks every held pull about every record. Here most of them are not asked, as nothing would
change for them: a record concerns the pulls that may want it, those that no record has passed by,
and those whose time is over.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Parked
from fakemq.protocol.java import int32

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator

    from fakemq.broker.filters.pull_filter import PullFilter
    from fakemq.clock.timers import Timer
    from fakemq.dispatch.answers import Reply, Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader

MOST_INDEXED_TAGS = 32
"""A filter of more tags is asked itself: entries for each tag would take much memory."""

_Table: TypeAlias = "dict[Hashable, dict[HeldPull, None]]"


class Arrival(NamedTuple):
    """The part of a new record that filters see."""

    queue_offset: int
    tags_code: int
    properties: bytes | None
    """As stored; None if no filter is to be asked about them."""


class HeldPull:
    """A held pull. ``expires_ms`` is the end of the client's timeout, in elapsed time."""

    __slots__ = (
        "again",
        "check",
        "expires_ms",
        "message_filter",
        "number",
        "parked",
        "queue",
        "request",
    )

    def __init__(
        self,
        request: Request[PullMessageRequestHeader],
        message_filter: PullFilter | None,
        expires_ms: int,
        again: Callable[[], Reply[PullMessageResponseHeader]],
        number: int,
    ) -> None:
        self.request = request
        self.again = again
        self.queue = (request.header.topic, request.header.queue_id)
        self.message_filter = message_filter
        self.expires_ms = expires_ms
        self.number = number
        """Pulls are answered in the order of their numbers."""
        self.parked: Parked[PullMessageResponseHeader] = Parked()
        self.check: Check | None = None
        """The check that answers it at the latest; None once it is answered."""

    def wants(self, arrival: Arrival) -> bool:
        """Return whether its filter takes a record, whose offset is not compared."""
        message_filter = self.message_filter
        if message_filter is None:
            return True
        if not message_filter.is_matched_by_consume_queue(arrival.tags_code):
            return False
        if message_filter.tags_codes is not None:
            return True
        properties = arrival.properties
        if properties is None:
            return False
        # Java asks the filter about properties only if there are any.
        return not properties or message_filter.is_matched_by_properties(properties)


class Check:
    """One tick of the grid on one time axis, and the pulls to check then."""

    __slots__ = ("due_ms", "outside", "pulls", "timer")

    def __init__(self, outside: bool, due_ms: int) -> None:
        self.outside = outside
        self.due_ms = due_ms
        self.pulls: dict[HeldPull, None] = {}
        self.timer: Timer | None = None


class HeldQueue:
    """The held pulls of one queue, by tag, by filter and by the end of their time."""

    __slots__ = ("_by_filter", "_by_tag", "_expiring", "pulls", "unseen")

    def __init__(self) -> None:
        # Dicts as sets that keep their order: pulls are answered in the order they came.
        self.pulls: dict[HeldPull, None] = {}
        self.unseen: dict[HeldPull, None] = {}
        """The pulls that no record has passed by; all others are due at the next check."""
        self._by_tag: _Table = {}
        self._by_filter: _Table = {}
        """The other pulls; those of one key want the same records."""
        # For each time axis a heap, with entries of pulls that are no longer held.
        self._expiring: dict[bool, list[tuple[int, int, HeldPull]]] = {False: [], True: []}

    def add(self, pull: HeldPull) -> None:
        self.pulls[pull] = self.unseen[pull] = None
        for table, key in self._places(pull):
            table.setdefault(key, {})[pull] = None
        expiring = self._expiring[pull.request.session.outside]
        heappush(expiring, (pull.expires_ms, pull.number, pull))
        if len(expiring) > 2 * len(self.pulls) + 100:
            expiring[:] = [entry for entry in expiring if entry[2] in self.pulls]
            heapify(expiring)

    def remove(self, pull: HeldPull) -> None:
        del self.pulls[pull]
        self.unseen.pop(pull, None)
        for table, key in self._places(pull):
            pulls = table[key]
            del pulls[pull]
            if not pulls:
                del table[key]

    def looks(self, arrivals: Collection[Arrival]) -> int:
        """Return about how many steps `concerned_by` and the looks at its result take."""
        return max(len(self.pulls), len(arrivals) * max(1, len(self._by_filter)))

    def concerned_by(
        self, arrival: Arrival, now_ms: Callable[[bool], int]
    ) -> Steps[list[HeldPull]]:
        """Return the pulls for which a record may change something, in their order.

        ``now_ms`` returns the time of an axis: outside or not.
        """
        concerned = dict(self._by_tag.get(int32(arrival.tags_code), ()))
        for pulls in list(self._by_filter.values()):
            one = next(iter(pulls), None)  # none is left if they were answered meanwhile
            if one is not None and one.wants(arrival):
                concerned |= pulls
            yield
        concerned |= self.unseen
        for outside, expiring in self._expiring.items():
            while expiring and expiring[0][0] <= now_ms(outside):
                pull = heappop(expiring)[2]
                if pull in self.pulls:
                    concerned[pull] = None
        return sorted(concerned, key=lambda pull: pull.number)

    def _places(self, pull: HeldPull) -> Iterator[tuple[_Table, Hashable]]:
        """Yield the tables that have the pull, each with its key there."""
        message_filter = pull.message_filter
        if message_filter is None:
            yield self._by_filter, None
            return
        codes = message_filter.tags_codes
        if codes is None or len(codes) > MOST_INDEXED_TAGS:
            yield self._by_filter, message_filter.condition
            return
        for code in codes:
            yield self._by_tag, code
