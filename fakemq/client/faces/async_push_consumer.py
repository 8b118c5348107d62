"""The push consumer of asynchronous programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from fakemq.client.carriers.loops import current_loop
from fakemq.client.consuming.context import is_coroutine_function
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.received import Listener, ReceivedMessage
from fakemq.client.errors import MQClientError
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.async_loops import AsyncCalls, AsyncHandover, AsyncMessageLoop
from fakemq.client.faces.handlers import (
    OnMessage,
)
from fakemq.client.faces.push_base import PushFace
from fakemq.client.faces.signature import shows_options
from fakemq.client.faces.user_threads import Calls, UserThreads

if TYPE_CHECKING:
    from fakemq.client.faces.host import HostedCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

F = TypeVar("F", bound=OnMessage)

CANCELLED_WAIT_MS = 3_000
"""How long the end of a cancelled block waits for plain functions that still run."""


@shows_options("consuming.settings:PushSettings")
class AsyncPushConsumer(PushFace, AsyncFace[PushConsumerCore]):
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
    _handover: AsyncHandover
    _calls: AsyncCalls | None = None

    def _require_addable(self, topic: str, function: OnMessage) -> None:
        if self._is_started and self._calls is None and is_coroutine_function(function):
            raise MQClientError(
                f"on({topic!r}) adds the first async function to a consumer that runs: add it"
                " before the start"
            )

    def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        """Return an iterator over messages, until it is shut down; each task may have its own.

        A message is acknowledged when the loop asks for the next one. A loop that ends before, by
        break, return or an error, sends its message back.
        """
        if self._parts.handlers.are_given:
            raise MQClientError(
                "its functions consume the messages: iterate over a consumer without on_message"
            )
        core = self._running_core()
        loop = AsyncMessageLoop(self._handover, self, self._user_tasks, current_loop())
        self._call(core.consume_more)
        return loop

    # -- its core -------------------------------------------------------------------

    def _make_core(self, services: ClientServices, carrier: HostedCarrier) -> PushConsumerCore:
        settings, handlers = self._parts.settings_to_start(), self._parts.handlers
        self._handover = AsyncHandover()
        listener: Callable[..., object] = self._handover.listen
        room: Callable[[], int] | None = self._handover.room
        if handlers.are_given:
            room = None
            listener = Calls(handlers, UserThreads())
        if handlers.are_awaited:
            self._calls = AsyncCalls(handlers, self._user_tasks, settings.consume_threads)
            listener = self._calls.listen
        return PushConsumerCore(services, settings, cast("Listener", listener), room=room)

    def _end_of(self, core: PushConsumerCore) -> Callable[[], Task[None]]:
        self._wait = Patience(self._parts.wait_ms)
        return partial(_end, core, self._handover, self._wait)

    def _block_ends(self) -> None:
        self._handover.end_loops_here()

    def _block_cancelled(self) -> None:
        self._wait.ms = min(self._wait.ms, CANCELLED_WAIT_MS)
        self._handover.leave()
        super()._block_cancelled()


class Patience:
    """How long the end of a consumer waits for messages under way."""

    def __init__(self, ms: int) -> None:
        self.ms = ms


def _end(core: PushConsumerCore, handover: AsyncHandover, patience: Patience) -> Task[None]:
    handover.close()
    yield from core.shutdown(wait_ms=patience.ms)
