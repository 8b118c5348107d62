"""Which client is to look into which lite topic: an event for each, until the client pops.

A message that arrives is an event for one subscriber of each group. What a client does not fetch in
time goes to another one, and one whose list is full gets what is left later.

Java looks at all lists every ten seconds; here that is done at the tick of the same grid at which
something is due.

Source: broker/lite/LiteEventDispatcher.java (5.5.0)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from fakemq.broker.v5.lite.client_events import Events
from fakemq.broker.v5.lite.subscriptions import Subscriber
from fakemq.clock.timers import LEAST_PERIOD_MS, next_tick_ms
from fakemq.protocol.v5.lite import belongs_to, is_lite_queue, parent_and_lite

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fakemq.broker.v5.lite.settings import LiteGroups
    from fakemq.broker.v5.lite.subscriptions import LiteRegistry
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.v5.model import BrokerConfig5

# Source: LiteEventDispatcher.java, constants (5.5.0)
ACTIVE_MS: Final = 5_000
AVOIDED_MS: Final = 10_000
LEAST_DELAY_MS: Final = 50
ALL_DELAY_MS: Final = 5_000
"""How long after its subscription a member of a group that has all lite topics gets what is there.
"""


class Queues(Protocol):
    """The light queues of a broker."""

    def end_of(self, queue: str) -> int:
        """Return the offset behind the last message of a light queue; 0 without one."""

    def has_more(self, queue: str, group: str) -> bool:
        """Return whether a light queue has messages that a group has not consumed."""

    def names(self) -> Iterable[str]:
        """Return the names of all light queues of lite topics."""


class LiteEvents:
    """The events of one broker. ``wake`` answers a held pop of a client, if it has one."""

    def __init__(
        self,
        clock: NodeClock,
        config: BrokerConfig5,
        groups: LiteGroups,
        subscriptions: LiteRegistry,
        queues: Queues,
        randomness: random.Random,
        *,
        started_ms: Mapping[bool, int],
        wake: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._config = config
        self._groups = groups
        self._subscriptions = subscriptions
        self._queues = queues
        self._randomness = randomness
        self._started_ms = started_ms
        self._wake = wake
        self._by_client: dict[str, Events] = {}
        self._avoided: dict[str, int] = {}
        """Client → until when (wall time) others are preferred."""
        self._full: dict[tuple[str, str, bool], int] = {}
        """Client ("" for a group that has all), group, and on which axis → when it gets what is
        there."""
        self._timers: dict[bool, Timer | None] = {False: None, True: None}

    # -- reading ------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return how many clients have a list."""
        return len(self._by_client)

    def accessed_at_ms(self, client_id: str | None) -> int:
        """Return when a client looked last, as wall time; -1 if it has no list."""
        events = self._by_client.get(client_id or "")
        return -1 if events is None else events.accessed_at_ms

    def take(self, client_id: str, most: int) -> Iterator[str]:
        """Yield light queues that a client is to look into, and take them off its list.

        Without event mode these are all to which it subscribes; those beyond ``most`` come with the
        next pops.
        """
        if not self._config.enable_lite_event_mode:
            found = self._subscriptions.find(client_id)
            if found is not None:
                yield from _in_turn(found.queues, most)
            return
        events = self._by_client.get(client_id)
        while events is not None and events.queues and most > 0:
            self._accessed(events)
            queue = next(iter(events.queues))
            del events.queues[queue]
            yield queue
            most -= 1

    def look_again(self, client_id: str) -> None:
        """Let a pop that has just been held look into what it has left."""
        events = self._by_client.get(client_id)
        if events is not None and events.queues:
            # Not by a timer: the clock may be frozen.
            steps, peer = self._look_on(client_id), (self, events.outside)
            self._clock.carry_out(steps, peer=peer)

    def _look_on(self, client_id: str) -> Steps[None]:
        yield
        self._wake(client_id)

    # -- events -------------------------------------------------------------------------------

    def arrived(self, queue: str) -> None:
        """Let one subscriber of each group look into a light queue."""
        if not self._config.enable_lite_event_mode:
            return
        parent = parent_and_lite(queue)
        topic = None if parent is None else parent[0]
        for subscribers in self._subscriptions.subscribers(topic, queue).values():
            self._dispatch(queue, subscribers)

    def available(self, group: str, queue: str, *, but: str | None = None) -> None:
        """Let one subscriber of a group look into a light queue, another than ``but`` if it can."""
        if not self._config.enable_lite_event_mode or not is_lite_queue(queue):
            return
        parent = parent_and_lite(queue)
        topic = None if parent is None else parent[0]
        self._dispatch(queue, self._subscriptions.subscribers_in(group, topic, queue), but=but)

    def subscribed(self, subscriber: Subscriber, queue: str) -> None:
        """Let a new subscriber look, if there is something.

        Source: LiteEventDispatcher.java, LiteCtlListenerImpl#onRegister (5.5.0)
        """
        if self._groups.has_all(subscriber.group):
            outside = self._is_outside(subscriber.client_id)
            self._later("", subscriber.group, ALL_DELAY_MS, outside=outside)
        elif self._queues.end_of(queue) > 0:
            self.available(subscriber.group, queue)

    def left(self, subscriber: Subscriber) -> Steps[None]:
        """Let others look into what a client has not looked into."""
        events = self._by_client.pop(subscriber.client_id, None)
        if events is not None:
            yield from self._give_away(events.group, list(events.queues), subscriber.client_id)

    def _give_away(self, group: str, queues: Iterable[str], client_id: str) -> Steps[None]:
        for queue in queues:
            self.available(group, queue, but=client_id)
            yield

    def clear(self) -> None:
        """Forget all events."""
        self._by_client.clear()
        self._avoided.clear()
        self._full.clear()
        for outside, timer in self._timers.items():
            self._clock.drop_of((self, outside))
            self._clock.cancel(timer)
            self._timers[outside] = None

    def _dispatch(
        self, queue: str, subscribers: Sequence[Subscriber], *, but: str | None = None
    ) -> bool:
        """Put an event on the list of one subscriber; return False if all lists are full.

        Source: LiteEventDispatcher.java#selectAndDispatch (5.5.0)
        """
        if not subscribers:
            return True
        has_all = self._groups.has_all(subscribers[0].group)
        start = self._randomness.randrange(len(subscribers)) if len(subscribers) > 1 else 0
        last: list[Subscriber] = []
        chosen = None
        for number in range(start, start + len(subscribers)):
            one = subscribers[number % len(subscribers)]  # of thousands, most often the first
            if one.client_id == but:
                last.append(one)
            elif self._is_avoided(one.client_id):
                if not has_all:
                    last.append(one)
            elif self._offer(one, queue, has_all=has_all):
                chosen = one
                break
        if chosen is None:
            chosen = next((one for one in last if self._offer(one, queue, has_all=has_all)), None)
        if chosen is not None:
            self._wake(chosen.client_id)
        elif has_all:
            delay_ms = self._config.lite_event_full_dispatch_delay_time_for_wildcard_group
            for outside in sorted({self._is_outside(one.client_id) for one in subscribers}):
                self._later("", subscribers[0].group, delay_ms, outside=outside)
        return chosen is not None

    def _offer(self, subscriber: Subscriber, queue: str, *, has_all: bool) -> bool:
        """Source: LiteEventDispatcher.java#tryDispatchToClient (5.5.0)"""
        client_id, group = subscriber
        events = self._of(client_id, group)
        if events.offer(queue):
            self._watch(events.silent_from_ms, outside=events.outside)
            return True
        if not has_all:
            delay_ms = self._config.lite_event_full_dispatch_delay_time
            if self._is_avoided(client_id):
                delay_ms += self._randomness.randrange(15_000)
            self._later(client_id, group, delay_ms, outside=events.outside)
        return False

    def _of(self, client_id: str, group: str) -> Events:
        events = self._by_client.get(client_id)
        if events is None:
            most = self._groups.max_events(group, self._config.max_client_event_count)
            outside = self._is_outside(client_id)
            events = self._by_client[client_id] = Events(group, most, outside=outside)
            self._accessed(events)
            self._watch(events.silent_from_ms, outside=outside)
        return events

    def _is_outside(self, client_id: str) -> bool:
        session = self._subscriptions.session(client_id)
        return session is not None and session.for_outside

    def _accessed(self, events: Events) -> None:
        events.accessed_ms = self._clock.elapsed_ms(outside=events.outside)
        events.accessed_at_ms = self._clock.now_ms()

    def _is_avoided(self, client_id: str) -> bool:
        until_ms = self._avoided.get(client_id)
        if until_ms is None:
            return False
        if self._clock.now_ms() < until_ms:
            return True
        del self._avoided[client_id]
        return False

    # -- all that is there --------------------------------------------------------------------

    def all_of(self, group: str, client_id: str | None = None) -> Steps[None]:
        """Let a client, or each client of a group, look into all that it has not consumed.

        Source: LiteEventDispatcher.java#doFullDispatchByGroup (5.5.0)
        """
        if not self._config.enable_lite_event_mode:
            return
        if client_id is not None:
            yield from self._all_of_client(client_id, group)
        elif self._groups.has_all(group):
            yield from self._all_of_group(group)
        else:
            for one in self._subscriptions.clients_of(group):
                yield from self._all_of_client(one, group)

    def _all_of_client(self, client_id: str, group: str) -> Steps[None]:
        """Source: LiteEventDispatcher.java#doFullDispatchForClient (5.5.0)"""
        found = self._subscriptions.find(client_id)
        if found is None or not found.queues:
            return
        events = self._of(client_id, group)
        delay_ms = self._config.lite_event_full_dispatch_delay_time
        outside = events.outside
        now_ms = self._clock.elapsed_ms(outside=outside)
        if now_ms >= events.silent_from_ms:
            more_ms = self._randomness.randrange(15_000)
            self._later(client_id, group, delay_ms + more_ms, outside=outside)
            return
        is_active = now_ms - events.accessed_ms < ACTIVE_MS
        if not events.is_low:
            more_ms = 0 if is_active else self._randomness.randrange(10_000)
            self._later(client_id, group, delay_ms + more_ms, outside=outside)
            return
        full, queues = False, list(found.queues)
        for queue in queues:
            yield
            if self._still_wants(client_id, queue) and self._queues.has_more(queue, group):
                full = not self._of(client_id, group).offer(queue)
                if full:
                    break
        if client_id not in self._by_client:
            return  # it has left meanwhile
        if full:
            more_ms = 0 if is_active else self._randomness.randrange(15_000)
            self._later(client_id, group, delay_ms + more_ms, outside=outside)
        self._watch(self._of(client_id, group).silent_from_ms, outside=outside)
        self._wake(client_id)

    def _still_wants(self, client_id: str, queue: str) -> bool:
        found = self._subscriptions.find(client_id)
        return found is not None and queue in found.queues

    def _all_of_group(self, group: str) -> Steps[None]:
        """Source: LiteEventDispatcher.java#doFullDispatchForWildcardGroup (5.5.0)"""
        topic = self._groups.bound_topic(group)
        if topic is None:
            return
        for queue in self._queues.names():
            yield
            if not belongs_to(queue, topic) or not self._queues.has_more(queue, group):
                continue
            subscribers = self._subscriptions.subscribers_of_all(topic, group)
            if not subscribers or not self._dispatch(queue, subscribers):
                break

    def _later(self, client_id: str, group: str, delay_ms: int, *, outside: bool) -> None:
        key = client_id, group, outside
        if key in self._full:
            return
        due_ms = self._clock.elapsed_ms(outside=outside) + max(delay_ms, LEAST_DELAY_MS)
        self._full[key] = due_ms
        self._watch(due_ms, outside=outside)

    # -- looking ------------------------------------------------------------------------------

    def _watch(self, due_ms: int, *, outside: bool) -> None:
        """Look at the first tick of the grid from a time on, or earlier."""
        clock, timer = self._clock, self._timers[outside]
        period_ms = max(self._config.lite_event_check_interval, LEAST_PERIOD_MS)
        tick_ms = next_tick_ms(due_ms, self._started_ms[outside], period_ms, period_ms)
        if timer is not None and timer.pending:
            if timer.due_ms <= tick_ms:
                return
            clock.cancel(timer)
        self._timers[outside] = clock.call_later(
            max(0, tick_ms - clock.elapsed_ms(outside=outside)),
            lambda: self._look(outside),
            kind="lite_events",
            outside=outside,
        )

    def _look(self, outside: bool) -> None:
        self._timers[outside] = None
        self._clock.carry_out(self._look_at_each(outside), peer=(self, outside))

    def _look_at_each(self, outside: bool) -> Steps[None]:
        """Source: LiteEventDispatcher.java#scan (5.5.0)"""
        self._forget_avoided()
        for client_id in list(self._by_client):
            yield
            yield from self._look_at_client(client_id, outside)
        for key in list(self._full):
            yield
            client_id, group, on_axis = key
            if on_axis == outside and self._is_over(key):
                yield from self.all_of(group, client_id or None)

    def _forget_avoided(self) -> None:
        now_ms = self._clock.now_ms()
        over = [one for one, until_ms in self._avoided.items() if until_ms <= now_ms]
        for client_id in over:
            del self._avoided[client_id]

    def _look_at_client(self, client_id: str, outside: bool) -> Steps[None]:
        """Give the events of a client that is silent to others."""
        events = self._by_client.get(client_id)
        if events is None or events.outside != outside:
            return
        if self._clock.elapsed_ms(outside=outside) < events.silent_from_ms:
            self._watch(events.silent_from_ms, outside=outside)
            return
        del self._by_client[client_id]
        self._avoided[client_id] = self._clock.now_ms() + AVOIDED_MS
        yield from self._give_away(events.group, list(events.queues), client_id)

    def _is_over(self, key: tuple[str, str, bool]) -> bool:
        """Return whether what is there is due for a client or group whose list was full."""
        due_ms, outside = self._full.get(key), key[2]
        if due_ms is None:
            return False
        if self._clock.elapsed_ms(outside=outside) < due_ms:
            self._watch(due_ms, outside=outside)
            return False
        del self._full[key]
        return True


def _in_turn(queues: dict[str, None], most: int) -> Iterator[str]:
    """Yield the first names; if there are more than ``most``, each goes to the end."""
    has_more = len(queues) > most
    for queue in list(islice(queues, most)):
        if has_more and queue in queues:
            del queues[queue]
            queues[queue] = None
        yield queue
