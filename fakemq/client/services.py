"""What the producers and consumers of one client id share: their instance, tasks and loops.

Source: client/impl/factory/MQClientInstance.java#start, #startScheduledTask (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.instance import ClientInstance
from fakemq.client.running_task import Tasks
from fakemq.client.tasks import Signal, Sleep, Task, Wait
from fakemq.protocol.bodies.heartbeat import ConsumerData
from fakemq.protocol.codes import ResponseCode, code_name
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.topics import FAQ, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.client.carrier import Answer, Carrier

_log = logging.getLogger("fakemq.client")

FIRST_ROUTES_MS = 10
FIRST_HEARTBEAT_MS = 1_000
FIRST_PERSIST_MS = 10_000
REBALANCE_MS = 20_000
"""Source: client/impl/consumer/RebalanceService.java#waitInterval (4.9.7)"""
REBALANCES_MOST, REBALANCE_REST_MS, REBALANCES_AFTER_REST = 100, 1_000, 10
"""After 100 divisions in a row, each because a broker asked for it, the next one comes a second
later, and then one second after every 11. A group of a test changes often at one moment of a clock
that stands. Differs: Java divides as often as brokers say that members changed."""


class ProducerMember(Protocol):
    """What the services need of a producer."""

    group: str

    def topics(self) -> Iterable[str]:
        """Return the topics whose routes are kept fresh."""


class ConsumerMember(Protocol):
    """What the services need of a consumer, push or lite pull."""

    group: str

    def topics(self) -> Iterable[str]:
        """Return the topics whose routes are kept fresh."""

    def consumer_data(self) -> ConsumerData:
        """Return its part of the heartbeat."""

    def rebalance(self) -> Task[None]:
        """Divide the queues among the group's members anew."""

    def persist_offsets(self) -> Task[None]:
        """Commit the offsets of its queues."""


class ClientServices:
    """One client: `instance` is its view of the cluster, `tasks` what it does all the time.

    Producers and consumers register by group; a group that is taken raises MQClientError. The
    loops run from the first `start` to the last `shutdown`. All methods are called on the thread
    of the carrier.

    Source: client/impl/factory/MQClientInstance.java (4.9.7)
    """

    def __init__(self, instance: ClientInstance, carrier: Carrier) -> None:
        self.instance = instance
        self.carrier = carrier
        self.tasks = Tasks(carrier)
        self.producers: dict[str, ProducerMember] = {}
        self.consumers: dict[str, ConsumerMember] = {}
        self.closed = False
        self._started = False
        self._rebalance_now = Signal()
        carrier.on_request = self._handle

    # -- members --------------------------------------------------------------

    def register_producer(self, member: ProducerMember) -> None:
        """Enter a producer; raise MQClientError if its group has one in this client."""
        if member.group in self.producers:
            raise MQClientError(
                f"The producer group[{member.group}] has been created before,"
                f" specify another name please.{FAQ}"
            )
        self.producers[member.group] = member
        self.instance.producer_groups[member.group] = None

    def register_consumer(self, member: ConsumerMember) -> None:
        """Enter a consumer; raise MQClientError if its group has one in this client."""
        if member.group in self.consumers:
            raise MQClientError(
                f"The consumer group[{member.group}] has been created before,"
                f" specify another name please.{FAQ}"
            )
        self.consumers[member.group] = member

    def forget_producer(self, group: str) -> None:
        """Take a registration back of which no broker knows."""
        self.producers.pop(group, None)
        self.instance.producer_groups.pop(group, None)

    def forget_consumer(self, group: str) -> None:
        """Take a registration back of which no broker knows."""
        self.consumers.pop(group, None)
        self.instance.consumers.pop(group, None)

    def unregister_producer(self, group: str) -> Task[None]:
        """Leave a group as a producer, also at the brokers."""
        self.forget_producer(group)
        yield from self.instance.unregister(producer_group=group)

    def unregister_consumer(self, group: str) -> Task[None]:
        """Leave a group as a consumer, also at the brokers."""
        self.forget_consumer(group)
        yield from self.instance.unregister(consumer_group=group)

    @property
    def is_used(self) -> bool:
        """Whether a producer or consumer is registered."""
        return bool(self.producers or self.consumers)

    # -- requests of brokers --------------------------------------------------

    def _handle(self, addr: str, request: RemotingCommand, answer: Answer) -> None:
        """Answer a broker's request, at once or when its task ends."""
        handler = self.instance.task_handlers.get(request.code)
        if handler is None:
            response = self.instance.handle(addr, request)
            if response is not None:
                answer(response)
            return

        def done(response: RemotingCommand | None, error: BaseException | None) -> None:
            if error is not None:
                _log.error("the handler of %s failed", code_name(request.code), exc_info=error)
                remark = f"{type(error).__name__}: {error}"
                response = RemotingCommand(ResponseCode.SYSTEM_ERROR, remark=remark)
            completed = self.instance.completed(request, response)
            if completed is not None:
                answer(completed)

        self.tasks.start(handler(addr, request), code_name(request.code), done)

    # -- life -----------------------------------------------------------------

    def start(self) -> None:
        """Start the loops; do nothing if they run."""
        if self._started:
            return
        self._started = True
        interval_ms = self.instance.config.route_interval_ms
        self._loop("routes", FIRST_ROUTES_MS, interval_ms, self.update_routes, "client_routes")
        self._loop(
            "heartbeats",
            FIRST_HEARTBEAT_MS,
            self.instance.config.heartbeat_interval_ms,
            self.heartbeat,
            "heartbeat",
        )
        self._loop(
            "offsets",
            FIRST_PERSIST_MS,
            self.instance.config.persist_interval_ms,
            self.persist_offsets,
            "client_persist",
        )
        self.tasks.start(self._rebalancing(), "rebalance")

    def shutdown(self) -> None:
        """End every task. Members have unregistered before."""
        self.closed = True
        self.tasks.cancel_all()

    # -- loops ----------------------------------------------------------------

    def update_routes(self) -> Task[None]:
        """Ask for the routes of all topics in use.

        Source: MQClientInstance.java#updateTopicRouteInfoFromNameServer (4.9.7)
        """
        topics: dict[str, None] = {}
        for member in (*self.consumers.values(), *self.producers.values()):
            topics.update(dict.fromkeys(member.topics()))
        for topic in topics:
            try:
                yield from self.instance.update_route(topic)
            except (RemotingError, MQBrokerError, MQClientError) as error:
                _log.warning("no route of %s: %s", topic, error)

    def first_routes(self, topics: Iterable[str]) -> Task[None]:
        """Ask for the routes of topics; raise RemotingError if no name server answers.

        Differs: Java logs it, and asks again 30 s later.
        """
        for topic in list(topics):
            try:
                yield from self.instance.update_route(topic)
            except (MQBrokerError, MQClientError) as error:
                if not topic.startswith(RETRY_PREFIX):
                    _log.warning("no route of %s: %s", topic, error)

    def heartbeat(self) -> Task[None]:
        """Send heartbeats to all known brokers, with the present subscriptions."""
        for group, member in self.consumers.items():
            self.instance.consumers[group] = member.consumer_data()
        yield from self.instance.heartbeat()

    def persist_offsets(self) -> Task[None]:
        """Commit the offsets of all consumers."""
        for member in list(self.consumers.values()):
            yield from member.persist_offsets()

    def rebalance_soon(self) -> None:
        """Divide queues anew now, instead of in 20 s.

        Source: MQClientInstance.java#rebalanceImmediately (4.9.7)
        """
        self._rebalance_now.set()

    def rebalance(self) -> Task[None]:
        """Divide the queues of all consumers anew."""
        for member in list(self.consumers.values()):
            try:
                yield from member.rebalance()
            except (RemotingError, MQBrokerError, MQClientError) as error:
                _log.warning("the queues of %s were not divided: %s", member.group, error)
            except Exception:
                _log.exception("the queues of %s were not divided", member.group)

    def _rebalancing(self) -> Task[None]:
        left = REBALANCES_MOST
        while True:
            is_asked = yield Wait(self._rebalance_now, REBALANCE_MS, "client_rebalance")
            if not is_asked:
                left = REBALANCES_MOST
            elif left:
                left -= 1
            else:
                yield Sleep(REBALANCE_REST_MS, "client_rebalance")
                left = REBALANCES_AFTER_REST
            self._rebalance_now.clear()
            yield from self.rebalance()

    def _loop(
        self,
        name: str,
        first_ms: int,
        interval_ms: int,
        once: Callable[[], Task[Any]],
        kind: str,
    ) -> None:
        self.tasks.start(self._repeat(first_ms, interval_ms, once, kind), name)

    def _repeat(
        self, first_ms: int, interval_ms: int, once: Callable[[], Task[Any]], kind: str
    ) -> Task[None]:
        yield Sleep(first_ms, kind)
        while True:
            try:
                yield from once()
            except (RemotingError, MQBrokerError, MQClientError) as error:
                _log.warning("%s: %s", kind, error)
            except Exception:  # a loop that ended would end the client without a sign
                _log.exception("%s failed", kind)
            yield Sleep(interval_ms, kind)
