"""The consumer inside the cluster that `Cluster.consumer` returns."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from inspect import isgenerator, isgeneratorfunction
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from fakemq.client.consuming.offsets import MemoryOffsets
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.errors import MQClientError
from fakemq.client.faces.handlers import ConsumerFunctions, Subscribe
from fakemq.client.faces.options import PushOptions
from fakemq.client.faces.push_consumer import PushConsumer
from fakemq.client.faces.user_threads import Calls, UserThreads
from fakemq.errors import ConfigError
from fakemq.handles.clients.hosting import BlockingInside, InsideFace, address
from fakemq.handles.clients.recording import OnMessage, Recorded, Recording
from fakemq.inside.performing import called

if TYPE_CHECKING:
    from fakemq.client.consuming.received import Listener, ReceivedMessage
    from fakemq.client.services import ClientServices
    from fakemq.handles.running import Running

T = TypeVar("T")


class InsideRecording(Recording):
    """What a consumer inside the cluster got."""

    def of(self, function: OnMessage) -> OnMessage:
        """Return what records a function, which runs coroutines to their end, too."""
        if isgeneratorfunction(function):
            return super().of(function)
        return super().of(lambda message: called(function, (message,)))


class InsideConsuming(InsideFace[PushConsumerCore], Recorded):
    """What both consumers inside the cluster do without waiting."""

    _RECORDING = InsideRecording

    def __init__(
        self,
        running: Running,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None,
        **options: Unpack[PushOptions],
    ) -> None:
        if options.get("consume_message_batch_max_size", 1) != 1:
            raise ConfigError(
                "consume_message_batch_max_size: a function inside the cluster gets one message"
            )
        super().__init__(
            address(running), group=group, subscribe=subscribe, on_message=on_message, **options
        )
        self._enter(running, options)

    def _make_core(self, services: ClientServices, carrier: object) -> PushConsumerCore:
        settings, handlers = self._parts.settings_to_start(), self._parts.handlers
        assert handlers.for_all is not None, "without a function it acknowledges everything"
        is_in_parts = isgeneratorfunction(handlers.for_all)
        listener = _in_parts(handlers) if is_in_parts else Calls(handlers, UserThreads())
        offsets = None if settings.offsets_directory else MemoryOffsets()
        return PushConsumerCore(services, settings, listener, broadcast_offsets=offsets)

    def _require_addable(self, topic: str, function: OnMessage) -> None:
        listener = self._running_core().listener
        if isgeneratorfunction(function) and not isgeneratorfunction(listener):
            raise MQClientError(
                f"on({topic!r}) adds the first generator function to a consumer that runs: make it"
                " with on_message=…"
            )

    def _copied(self, found: list[T]) -> list[T]:
        """Return a copy, made when the cluster has done what it was asked to do before."""
        return super()._copied(found) if self.closed else self._running().call(found.copy)


def _in_parts(handlers: ConsumerFunctions) -> Listener:
    """Return a listener whose calls may take time of the cluster: its carrier runs generators."""

    def listen(messages: Sequence[ReceivedMessage]) -> Generator[object, Any, object]:
        function, argument = handlers.chosen(messages)
        result = function(argument)
        return (yield from result) if isgenerator(result) else result

    return cast("Listener", listen)


class InsideConsumer(InsideConsuming, BlockingInside[PushConsumerCore], PushConsumer):
    """A push consumer inside the cluster; it consumes whenever the cluster does something.

    ``on_message`` is called on the cluster's thread, so it must not block. Returning acknowledges
    the message; raising, or ``message.retry_later(level)``, sends it back. Without a function every
    message is acknowledged. It may use producers inside the cluster, and may be one of:

    1. a plain function;
    2. a coroutine function that awaits nothing but clients inside the cluster;
    3. a generator function that takes time of the cluster: ``yield "20m"`` continues after 20
       minutes of it.
    """
