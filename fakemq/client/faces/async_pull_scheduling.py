"""The pull schedule of asynchronous programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar, Unpack

from fakemq.client.consuming.pull_schedule import PULL_THREADS, PullScheduleCore, PullTaskContext
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.async_pulling import AsyncScheduledPulling
from fakemq.client.faces.base import AWAIT_TERMINATION_MS
from fakemq.client.faces.handlers import topic_of_decorator
from fakemq.client.faces.options import PullOptions
from fakemq.client.faces.pull_base import ScheduleParts
from fakemq.client.faces.signature import shows_options
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.faces.host import HostedCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

AsyncPullTask: TypeAlias = Callable[
    [MessageQueue, PullTaskContext[AsyncScheduledPulling]], Awaitable[object]
]
"""Pulls from a queue by ``context.pull_consumer``, processes, and updates the queue's offset."""

F = TypeVar("F", bound=AsyncPullTask)


@shows_options("consuming.pull_settings:PullSettings")
class AsyncPullScheduling(AsyncFace[PullScheduleCore[AsyncScheduledPulling]]):
    """Calls a function for each queue that this member of the group has, again and again.

        scheduling = AsyncPullScheduling("127.0.0.1:9876", group="mirror")

        @scheduling.on("orders")
        async def copy(
            queue: MessageQueue, context: PullTaskContext[AsyncScheduledPulling]
        ) -> None:
            consumer = context.pull_consumer
            pulled = await consumer.pull(queue, await consumer.fetch_consume_offset(queue) or 0)
            print([message.body for message in pulled.messages])
            consumer.update_consume_offset(queue, pulled.next_begin_offset)
            context.pull_next_delay_ms = 100

        async with scheduling:
            await scheduling.wait()

    It is a `PullScheduling` whose functions are async, and whose methods are awaited if they need a
    broker. If the block is cancelled, its functions are cancelled, too.

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
        callbacks: Mapping[str, AsyncPullTask] | None = None,
        pull_threads: int = PULL_THREADS,
        await_termination_ms_when_shutdown: int = AWAIT_TERMINATION_MS,
        **options: Unpack[PullOptions],
    ) -> None:
        self._parts = parts = ScheduleParts(
            *(type(self).__name__, namesrv_addr, group, callbacks, pull_threads),
            await_termination_ms_when_shutdown,
            options,
            may_await=True,
        )
        super().__init__(parts.client, group, threads=parts.pull_threads)
        for topic, function in (callbacks or {}).items():
            self.register_pull_task_callback(topic, function)

    def register_pull_task_callback(self, topic: str, callback: AsyncPullTask) -> None:
        """Call a function for each queue of a topic; also while it runs."""
        self._parts.check(topic, callback)
        user_tasks = self._user_tasks

        async def called(
            queue: MessageQueue, context: PullTaskContext[AsyncScheduledPulling]
        ) -> None:
            with user_tasks.calling():
                await callback(queue, context)

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
        self, services: ClientServices, carrier: HostedCarrier
    ) -> PullScheduleCore[AsyncScheduledPulling]:
        return self._parts.make_core(services, partial(AsyncScheduledPulling, carrier))

    def _end_of(self, core: PullScheduleCore[AsyncScheduledPulling]) -> Callable[[], Task[None]]:
        return partial(core.shutdown, wait_ms=self._parts.wait_ms)
