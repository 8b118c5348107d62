"""The pull schedule: a function of the user for each topic, called again and again for each queue.

Source: client/consumer/MQPullConsumerScheduleService.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from fakemq.client.consuming.pull import PullConsumerCore
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.producing.namespace import unwrap_queue, wrap
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Perform, Signal, Task, Wait
from fakemq.config.checked import whole
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

PULL_THREADS = 20
NEXT_DELAY_MS = 200
"""Source: client/consumer/PullTaskContext.java#pullNextDelayTimeMillis (4.9.7)"""
AFTER_ERROR_MS = 1_000
SHORTEST_DELAY_MS = 1
"""Not in Java: inside a cluster a function that is called again at once, and finds nothing, would
be called for ever before its time moves."""

Consumer = TypeVar("Consumer")


class PullTaskContext(Generic[Consumer]):
    """What a function of the schedule gets besides its queue: the consumer to pull with.

    Source: client/consumer/PullTaskContext.java (4.9.7)
    """

    __slots__ = ("pull_consumer", "pull_next_delay_ms")

    def __init__(self, pull_consumer: Consumer) -> None:
        self.pull_consumer = pull_consumer
        self.pull_next_delay_ms = NEXT_DELAY_MS

    def set_pull_next_delay_ms(self, delay_ms: int) -> None:
        """Set how long after its return the function is called again, 200 ms by default.

        Raise ConfigError for anything but a whole number, 0 or more.
        """
        self.pull_next_delay_ms = whole("pull_next_delay_ms", delay_ms, 0)


PullTaskCallback: TypeAlias = Callable[[MessageQueue, PullTaskContext[Consumer]], object]
"""Pulls from a queue, processes what it finds, and updates the offset."""


class PullScheduleCore(Generic[Consumer]):
    """Calls a function for each queue that the consumer has, one call after the other.

    When a division adds a queue to the consumer its calls begin; when one is lost they end, after
    the call under way. At most ``pull_threads`` functions run at a time. ``shown`` is the
    consumer that functions get in their context; ``consumer`` is the core of it.
    """

    def __init__(
        self,
        services: ClientServices,
        settings: PullSettings,
        shown: Callable[[PullConsumerCore], Consumer],
        *,
        pull_threads: int = PULL_THREADS,
    ) -> None:
        self.services = services
        self.consumer = PullConsumerCore(services, settings)
        self.consumer.on_divided = self._divided
        self._shown = shown(self.consumer)
        self._callbacks: dict[str, PullTaskCallback[Consumer]] = {}
        self._scheduled: dict[MessageQueue, Signal] = {}
        """The queues whose function is called; each signal is set to end that."""
        self._threads = whole("pull_threads", pull_threads, 1)
        self._running = 0
        self._thread_free = Signal()

    @property
    def state(self) -> ServiceState:
        """That of its consumer."""
        return self.consumer.state

    @property
    def is_idle(self) -> bool:
        """Whether no function runs now."""
        return self._running == 0

    def register_pull_task_callback(self, topic: str, callback: PullTaskCallback[Consumer]) -> None:
        """Call ``callback`` for each of the consumer's queues of a topic.

        Another callback of the topic is replaced, from the next call on.
        """
        self._callbacks[wrap(self.consumer.settings.namespace, topic)] = callback
        self.consumer.register_topic(topic)

    def start(self) -> Task[None]:
        """Start the consumer, and the calls for the queues that it gets.

        Raise MQClientError as `PullConsumerCore.start` does.
        """
        yield from self.consumer.start()

    def shutdown(self, *, wait_ms: int = 0) -> Task[None]:
        """End the calls, store the offsets, and leave the group.

        Wait up to ``wait_ms`` for calls that are under way, whose offsets would be lost.
        """
        for ended in self._scheduled.values():
            ended.set()
        self._scheduled.clear()
        carrier = self.services.carrier
        until_ms = carrier.elapsed_ms() + wait_ms
        while self._running and (left_ms := until_ms - carrier.elapsed_ms()) > 0:
            self._thread_free.clear()
            yield Wait(self._thread_free, left_ms, "client_pull")
        yield from self.consumer.shutdown()

    def _divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> None:
        """Source: MQPullConsumerScheduleService.java#putTask (4.9.7)"""
        if not self.consumer.is_running:
            return
        wanted = dict.fromkeys(mine)
        for queue in [one for one in self._scheduled if one.topic == topic and one not in wanted]:
            self._scheduled.pop(queue).set()
        for queue in wanted:
            if queue not in self._scheduled:
                ended = self._scheduled[queue] = Signal()
                name = f"pull schedule {queue.topic} {queue.broker_name}"
                self.services.tasks.start(self._calling(queue, ended), name)

    def _calling(self, queue: MessageQueue, ended: Signal) -> Task[None]:
        """Call the topic's function until the queue is given up."""
        shown = unwrap_queue(queue, self.consumer.settings.namespace)
        while not ended.is_set:
            callback = self._callbacks.get(queue.topic or "")
            if callback is None:  # a topic that was pulled from, and not registered
                _log.warning("Pull Task Callback not exist , %s", queue.topic)
                return
            if self._running >= self._threads:
                self._thread_free.clear()
                yield Wait(self._thread_free)
                continue
            context = PullTaskContext(self._shown)
            self._running += 1
            try:
                yield Perform(callback, (shown, context))
            except GeneratorExit:  # cancelled: no other call begins
                self._running -= 1
                raise
            except BaseException:
                context.pull_next_delay_ms = AFTER_ERROR_MS
                _log.exception("doPullTask Exception")
            self._running -= 1
            self._thread_free.set()
            delay_ms = max(context.pull_next_delay_ms, SHORTEST_DELAY_MS)
            yield Wait(ended, delay_ms, "client_pull")
        _log.info("The Pull Task is cancelled, %s", queue)
