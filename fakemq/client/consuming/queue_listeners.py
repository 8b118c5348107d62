"""Listeners that are called when the queues of a topic have changed.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#fetchTopicMessageQueuesAndCompare
(4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fakemq.client.errors import MQClientError
from fakemq.client.tasks import Perform, Sleep, Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from fakemq.client.running_task import RunningTask
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

FIRST_CHECK_MS = 10_000

QueueListener: TypeAlias = Callable[[str, Sequence[MessageQueue]], object]
"""Takes a topic and its queues."""


def fetch_queues(services: ClientServices, topic: str) -> Task[Sequence[MessageQueue]]:
    """Ask a name server for the queues that a topic can be pulled from.

    Raise MQClientError if there are none.

    Source: client/impl/MQAdminImpl.java#fetchSubscribeMessageQueues (4.9.7)
    """
    route = yield from services.instance.update_route(topic)
    if route is None or not route.subscribe_queues:
        raise MQClientError(f"Can not find Message Queue for this topic, {topic}{FAQ}")
    return route.subscribe_queues


class QueueListeners:
    """The listeners of one consumer, by topic; names are those that the brokers know.

    Differs: Java calls a listener at each check while its topic has no queues, and one topic that
    fails keeps the others from being checked.
    """

    def __init__(
        self,
        services: ClientServices,
        interval_ms: int,
        shown: Callable[[MessageQueue], MessageQueue],
    ) -> None:
        self._services = services
        self._interval_ms = interval_ms
        self._shown = shown
        """Turns a queue into one whose topic is as the user knows it."""
        self._listeners: dict[str, QueueListener] = {}
        self._known: dict[str, Sequence[MessageQueue]] = {}
        self._running: RunningTask[None] | None = None

    def start(self) -> None:
        """Check from now on, first in 10 s."""
        self._running = self._services.tasks.start(self._checking(), "topic queues")

    def stop(self) -> None:
        """Check no more."""
        if self._running is not None:
            self._services.tasks.cancel(self._running)

    def add(self, topic: str, listener: QueueListener) -> None:
        """Set the listener of a topic."""
        if topic in self._listeners:
            _log.warning(
                "Topic %s had been registered, new listener will overwrite the old one", topic
            )
        self._listeners[topic] = listener

    def fetch(self, topics: Iterable[str] | None = None) -> Task[None]:
        """Remember the present queues of all topics with a listener, or of some."""
        for topic in list(self._listeners if topics is None else topics):
            self._known[topic] = yield from fetch_queues(self._services, topic)

    def _checking(self) -> Task[None]:
        yield Sleep(FIRST_CHECK_MS, "client_queues")
        while True:
            for topic in list(self._listeners):
                try:
                    yield from self._check(topic)
                except Exception:
                    _log.exception("ScheduledTask fetchMessageQueuesAndCompare exception")
            yield Sleep(self._interval_ms, "client_queues")

    def _check(self, topic: str) -> Task[None]:
        queues = yield from fetch_queues(self._services, topic)
        before = self._known.get(topic)
        if before is not None and set(before) == set(queues):
            return
        self._known[topic] = queues
        shown = [self._shown(queue) for queue in queues]
        yield Perform(self._listeners[topic], (self._shown(queues[0]).topic or "", shown))
