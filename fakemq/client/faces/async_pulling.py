"""Pulling by hand, of asynchronous programs: the pull consumer, and what a schedule pulls with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar, Unpack

from fakemq.awaited import must_be_awaited
from fakemq.client.consuming.pull import PullConsumerCore
from fakemq.client.consuming.pull_schedule import PULL_THREADS, PullScheduleCore, PullTaskContext
from fakemq.client.consuming.received import Pulled
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.base import AWAIT_TERMINATION_MS
from fakemq.client.faces.handlers import topic_of_decorator
from fakemq.client.faces.host import HostedCarrier
from fakemq.client.faces.options import PullOptions
from fakemq.client.faces.pull_base import ScheduleParts, pull_settings
from fakemq.client.faces.settings import settled_client
from fakemq.client.faces.signature import shows_options
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from collections.abc import Collection

    from fakemq.client.consuming.received import ReceivedMessage
    from fakemq.client.consuming.settings import Selector
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

T = TypeVar("T")


@must_be_awaited
class AsyncPulling:
    """Pulls from queues, and reads and commits their offsets, over a core that runs."""

    def _pulling(self) -> PullConsumerCore:
        raise NotImplementedError

    async def _run(self, task: Task[T]) -> T:
        raise NotImplementedError

    def _call(self, function: Callable[[], T]) -> T:
        raise NotImplementedError

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        expression: str | Selector = "*",
        *,
        max_messages: int = 32,
        timeout_ms: int | None = None,
    ) -> Pulled:
        """Pull from a queue; return at once, also without a message.

            pulled = await consumer.pull(queue, await consumer.fetch_consume_offset(queue) or 0)
            for message in pulled.messages: ...
            consumer.update_consume_offset(queue, pulled.next_begin_offset)

        Raise MQClientError for an expression or offset that cannot be.
        """
        core = self._pulling()
        return await self._run(
            core.pull(queue, offset, expression, max_messages=max_messages, timeout_ms=timeout_ms)
        )

    async def pull_block_if_not_found(
        self,
        queue: MessageQueue,
        offset: int,
        expression: str | Selector = "*",
        *,
        max_messages: int = 32,
    ) -> Pulled:
        """As `pull`, but let the broker wait ``broker_suspend_max_time_ms`` for a message."""
        core = self._pulling()
        return await self._run(
            core.pull_block_if_not_found(queue, offset, expression, max_messages=max_messages)
        )

    async def send_message_back(self, message: ReceivedMessage, delay_level: int = 0) -> bool:
        """Send a message back, to be tried again; return whether a broker has it."""
        return await self._run(self._pulling().send_message_back(message, delay_level))

    # -- queues and offsets -------------------------------------------------------

    def fetch_message_queues_in_balance(self, topic: str) -> list[MessageQueue]:
        """Return the queues of a topic that this member of the group has now, sorted."""
        core = self._pulling()
        return self._call(lambda: core.fetch_message_queues_in_balance(topic))

    async def fetch_subscribe_message_queues(self, topic: str) -> list[MessageQueue]:
        """Return all queues of a topic; raise MQClientError if there are none."""
        return await self._run(self._pulling().fetch_subscribe_message_queues(topic))

    async def fetch_consume_offset(
        self, queue: MessageQueue, *, from_store: bool = False
    ) -> int | None:
        """Return the committed offset of a queue, ``from_store`` that of the broker; None if it
        has none."""
        return await self._run(self._pulling().fetch_consume_offset(queue, from_store=from_store))

    def update_consume_offset(self, queue: MessageQueue, offset: int) -> None:
        """Commit an offset; the broker has it within 5 s."""
        core = self._pulling()
        self._call(lambda: core.update_consume_offset(queue, offset))

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return one more than the offset of the last message."""
        return await self._run(self._pulling().max_offset(queue))

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the first offset that is still stored."""
        return await self._run(self._pulling().min_offset(queue))

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the first message stored at or after a broker's time."""
        return await self._run(self._pulling().search_offset(queue, timestamp_ms))


class AsyncScheduledPulling(AsyncPulling):
    """What a function of a pull schedule pulls with."""

    def __init__(self, carrier: HostedCarrier, core: PullConsumerCore) -> None:
        self._core = core
        self._carrier = carrier

    def _pulling(self) -> PullConsumerCore:
        return self._core

    async def _run(self, task: Task[T]) -> T:
        return await self._carrier.run(task)

    def _call(self, function: Callable[[], T]) -> T:
        return self._carrier.call(function)


@shows_options("consuming.pull_settings:PullSettings")
@must_be_awaited
class AsyncPullConsumer(AsyncFace[PullConsumerCore], AsyncPulling):
    """Pulls messages queue by queue, when the program says so, and commits offsets by hand.

        async with AsyncPullConsumer(
            "127.0.0.1:9876", group="mirror", topics=["orders"]
        ) as consumer:
            for queue in consumer.fetch_message_queues_in_balance("orders"):
                offset = await consumer.fetch_consume_offset(queue) or 0
                pulled = await consumer.pull(queue, offset)
                consumer.update_consume_offset(queue, pulled.next_begin_offset)

    It is a `PullConsumer` whose methods are awaited if they need a broker.

    The queues of ``topics`` are divided among the members of the group. Consider
    `AsyncLitePullConsumer` first: it reads ahead.

    Source: client/consumer/DefaultMQPullConsumer.java (4.9.7)
    """

    _WHAT: ClassVar[str] = "consumer"

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        topics: Collection[str] = (),
        **options: Unpack[PullOptions],
    ) -> None:
        self.settings = pull_settings(type(self).__name__, options, group, topics)
        super().__init__(settled_client(namesrv_addr, options), group)

    def _make_core(self, services: ClientServices, carrier: HostedCarrier) -> PullConsumerCore:
        return PullConsumerCore(services, self.settings)

    def _pulling(self) -> PullConsumerCore:
        return self._running_core()

    def register_topic(self, topic: str) -> None:
        """Divide the queues of one more topic among the members of the group."""
        core = self._running_core()
        self._call(lambda: core.register_topic(topic))


# The pull schedule of asynchronous programs.

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
