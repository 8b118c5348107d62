"""Held pops: they found no message and wait for one (long polling).

A pop that waits for all queues of a topic is listed under queue id -1. An arrival wakes one held
pop of each group, which then is processed as if it had just come, and may be held again.

Java looks for held pops whose time is over every 20 ms; here each has a deadline of its own.

Source: broker/longpolling/PopLongPollingService.java (5.5.0)
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fakemq.broker.pulling.held_queue import MOST_WAKES
from fakemq.clock.slices import leaving
from fakemq.dispatch.answers import Parked
from fakemq.dispatch.outcomes import outcome_of
from fakemq.later import Later
from fakemq.protocol.pop import ORIGIN_GROUP
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fakemq.broker.filters.expressions import PullFilter
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.answers import Outcome, Request
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.store.results import LogRecord

ALL_QUEUES: Final = -1
EARLIER_MS: Final = 50
"""How much before the end of its time a held pop is answered."""

_Key: TypeAlias = tuple[str, str, int]
"""Topic, group and queue id."""


class NotHeld(Enum):
    """Why a pop is not held."""

    NOT_POLLING = "its client does not want to wait"
    FULL = "too many are held"
    TIMEOUT = "its time is over"


class HeldPop:
    """A held pop, or a held notification."""

    __slots__ = (
        "again",
        "expires_ms",
        "key",
        "message_filter",
        "parked",
        "place",
        "request",
        "timer",
    )

    def __init__(
        self,
        request: Request[Any],
        key: _Key,
        message_filter: PullFilter | None,
        expires_ms: int,
        again: Callable[[HeldPop], Outcome | Parked[Any]],
    ) -> None:
        self.request = request
        self.key = key
        self.message_filter = message_filter
        self.expires_ms = expires_ms
        """The end of its client's time, in elapsed time of the client."""
        self.again = again
        """Processes the request once more; returns ``parked`` if it is held again."""
        self.place = (0, 0)
        """Its place among those of its key: the first is woken first."""
        self.parked: Parked[Any] = Later()
        self.timer: Timer | None = None


class PopPolling:
    """The held pops of one broker. With ``newest_first`` an arrival wakes the last one."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        settings: BrokerConfig5,
        *,
        newest_first: bool = False,
    ) -> None:
        self._node = node
        self._settings = settings
        self._newest_first = newest_first
        self._by_topic: dict[str, dict[str, dict[int, list[HeldPop]]]] = {}
        self._by_session: dict[Session, dict[HeldPop, None]] = {}
        self._count = self._last_number = 0
        self._to_wake: deque[HeldPop] = deque()
        self._waking = False

    # -- holding ------------------------------------------------------------------------------

    def hold(
        self,
        request: Request[Any],
        key: _Key,
        poll_time_ms: int,
        message_filter: PullFilter | None,
        again: Callable[[HeldPop], Outcome | Parked[Any]],
        held: HeldPop | None,
    ) -> Parked[Any] | NotHeld:
        """Hold a request, or return why not. ``held`` is what it was when it was held before.

        Its time counts from its first arrival. Java counts from the time that the client says; a
        client has another clock than the cluster.

        Source: PopLongPollingService.java#polling (5.5.0)
        """
        if poll_time_ms <= 0:
            return NotHeld.NOT_POLLING
        settings, clock = self._settings, self._node.clock
        outside = request.session.outside
        now_ms = clock.elapsed_ms(outside=outside)
        if held is None:
            held = HeldPop(request, key, message_filter, now_ms + poll_time_ms, again)
        if self._count >= settings.max_pop_polling_size:
            return NotHeld.FULL
        if now_ms > held.expires_ms - EARLIER_MS:
            return NotHeld.TIMEOUT
        topic, group, queue_id = key
        waiting = self._by_topic.setdefault(topic, {}).setdefault(group, {})
        waiting_here = waiting.setdefault(queue_id, [])
        if len(waiting_here) > settings.pop_polling_size:
            return NotHeld.FULL
        self._last_number += 1
        held.message_filter = message_filter
        # Clients inside and outside the cluster have different time axes: compare what is left.
        held.place = (clock.now_ms() + held.expires_ms - now_ms, self._last_number)
        insort(waiting_here, held, key=attrgetter("place"))
        self._by_session.setdefault(request.session, {})[held] = None
        self._count += 1
        entry = held
        held.parked.on_abandoned = lambda: self._give_up(entry)
        held.timer = clock.call_later(
            held.expires_ms - EARLIER_MS + 1 - now_ms,
            lambda: self._wake(entry),
            kind="pop_hold",
            outside=outside,
        )
        return held.parked

    def __len__(self) -> int:
        """Return how many requests are held."""
        return self._count

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """Return how many requests are held for these."""
        return len(self._by_topic.get(topic, {}).get(group, {}).get(queue_id, ()))

    def session_closed(self, session: Session) -> None:
        """Remove the held requests of a closed connection."""
        if session in self._by_session:
            self._node.clock.carry_out(self._remove_of(session), peer=leaving(session))

    def _remove_of(self, session: Session) -> Steps[None]:
        while waiting := self._by_session.get(session):
            held = next(reversed(waiting))
            self._remove(held)
            held.parked.on_abandoned = None  # else each is a cycle
            yield

    def _give_up(self, held: HeldPop) -> None:
        """Remove a request whose client waits no longer; it may be on its way to be woken."""
        held.parked.on_abandoned = None
        if held.timer is not None:
            self._remove(held)
        elif held in self._to_wake:
            self._to_wake.remove(held)

    def forget_closed(self) -> None:
        """Remove the held requests of connections that were closed."""
        for session in [session for session in self._by_session if session.closed]:
            self.session_closed(session)

    # -- waking -------------------------------------------------------------------------------

    def arrived(self, records: Iterable[LogRecord]) -> None:
        """Wake those that wait for records of a put, which have just reached their queue.

        Source: PopLongPollingService.java#notifyMessageArrivingWithRetryTopic (5.5.0)
        """
        if not self._count:
            return
        for record in records:
            if record.topic.startswith(RETRY_PREFIX):
                self._arrived_in_retry(record)
            else:
                self._arrived_in_topic(record)

    def _arrived_in_topic(self, record: LogRecord) -> None:
        interval = self._settings.pop_long_polling_force_notify_interval
        force = interval > 0 and (record.queue_offset + 1) % interval == 0
        self.notify_topic(record.topic, record.queue_id, None if force else record)

    def notify_topic(self, topic: str, queue_id: int, record: LogRecord | None = None) -> None:
        """Wake a request of each group that waits for all queues, and one that waits for this."""
        groups = self._by_topic.get(topic)
        if not groups:
            return
        clock = self._node.clock
        if clock.unfinished(self) >= MOST_WAKES:
            record = None  # to keep more records would take much memory
        steps = self._notify_each(list(groups), topic, queue_id, record)
        # Of one group, too, many may be of closed connections.
        clock.carry_out(steps, peer=self, count=self._count)

    def _notify_each(
        self, groups: Iterable[str], topic: str, queue_id: int, record: LogRecord | None
    ) -> Steps[None]:
        for group in groups:
            for waited_for in (ALL_QUEUES, queue_id):
                self.notify(topic, group, waited_for, record)
            yield

    def _arrived_in_retry(self, record: LogRecord) -> None:
        group = record.decoded_properties.get(ORIGIN_GROUP, "")
        # Without a topic behind the group it is the retry topic of clients that pull.
        topic = record.topic[len(RETRY_PREFIX) + len(group) + 1 :]
        if group and topic:
            for queue_id in (ALL_QUEUES, record.queue_id):
                self.notify(topic, group, queue_id)

    def notify(
        self, topic: str, group: str, queue_id: int, record: LogRecord | None = None
    ) -> bool:
        """Wake one request of a group; return whether there was one.

        With a record it is woken only if its filter takes the record.

        Source: PopLongPollingService.java#notifyMessageArriving (5.5.0)
        """
        waiting = self._by_topic.get(topic, {}).get(group, {}).get(queue_id, ())
        in_order = reversed(waiting) if self._newest_first else waiting
        # Those of a closed connection are being removed in slices.
        held = next((one for one in in_order if not one.request.session.closed), None)
        if held is None or (record is not None and not _takes(held.message_filter, record)):
            return False
        self._wake(held)
        return True

    def _wake(self, held: HeldPop) -> None:
        """Process a request again.

        Its answer may wake the next one: they are processed one after the other, not inside each
        other.
        """
        self._remove(held)
        self._to_wake.append(held)
        if self._waking:
            return
        self._waking = True
        try:
            while self._to_wake:
                self._process(self._to_wake.popleft())
        finally:
            self._waking = False

    def _process(self, held: HeldPop) -> None:
        held.parked.on_abandoned = None
        if held.request.session.closed:
            return
        code = held.request.command.code
        outcome = outcome_of(self._node, code, lambda: held.again(held))
        if outcome is not held.parked:
            assert not isinstance(outcome, Later)
            held.parked.resolve(outcome)

    def _remove(self, held: HeldPop) -> None:
        self._node.clock.cancel(held.timer)
        held.timer = None
        topic, group, queue_id = held.key
        groups = self._by_topic[topic]
        queues = groups[group]
        waiting = queues[queue_id]
        waiting.remove(held)
        if not waiting:
            del queues[queue_id]
            if not queues:
                del groups[group]
                if not groups:
                    del self._by_topic[topic]
        of_session = self._by_session[held.request.session]
        del of_session[held]
        if not of_session:
            del self._by_session[held.request.session]
        self._count -= 1


def _takes(message_filter: PullFilter | None, record: LogRecord) -> bool:
    if message_filter is None:
        return True
    if not message_filter.is_matched_by_consume_queue(record.tags_code):
        return False
    properties = record.properties
    return not properties or message_filter.is_matched_by_properties(properties)
