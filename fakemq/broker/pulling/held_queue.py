"""The held pulls of one queue, and what a record that arrives there means for each of them.

Java asks every held pull about every record. Here most of them are not asked, as nothing would
change for them: a record concerns the pulls that want it, those that no record has passed by, and
those whose time is over.

Source: broker/longpolling/PullRequestHoldService.java#notifyMessageArriving (4.9.7)
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fakemq.clock.slices import FEW_STEPS, Steps
from fakemq.dispatch.answers import Parked
from fakemq.later import Later
from fakemq.protocol.java import int32

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from fakemq.broker.filters.expressions import PullFilter
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.dispatch.answers import Reply, Request
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
    from fakemq.store.results import LogRecord

MOST_WAKES = 100
"""How many puts of one queue wait for their looks with the properties of their messages."""
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
        self.parked: Parked[PullMessageResponseHeader] = Later()
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
    """The held pulls of one queue, by tag, by filter and by the end of their time.

    ``answer`` is called with a pull that an arrival answers, and why; ``check_soon`` with a pull
    that the next check answers.
    """

    __slots__ = (
        "_answer",
        "_by_filter",
        "_by_tag",
        "_check_soon",
        "_clock",
        "_expiring",
        "_unseen",
        "pulls",
    )

    def __init__(
        self,
        clock: NodeClock,
        *,
        answer: Callable[[HeldPull, str], None],
        check_soon: Callable[[HeldPull], None],
    ) -> None:
        self._clock = clock
        self._answer = answer
        self._check_soon = check_soon
        # Dicts as sets that keep their order: pulls are answered in the order they came.
        self.pulls: dict[HeldPull, None] = {}
        # The pulls that no record has passed by; all others are due at the next check.
        self._unseen: dict[HeldPull, None] = {}
        self._by_tag: _Table = {}
        self._by_filter: _Table = {}
        """The other pulls; those of one key want the same records."""
        # For each time axis a heap, with entries of pulls that are no longer held.
        self._expiring: dict[bool, list[tuple[int, int, HeldPull]]] = {False: [], True: []}

    def add(self, pull: HeldPull) -> None:
        self.pulls[pull] = self._unseen[pull] = None
        for table, key in self._places(pull):
            table.setdefault(key, {})[pull] = None
        expiring = self._expiring[pull.request.session.outside]
        heappush(expiring, (pull.expires_ms, pull.number, pull))
        if len(expiring) > 2 * len(self.pulls) + 100:
            expiring[:] = [entry for entry in expiring if entry[2] in self.pulls]
            heapify(expiring)

    def remove(self, pull: HeldPull) -> None:
        del self.pulls[pull]
        self._unseen.pop(pull, None)
        for table, key in self._places(pull):
            pulls = table[key]
            del pulls[pull]
            if not pulls:
                del table[key]

    def arrived(self, records: Sequence[LogRecord]) -> None:
        """Answer the pulls that want one of these records, which have just reached the queue.

        All others whose offset lies before the end of the queue are answered at the next check.
        """
        looks = max(len(self.pulls), len(records) * (len(self._by_filter) or 1))
        asks = looks <= FEW_STEPS or self._clock.unfinished(self) < MOST_WAKES
        arrivals = [
            Arrival(record.queue_offset, record.tags_code, record.properties if asks else None)
            for record in records
        ]
        self._clock.carry_out(self._look(arrivals), peer=self, count=looks)

    def _look(self, arrivals: Sequence[Arrival]) -> Steps[None]:
        for arrival in arrivals:
            if not self.pulls:
                return
            yield
            wanting = yield from self._wanting(arrival)
            expired = self._take_expired()
            concerned = wanting | self._unseen | expired
            for pull in sorted(concerned, key=lambda pull: pull.number):
                yield
                if pull.check is None:
                    continue  # it was answered meanwhile
                ahead = arrival.queue_offset >= pull.request.header.queue_offset
                if ahead and pull in wanting:
                    self._answer(pull, "arrival")
                elif pull in expired:
                    self._answer(pull, "timeout")
                elif ahead:
                    self._unseen.pop(pull, None)
                    self._check_soon(pull)

    def _wanting(self, arrival: Arrival) -> Steps[dict[HeldPull, None]]:
        """Return the pulls whose filter takes a record."""
        wanting: dict[HeldPull, None] = {}
        if self._by_tag:
            wanting |= self._by_tag.get(int32(arrival.tags_code), {})
        for pulls in list(self._by_filter.values()):
            one = next(iter(pulls), None)  # none is left if they were answered meanwhile
            if one is not None and one.wants(arrival):
                wanting |= pulls
            yield
        return wanting

    def _take_expired(self) -> dict[HeldPull, None]:
        """Return the pulls whose time is over; the caller answers them."""
        expired: dict[HeldPull, None] = {}
        for outside, expiring in self._expiring.items():
            while expiring and expiring[0][0] <= self._clock.elapsed_ms(outside=outside):
                pull = heappop(expiring)[2]
                if pull in self.pulls:
                    expired[pull] = None
        return expired

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
