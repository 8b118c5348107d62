"""The push consumer of programs with threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar, Unpack

from fakemq.client.arguments import topic_name
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.received import Listener, ReceivedMessage
from fakemq.client.consuming.settings import PushSettings, Selector
from fakemq.client.errors import MQClientError
from fakemq.client.faces.blocking_base import BlockingFace
from fakemq.client.faces.blocking_calls import Calls
from fakemq.client.faces.handlers import (
    OnMessage,
    OnMessages,
    Subscribe,
    topic_of_decorator,
)
from fakemq.client.faces.loops import Handover, MessageLoop
from fakemq.client.faces.options import PushOptions
from fakemq.client.faces.push_base import AWAIT_TERMINATION_MS, PushParts, expression_of
from fakemq.client.faces.signature import shows_options

if TYPE_CHECKING:
    from fakemq.client.carriers.blocking import ThreadCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

F = TypeVar("F", bound=OnMessage)


@shows_options("consuming.settings:PushSettings")
class PushConsumer(BlockingFace[PushConsumerCore]):
    """Consumes messages as a member of a group, by functions or in loops.

        def charge(message: ReceivedMessage) -> None:
            print(message.topic, message.body, message.tags, message.reconsume_times)

        with PushConsumer("127.0.0.1:9876", group="billing", subscribe={"orders": "paid || sent"},
                          on_message=charge, consume_from="first") as consumer:
            consumer.wait()

    A message is acknowledged when its function returns. It is sent back, to be tried again later,
    when the function raises, or has called ``message.retry_later(level)``; after
    ``max_reconsume_times`` (16) it becomes a dead letter of the topic ``%DLQ%billing``. Functions
    are called in ``consume_threads`` (20) threads at once; with ``ordered=True`` those of one queue
    one after another.

    `on` decorates a function for one topic. ``on_messages`` takes lists of up to
    ``consume_message_batch_max_size`` messages. Without any function the program loops itself:

        for message in consumer:
            charge(message)          # acknowledged when the loop asks for the next message

    ``namesrv_addr`` is ``host:port``, several joined by ``;``; None is the environment's
    NAMESRV_ADDR. A shutdown waits ``await_termination_ms_when_shutdown`` for messages that are
    being consumed.

    Source: client/consumer/DefaultMQPushConsumer.java (4.9.7)
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
            may_await=False,
        )
        super().__init__(parts.client, group, threads=parts.settings.consume_threads)
        self._handover = Handover()

    @property
    def settings(self) -> PushSettings:
        """What it was made with."""
        return self._parts.settings

    # -- functions and subscriptions ----------------------------------------------

    def on(self, topic: str, *, tags: str = "*", sql: str | None = None) -> Callable[[F], F]:
        """Decorate the function that consumes a topic, and subscribe to it.

            @consumer.on("orders", tags="paid || shipped")
            def charge(message: ReceivedMessage) -> None: ...

            @consumer.on("refunds", sql="amount > 100")
            def review(message: ReceivedMessage) -> None: ...

        Raise MQClientError for a topic that has a function already.
        """
        topic, expression = topic_of_decorator(topic, "@consumer.on"), expression_of(tags, sql)

        def register(function: F) -> F:
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
            core = self._running_core()
            self._call(lambda: core.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Consume a topic no longer."""
        self._parts.handlers.subscriptions.pop(topic_name("topic", topic), None)
        if self._life is not None:
            core = self._running_core()
            self._call(lambda: core.unsubscribe(topic))

    # -- running --------------------------------------------------------------------

    def suspend(self) -> None:
        """Begin no pull until `resume`; one that a broker holds may still bring messages."""
        self._call(self._running_core().suspend)

    def resume(self) -> None:
        """Pull again."""
        self._call(self._running_core().resume)

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Return an iterator over messages, until it is shut down; each thread may have its own.

        A message is acknowledged when the loop asks for the next one. A loop that ends before, by
        break, return or an error, sends its message back.
        """
        if self._parts.handlers.are_given:
            raise MQClientError(
                "its functions consume the messages: iterate over a consumer without on_message"
            )
        self._running_core()
        return MessageLoop(self._handover, self, self._user_threads)

    # -- its core -------------------------------------------------------------------

    def _make_core(self, services: ClientServices, carrier: ThreadCarrier) -> PushConsumerCore:
        parts = self._parts
        listener: Listener = self._handover.listen
        if parts.handlers.are_given:
            listener = Calls(parts.handlers, self._user_threads)
        return PushConsumerCore(services, parts.settings_to_start(), listener)

    def _end_of(self, core: PushConsumerCore, carrier: ThreadCarrier) -> Callable[[], Task[None]]:
        return partial(_end, core, self._handover, self._parts.wait_ms)


def _end(core: PushConsumerCore, handover: Handover, wait_ms: int) -> Task[None]:
    handover.close()
    yield from core.shutdown(wait_ms=wait_ms)
