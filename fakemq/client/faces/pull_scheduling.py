"""The pull schedule of programs with threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar, Unpack

from fakemq.client.consuming.pull_schedule import PULL_THREADS, PullScheduleCore, PullTaskContext
from fakemq.client.faces.base import AWAIT_TERMINATION_MS
from fakemq.client.faces.blocking_base import BlockingFace
from fakemq.client.faces.handlers import topic_of_decorator
from fakemq.client.faces.options import PullOptions
from fakemq.client.faces.pull_base import ScheduleParts
from fakemq.client.faces.pulling import ScheduledPulling
from fakemq.client.faces.signature import shows_options
from fakemq.client.faces.user_threads import UserThreads
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.carriers.blocking import ThreadCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

PullTask: TypeAlias = Callable[[MessageQueue, PullTaskContext[ScheduledPulling]], object]
"""Pulls from a queue by ``context.pull_consumer``, processes, and updates the queue's offset."""

F = TypeVar("F", bound=PullTask)


@shows_options("consuming.pull_settings:PullSettings")
class PullScheduling(BlockingFace[PullScheduleCore[ScheduledPulling]]):
    """Calls a function for each queue that this member of the group has, again and again.

        scheduling = PullScheduling("127.0.0.1:9876", group="mirror")

        @scheduling.on("orders")
        def copy(queue: MessageQueue, context: PullTaskContext[ScheduledPulling]) -> None:
            consumer = context.pull_consumer
            pulled = consumer.pull(queue, consumer.fetch_consume_offset(queue) or 0)
            print([message.body for message in pulled.messages])
            consumer.update_consume_offset(queue, pulled.next_begin_offset)
            context.pull_next_delay_ms = 100

        with scheduling:
            scheduling.wait()

    A function is called for one queue after its delay, 200 ms by default, or 1 s after it has
    raised. Up to ``pull_threads`` run at the same time.

    Source: client/consumer/MQPullConsumerScheduleService.java (4.9.7)
    """

    _WHAT: ClassVar[str] = "consumer"

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        callbacks: Mapping[str, PullTask] | None = None,
        pull_threads: int = PULL_THREADS,
        await_termination_ms_when_shutdown: int = AWAIT_TERMINATION_MS,
        **options: Unpack[PullOptions],
    ) -> None:
        self._parts = parts = ScheduleParts(
            *(type(self).__name__, namesrv_addr, group, callbacks, pull_threads),
            await_termination_ms_when_shutdown,
            options,
            may_await=False,
        )
        super().__init__(parts.client, group, threads=parts.pull_threads)
        for topic, function in (callbacks or {}).items():
            self.register_pull_task_callback(topic, function)

    def register_pull_task_callback(self, topic: str, callback: PullTask) -> None:
        """Call a function for each queue of a topic; also while it runs."""
        self._parts.check(topic, callback)
        called = _Called(callback, self._user_threads)
        self._parts.callbacks[topic] = called
        if self._life is not None:
            core = self._running_core()
            self._call(lambda: core.register_pull_task_callback(topic, called))

    def on(self, topic: str) -> Callable[[F], F]:
        """Decorate the function for a topic."""
        topic = topic_of_decorator(topic, "@scheduling.on")

        def register(function: F) -> F:
            self.register_pull_task_callback(topic, function)
            return function

        return register

    # -- its core -------------------------------------------------------------------

    def _make_core(
        self, services: ClientServices, carrier: ThreadCarrier
    ) -> PullScheduleCore[ScheduledPulling]:
        return self._parts.make_core(services, partial(ScheduledPulling, carrier))

    def _end_of(self, core: PullScheduleCore[ScheduledPulling]) -> Callable[[], Task[None]]:
        return partial(core.shutdown, wait_ms=self._parts.wait_ms)


class _Called:
    """A function of the schedule, with a note of which threads run it."""

    def __init__(self, function: PullTask, user_threads: UserThreads) -> None:
        self._function = function
        self._user_threads = user_threads

    def __call__(self, queue: MessageQueue, context: PullTaskContext[ScheduledPulling]) -> None:
        with self._user_threads.calling():
            self._function(queue, context)
