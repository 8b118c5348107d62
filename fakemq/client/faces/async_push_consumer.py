"""The push consumer of asynchronous programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar, Unpack, cast

from fakemq.client.arguments import topic_name
from fakemq.client.carriers.loops import current_loop
from fakemq.client.consuming.context import is_coroutine_function
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.received import Listener, ReceivedMessage
from fakemq.client.consuming.settings import PushSettings, Selector
from fakemq.client.errors import MQClientError
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.async_loops import AsyncCalls, AsyncHandover, AsyncMessageLoop
from fakemq.client.faces.blocking_calls import Calls
from fakemq.client.faces.handlers import (
    OnMessage,
    OnMessages,
    Subscribe,
    topic_of_decorator,
)
from fakemq.client.faces.options import PushOptions
from fakemq.client.faces.push_base import AWAIT_TERMINATION_MS, PushParts, expression_of
from fakemq.client.faces.signature import shows_options
from fakemq.client.faces.user_threads import UserThreads

if TYPE_CHECKING:
    from fakemq.client.faces.host import HostedCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

F = TypeVar("F", bound=OnMessage)

CANCELLED_WAIT_MS = 3_000
"""How long the end of a cancelled block waits for plain functions that still run."""


@shows_options("consuming.settings:PushSettings")
class AsyncPushConsumer(AsyncFace[PushConsumerCore]):
    """Consumes messages as a member of a group, by functions or in loops.

        async def charge(message: ReceivedMessage) -> None: ...

        async with AsyncPushConsumer("127.0.0.1:9876", group="billing",
                                     subscribe={"orders": "paid || sent"}, on_message=charge,
                                     consume_from="first") as consumer:
            await consumer.wait()

    It is a `PushConsumer` whose methods are awaited, on asyncio or trio, with the same options.
    Functions may be async or plain; plain ones are called in other threads. Without any function
    the program loops itself, in one task or several:

        async for message in consumer:
            await charge(message)        # acknowledged when the loop asks for the next message

    If the block is cancelled, async functions and loops are cancelled, too; their messages are
    neither acknowledged nor sent back, so that other members consume them.
    """

    _WHAT: ClassVar[str] = "consumer"

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        subscribe: Subscribe | None = None,
        on_message: OnMessage | None = None,
        on_messages: OnMessages | None = None,
        await_termination_ms_when_shutdown: int = AWAIT_TERMINATION_MS,
        **options: Unpack[PushOptions],
    ) -> None:
        name = type(self).__name__
        self._parts = parts = PushParts(
            *(name, namesrv_addr, group, subscribe, on_message, on_messages),
            await_termination_ms_when_shutdown,
            options,
            may_await=True,
        )
        super().__init__(parts.client, group, threads=parts.settings.consume_threads)
        self._handover = AsyncHandover()
        self._calls: AsyncCalls | None = None

    @property
    def settings(self) -> PushSettings:
        """What it was made with."""
        return self._parts.settings

    # -- functions and subscriptions ----------------------------------------------

    def on(self, topic: str, *, tags: str = "*", sql: str | None = None) -> Callable[[F], F]:
        """Decorate the function that consumes a topic, and subscribe to it.

            @consumer.on("orders", tags="paid || shipped")
            async def charge(message: ReceivedMessage) -> None: ...

            @consumer.on("refunds", sql="amount > 100")
            def review(message: ReceivedMessage) -> None: ...

        Raise MQClientError for a topic that has a function already.
        """
        topic, expression = topic_of_decorator(topic, "@consumer.on"), expression_of(tags, sql)

        def register(function: F) -> F:
            if self._life is not None and self._calls is None and is_coroutine_function(function):
                raise MQClientError(
                    f"on({topic!r}) adds the first async function to a consumer that runs: add it"
                    " before the start"
                )
            self._parts.handlers.add(topic, function, expression)
            self._subscribe(topic, expression)
            return function

        return register

    def subscribe(self, topic: str, expression: str | Selector = "*") -> None:
        """Consume one more topic, or other messages of it; also while it runs."""
        self._parts.handlers.subscribe(topic, expression)
        self._subscribe(topic, expression)

    def _subscribe(self, topic: str, expression: str | Selector) -> None:
        if self._life is not None:
            self._running_core().subscribe(topic, expression)

    def unsubscribe(self, topic: str) -> None:
        """Consume a topic no longer."""
        self._parts.handlers.subscriptions.pop(topic_name("topic", topic), None)
        if self._life is not None:
            self._running_core().unsubscribe(topic)

    # -- running --------------------------------------------------------------------

    def suspend(self) -> None:
        """Begin no pull until `resume`; one that a broker holds may still bring messages."""
        self._running_core().suspend()

    def resume(self) -> None:
        """Pull again."""
        self._running_core().resume()

    def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        """Return an iterator over messages, until it is shut down; each task may have its own.

        A message is acknowledged when the loop asks for the next one. A loop that ends before, by
        break, return or an error, sends its message back.
        """
        if self._parts.handlers.are_given:
            raise MQClientError(
                "its functions consume the messages: iterate over a consumer without on_message"
            )
        self._running_core()
        return AsyncMessageLoop(self._handover, self, self._user_tasks, current_loop())

    # -- its core -------------------------------------------------------------------

    def _make_core(self, services: ClientServices, carrier: HostedCarrier) -> PushConsumerCore:
        settings, handlers = self._parts.settings_to_start(), self._parts.handlers
        listener: Callable[..., object] = self._handover.listen
        if handlers.are_awaited:
            self._calls = AsyncCalls(handlers, self._user_tasks, settings.consume_threads)
            listener = self._calls.listen
        elif handlers.are_given:
            listener = Calls(handlers, UserThreads())
        return PushConsumerCore(services, settings, cast("Listener", listener))

    def _end_of(self, core: PushConsumerCore) -> Callable[[], Task[None]]:
        self._wait = Patience(self._parts.wait_ms)
        return partial(_end, core, self._handover, self._wait)

    def _block_cancelled(self) -> None:
        self._wait.ms = min(self._wait.ms, CANCELLED_WAIT_MS)
        self._handover.leave()
        if self._calls is not None:
            self._calls.cancel()


class Patience:
    """How long the end of a consumer waits for messages under way."""

    def __init__(self, ms: int) -> None:
        self.ms = ms


def _end(core: PushConsumerCore, handover: AsyncHandover, patience: Patience) -> Task[None]:
    handover.close()
    yield from core.shutdown(wait_ms=patience.ms)
