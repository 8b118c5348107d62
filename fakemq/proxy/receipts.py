"""Receipt handles: what a client returns to acknowledge a message, and their renewal.

Messages of push consumers are invisible for a short time only. The front prolongs it while their
client is there: it remembers the newest handle of each, by the first one, which the client has. A
message that is being renewed is locked: a request with its handle waits for the new one. A renewal
ends within the 2 s that a broker has, so Java's 3 s for the lock are never over here.

Source: common/consumer/ReceiptHandle.java, proxy/common/ReceiptHandleGroup.java,
proxy/service/receipt/DefaultReceiptHandleManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.clock.slices import called_each, leaving
from fakemq.clock.timers import next_tick_ms
from fakemq.later import Later
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.pop import pop_retry_topic
from fakemq.proxy.status import RpcError, java_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.journal.journal import Journal
    from fakemq.later import Waits
    from fakemq.proxy.clients import Clients

_PARTS: Final = 8

# Source: proxy/config/ProxyConfig.java (5.5.0)
RENEW_PERIOD_MS: Final = 5_000
RENEW_AHEAD_MS: Final = 10_000
RENEW_MAX_MS: Final = 10_800_000
RENEW_RETRIES: Final = 3
AUTO_INVISIBLE_MS: Final = 60_000
CLEAR_INVISIBLE_MS: Final = 1_000
_RENEW_STEPS_MS: Final = (60_000, 180_000, 300_000, 600_000, 1_800_000, 3_600_000)
"""Source: proxy/common/RenewStrategyPolicy.java (5.5.0)"""


class ReceiptHandle(NamedTuple):
    """Which pop a message came from, and where it is; ``text`` is the handle itself."""

    start_offset: int
    retrieved_ms: int
    invisible_ms: int
    revive_queue_id: int
    kind: str
    broker_name: str
    queue_id: int
    offset: int
    log_offset: int
    text: str

    @property
    def visible_at_ms(self) -> int:
        return self.retrieved_ms + self.invisible_ms

    def topic_of(self, topic: str, group: str) -> str:
        """Return where the message really is: ``topic``, or its retry topic for the group."""
        if self.kind in ("1", "2"):
            return pop_retry_topic(topic, group, v2=self.kind == "2")
        return topic


def decode(text: str) -> ReceiptHandle:
    """Return what a handle says; raise RpcError for a text that is none."""
    said = text.rstrip(" ")
    parts = said.split(" ", _PARTS + 1) if said or not text else []  # as Java's split
    if len(parts) < _PARTS:
        raise java_error(
            f"Parse failed, dataList size {len(parts)}",
            "IllegalArgumentException",
            "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)",
        )
    start, retrieved, invisible, revive_queue, kind, broker_name, queue, offset = parts[:_PARTS]
    try:
        return ReceiptHandle(
            parse_long(start),
            parse_long(retrieved),
            parse_long(invisible),
            parse_int(revive_queue),
            kind,
            broker_name,
            parse_int(queue),
            parse_long(offset),
            parse_long(parts[_PARTS]) if len(parts) > _PARTS else -1,
            text,
        )
    except NumberFormatError as error:
        raise java_error(
            str(error),
            "NumberFormatException",
            "java.base/java.lang.NumberFormatException.forInputString"
            "(NumberFormatException.java:67)",
        ) from None


class Renewed:
    """A message whose invisible time is prolonged."""

    __slots__ = (
        *("_waiting", "busy", "client_id", "first_ms", "group", "handle"),
        *("lite_topic", "reconsume_times", "renewals", "retries", "topic"),
    )

    def __init__(
        self,
        client_id: str,
        group: str,
        topic: str,
        handle: ReceiptHandle,
        reconsume_times: int,
        lite_topic: str | None = None,
    ) -> None:
        self.client_id = client_id
        self.group = group
        self.topic = topic
        self.lite_topic = lite_topic
        self.handle = handle
        """The newest one."""
        self.first_ms = handle.retrieved_ms
        self.reconsume_times = reconsume_times
        self.renewals = 0
        self.retries = 0
        self.busy = False
        """Whether a renewal is under way."""
        self._waiting: list[Callable[[], None]] = []

    def until_free(self, journal: Journal) -> Later[None]:
        """Return what is there when the renewal is over; what follows keeps its present cause."""
        later: Later[None] = Later()
        within = journal.resume()

        def free() -> None:
            with within():
                later.resolve(None)

        self._waiting.append(free)
        return later

    def set_free(self, clock: NodeClock) -> None:
        """End the renewal: what waits for it continues, in its order."""
        self.busy = False
        waiting, self._waiting = self._waiting, []
        clock.carry_out(called_each(waiting), peer=self, count=len(waiting))


_Place = tuple[str, str, str, str, int, int]
"""Client id, group, message id, and broker name, queue id and offset of the message."""


class Renewals:
    """The messages of push consumers, whose time the front prolongs.

    ``change`` sets the invisible time of a message to this number of ms from now, and says why;
    its value is the new handle. ``retry_delay_ms`` says when a message that took too long is tried
    again.
    """

    def __init__(
        self,
        clock: NodeClock,
        journal: Journal,
        clients: Clients,
        *,
        change: Callable[[Renewed, int, str], Later[ReceiptHandle]],
        retry_delay_ms: Callable[[str, int], int | None],
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._clients = clients
        self._change = change
        self._retry_delay_ms = retry_delay_ms
        self._by_client: dict[str, dict[_Place, Renewed]] = {}
        self._started_ms = 0
        self._timer: Timer | None = None
        self._looks = False
        """Whether a look is under way; at its end it sets the timer of the next."""

    def start(self) -> None:
        """Let the grid of renewals begin now."""
        self._started_ms = self._clock.elapsed_ms()

    def add(
        self,
        client_id: str,
        group: str,
        topic: str,
        message_id: str,
        handle: ReceiptHandle,
        reconsume_times: int,
        lite_topic: str | None = None,
    ) -> None:
        """Prolong the time of a message from now on."""
        place = _place(client_id, group, message_id, handle)
        of_client = self._by_client.setdefault(client_id, {})
        renewed = Renewed(client_id, group, topic, handle, reconsume_times, lite_topic)
        of_client[place] = renewed
        self._set_timer(handle.visible_at_ms if self._has_member(renewed) else 0)

    def take(
        self, client_id: str, group: str, message_id: str, handle: ReceiptHandle
    ) -> Waits[ReceiptHandle]:
        """Renew a message no more; return its newest handle, ``handle`` if it was not renewed."""
        newest = yield from self.remove(client_id, group, message_id, handle)
        return handle if newest is None else newest

    def remove(
        self, client_id: str, group: str, message_id: str, handle: ReceiptHandle
    ) -> Waits[ReceiptHandle | None]:
        """Renew a message no more; return its newest handle, None if it was not renewed."""
        place = _place(client_id, group, message_id, handle)
        while True:
            renewed = self._by_client.get(client_id, {}).get(place)
            if renewed is None:
                return None
            if not renewed.busy:
                self._forget(place, renewed)
                return renewed.handle
            yield renewed.until_free(self._journal)

    def client_left(self, client_id: str) -> None:
        """Let the messages of a client become visible soon.

        One that is being renewed has no handle for that now: it follows at the next look.
        """
        of_client = list(self._by_client.get(client_id, {}).items())
        self._clock.carry_out(
            self._return_each(of_client), peer=leaving(client_id), count=len(of_client)
        )

    def _return_each(self, of_client: Iterable[tuple[_Place, Renewed]]) -> Steps[None]:
        for place, renewed in of_client:
            if self._is_here(place, renewed):  # else it was acknowledged meanwhile
                self._return(place, renewed)
            yield

    def _return(self, place: _Place, renewed: Renewed) -> None:
        """Source: DefaultReceiptHandleManager.java#returnHandleGroup (5.5.0)"""
        if not renewed.busy:
            self._forget(place, renewed)
            self._change(renewed, CLEAR_INVISIBLE_MS, "client left")

    def _has_member(self, renewed: Renewed) -> bool:
        """Return whether the client of a message is a member of the message's group."""
        return self._clients.consumer(renewed.group, renewed.client_id) is not None

    def _is_here(self, place: _Place, renewed: Renewed) -> bool:
        return self._by_client.get(place[0], {}).get(place) is renewed

    def count(self, client_id: str, group: str) -> int:
        """Return how many messages of a client in a group are renewed."""
        of_client = self._by_client.get(client_id, {})
        return sum(place[1] == group for place in of_client)

    def client_ids(self) -> Iterator[str]:
        """Iterate over the clients that have messages here."""
        yield from list(self._by_client)

    def renewed(self) -> Iterator[tuple[str, Renewed]]:
        """Iterate over the messages whose time is prolonged, each with its message id."""
        for of_client in self._by_client.values():
            for place, renewed in of_client.items():
                yield place[2], renewed

    def clear(self) -> None:
        """Renew nothing any more."""
        self._by_client.clear()
        self._clock.drop_of(self)
        self._looks = False  # a look that is dropped before its first step does not say so itself
        self._clock.cancel(self._timer)
        self._timer = None

    # -- renewing -----------------------------------------------------------------------------

    def _set_timer(self, visible_at_ms: int) -> None:
        """Look at the first tick of the grid at which this message is to be renewed."""
        clock = self._clock
        now_ms = clock.elapsed_ms()
        due_ms = next_tick_ms(
            now_ms + max(1, visible_at_ms - clock.now_ms() - RENEW_AHEAD_MS),
            self._started_ms,
            0,
            RENEW_PERIOD_MS,
        )
        timer = self._timer
        if timer is not None and timer.pending:
            if timer.due_ms <= due_ms:
                return
            clock.cancel(timer)
        self._timer = clock.call_later(due_ms - now_ms, self._look, kind="grpc_renew")

    def _look(self) -> None:
        self._timer = None
        if not self._looks:
            self._looks = True
            self._clock.carry_out(self._look_at_each(), peer=self)

    def _look_at_each(self) -> Steps[None]:
        now_ms, first_ms = self._clock.now_ms(), None
        try:
            for of_client in list(self._by_client.values()):
                for place, renewed in list(of_client.items()):
                    if self._is_here(place, renewed):
                        self._look_at(place, renewed, now_ms)
                    if self._is_here(place, renewed):
                        next_ms = renewed.handle.visible_at_ms
                        first_ms = next_ms if first_ms is None else min(first_ms, next_ms)
                    yield
        finally:
            self._looks = False
        if first_ms is not None:
            self._set_timer(first_ms)

    def _look_at(self, place: _Place, renewed: Renewed, now_ms: int) -> None:
        if not self._has_member(renewed):
            self._return(place, renewed)
        elif not renewed.busy and renewed.handle.visible_at_ms - now_ms <= RENEW_AHEAD_MS:
            self._renew(place, renewed, now_ms)

    def _renew(self, place: _Place, renewed: Renewed, now_ms: int) -> None:
        """Source: DefaultReceiptHandleManager.java#startRenewMessage (5.5.0)"""
        is_last = now_ms - renewed.first_ms >= RENEW_MAX_MS
        ms: int | None
        if is_last:
            ms, why = self._retry_delay_ms(renewed.group, renewed.reconsume_times), "took too long"
        else:
            ms, why = _RENEW_STEPS_MS[min(renewed.renewals, len(_RENEW_STEPS_MS) - 1)], "renewed"
        if renewed.retries >= RENEW_RETRIES or ms is None:
            self._forget(place, renewed)
            return
        renewed.busy = True
        later = self._change(renewed, ms, why)

        def changed() -> None:
            value = later.value
            if is_last or (isinstance(value, RpcError) and value.is_final):
                self._forget(place, renewed)
            elif isinstance(value, ReceiptHandle):
                renewed.handle = value
                renewed.retries = 0
                renewed.renewals += 1
                if self._is_here(place, renewed):
                    self._set_timer(value.visible_at_ms)
            else:
                renewed.retries += 1
            renewed.set_free(self._clock)

        later.when_done(changed)

    def _forget(self, place: _Place, renewed: Renewed) -> None:
        of_client = self._by_client.get(place[0], {})
        if of_client.get(place) is renewed:
            del of_client[place]
            if not of_client:
                del self._by_client[place[0]]


def _place(client_id: str, group: str, message_id: str, handle: ReceiptHandle) -> _Place:
    return client_id, group, message_id, handle.broker_name, handle.queue_id, handle.offset
