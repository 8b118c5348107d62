"""The push consumer of programs with threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.errors import MQClientError
from fakemq.client.faces.blocking_base import BlockingFace
from fakemq.client.faces.handlers import (
    OnMessage,
)
from fakemq.client.faces.loops import Handover, MessageLoop
from fakemq.client.faces.push_base import PushFace
from fakemq.client.faces.signature import shows_options
from fakemq.client.faces.user_threads import Calls

if TYPE_CHECKING:
    from fakemq.client.carriers.blocking import ThreadCarrier
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task

F = TypeVar("F", bound=OnMessage)


@shows_options("consuming.settings:PushSettings")
class PushConsumer(PushFace, BlockingFace[PushConsumerCore]):
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
    _handover: Handover

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Return an iterator over messages, until it is shut down; each thread may have its own.

        A message is acknowledged when the loop asks for the next one. A loop that ends before, by
        break, return or an error, sends its message back.
        """
        if self._parts.handlers.are_given:
            raise MQClientError(
                "its functions consume the messages: iterate over a consumer without on_message"
            )
        core = self._running_core()
        loop = MessageLoop(self._handover, self, self._user_threads)
        self._call(core.consume_more)
        return loop

    def __exit__(self, *_: object) -> None:
        # The end would not wait for a message that this thread still has by an iterator.
        self._handover.end_loops_here()
        self.shutdown()

    # -- its core -------------------------------------------------------------------

    def _make_core(self, services: ClientServices, carrier: ThreadCarrier) -> PushConsumerCore:
        parts = self._parts
        self._handover = Handover()
        settings = parts.settings_to_start()
        if parts.handlers.are_given:
            return PushConsumerCore(services, settings, Calls(parts.handlers, self._user_threads))
        handover = self._handover
        return PushConsumerCore(services, settings, handover.listen, room=handover.room)

    def _end_of(self, core: PushConsumerCore) -> Callable[[], Task[None]]:
        return partial(_end, core, self._handover, self._parts.wait_ms)


def _end(core: PushConsumerCore, handover: Handover, wait_ms: int) -> Task[None]:
    handover.close()
    yield from core.shutdown(wait_ms=wait_ms)
