"""The lite pull consumer of asynchronous programs."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from fakemq.awaited import must_be_awaited
from fakemq.client.consuming.lite_pull import LitePullConsumerCore
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.errors import MQClientError
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.lite_base import Committing, LiteFace, LoopProgress, to_commit
from fakemq.client.faces.signature import shows_options
from fakemq.client.service_state import ServiceState
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.consuming.lite_queues import MessageQueueListener
    from fakemq.client.consuming.queue_listeners import QueueListener
    from fakemq.client.consuming.read_ahead import LitePoll
    from fakemq.client.consuming.settings import Selector
    from fakemq.client.faces.host import HostedCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task


@shows_options("consuming.lite_settings:LitePullSettings")
@must_be_awaited
class AsyncLitePullConsumer(LiteFace, AsyncFace[LitePullConsumerCore]):
    """Reads messages ahead, and returns them when the program polls.

        async with AsyncLitePullConsumer(
            "127.0.0.1:9876", group="reports", subscribe={"orders": "*"}, consume_from="first"
        ) as consumer:
            for message in await consumer.poll(timeout_ms=1_000):
                print(message.topic, message.queue_id, message.queue_offset, message.body)

    It is a `LitePullConsumer` whose methods are awaited, on asyncio or trio, with the same options;
    those that need no broker, such as `assignment`, `pause` and `resume`, are not.

    `subscribe` divides the queues of topics among the members of the group; `assign` chooses queues
    by hand. A consumer does one or the other. With ``auto_commit``, the default, a poll commits
    what earlier polls have returned, every ``auto_commit_interval_ms``; otherwise `commit` does.

        async for message in consumer:   # polls for ever, until another task shuts it down
            print(message.body)

    ``namesrv_addr`` is ``host:port``, several joined by ``;``; None is the environment's
    NAMESRV_ADDR.

    Source: client/consumer/DefaultLitePullConsumer.java (4.9.7)
    """

    _WHAT: ClassVar[str] = "consumer"

    def _make_core(self, services: ClientServices, carrier: HostedCarrier) -> LitePullConsumerCore:
        return self._parts.make_core(services)

    def _end_of(self, core: LitePullConsumerCore) -> Callable[[], Task[None]]:
        return partial(self._parts.progress.end, core)

    # -- which queues -----------------------------------------------------------

    async def subscribe(
        self,
        topic: str,
        expression: str | Selector = "*",
        listener: MessageQueueListener | None = None,
    ) -> None:
        """Read one more topic, or other messages of it; also while it runs.

        ``listener`` is called with a topic, all its queues and those of this consumer whenever
        these have changed; the last one set counts. Raise MQClientError after `assign`.
        """
        self._parts.check_listener(listener, ("topic", "all_queues", "own_queues"))
        if self._life is not None:
            await self._run(self._running_core().subscribe(topic, expression, listener))
            return
        self._parts.subscribe(topic, expression, listener)

    async def fetch_message_queues(self, topic: str) -> list[MessageQueue]:
        """Return all queues of a topic; raise MQClientError if there are none."""
        return await self._run(self._running_core().fetch_message_queues(topic))

    async def register_topic_message_queue_change_listener(
        self, topic: str, listener: QueueListener
    ) -> None:
        """Call ``listener`` with a topic and its queues when these have changed, within 30 s."""
        self._parts.check_listener(listener, ("topic", "queues"))
        core = self._running_core()
        await self._run(core.register_topic_message_queue_change_listener(topic, listener))

    # -- messages ---------------------------------------------------------------

    async def poll(self, timeout_ms: int | None = None) -> list[ReceivedMessage]:
        """Return the messages of one pull; wait for them, and return none after ``timeout_ms``.

        By default it waits ``poll_timeout_ms`` (5 s). It returns none if another thread shuts the
        consumer down.
        """
        core = self._running_core()
        self._parts.progress.forget()
        return await self._polled(core.polling(timeout_ms))

    async def _polled(self, polling: LitePoll) -> list[ReceivedMessage]:
        try:
            return await self._run(polling.task())
        except BaseException:
            # Cancelled or interrupted in the moment in which messages came: the next poll returns
            # them.
            with suppress(MQClientError):
                self._call(polling.put_back)
            raise

    def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        """Return an iterator that polls, until it is shut down.

        With ``auto_commit`` a shutdown commits the messages behind which the loop has asked for the
        next one. Without, `commit` what is done: ``await consumer.commit(message)``. After a seek,
        or when its queue is read no longer, the loop leaves the rest of a poll out.
        """
        return _PollLoop(self, self._running_core(), self._parts.progress)

    # -- offsets ----------------------------------------------------------------

    async def commit(self, what: Committing = None, *, persist: bool = True) -> None:
        """Commit what polls have returned; of some queues, or up to a message, or own offsets.

            await consumer.commit()                # everything that polls have returned
            await consumer.commit([queue])         # of these queues
            await consumer.commit({queue: 100})    # the next message has offset 100
            await consumer.commit(message)         # this one, and those before it in its queue

        With ``persist`` it is sent to the broker at once, otherwise within 5 s. A failure is in the
        log, as in Java; then it is sent again every 5 s, as long as the queue is here.
        """
        await self._run(self._running_core().commit(to_commit(what), persist=persist))

    async def committed(self, queue: MessageQueue) -> int | None:
        """Return the committed offset of a queue; None if it has none."""
        return await self._run(self._running_core().committed(queue))

    async def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue a queue at an offset; what was read ahead of it is dropped."""
        await self._run(self._running_core().seek(queue, offset))

    async def seek_to_begin(self, queue: MessageQueue) -> None:
        """Continue a queue at its first message."""
        await self._run(self._running_core().seek_to_begin(queue))

    async def seek_to_end(self, queue: MessageQueue) -> None:
        """Continue a queue behind its last message."""
        await self._run(self._running_core().seek_to_end(queue))

    async def offset_for_timestamp(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the first message stored at or after a broker's time."""
        return await self._run(self._running_core().offset_for_timestamp(queue, timestamp_ms))


class _PollLoop:
    """One loop over what a consumer polls; no generator, because a loop may be left unfinished."""

    def __init__(
        self, consumer: AsyncLitePullConsumer, core: LitePullConsumerCore, progress: LoopProgress
    ) -> None:
        self._consumer = consumer
        self._core = core
        self._progress = progress
        self._polling = core.polling()
        self._messages: deque[ReceivedMessage] = deque()
        self._current: ReceivedMessage | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ReceivedMessage:
        if self._current is not None:
            self._progress.finished(self._current, self._polling)
            self._current = None
        if not self._polling.is_valid:
            self._messages.clear()
        while not self._messages:
            self._messages.extend(await self._polled())
        self._current = self._messages.popleft()
        return self._current

    async def _polled(self) -> list[ReceivedMessage]:
        consumer, core = self._consumer, self._core
        try:
            if core.is_running:
                self._polling = core.polling()
                return await consumer._polled(self._polling)
        except MQClientError:
            if consumer.state is ServiceState.RUNNING:
                raise
        raise StopAsyncIteration
