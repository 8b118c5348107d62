"""Consumers inside the cluster: `Cluster.consumer` and `AsyncCluster.consumer` return them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from inspect import isgeneratorfunction
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from fakemq.client.consuming.offsets import MemoryOffsets
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.settings import PushSettings
from fakemq.client.consuming.subscriptions import require_subscription
from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.handlers import outcome, subscriptions
from fakemq.client.faces.settings import settled
from fakemq.errors import ConfigError
from fakemq.handles.clients.hosting import InsideHandle
from fakemq.handles.clients.recording import ConsumeFailure, OnMessage, Recording
from fakemq.inside.performing import called

if TYPE_CHECKING:
    from fakemq.client.consuming.received import ConsumeResult, Listener, ReceivedMessage
    from fakemq.client.consuming.settings import Selector
    from fakemq.client.faces.handlers import Subscribe
    from fakemq.client.faces.options import PushOptions
    from fakemq.client.services import ClientServices
    from fakemq.handles.running import Running


class InsideConsumer(InsideHandle[PushConsumerCore]):
    """A push consumer inside the cluster; it consumes whenever the cluster does something.

    ``on_message`` is called on the cluster's thread, so it must not block. Returning acknowledges
    the message; raising, or ``message.retry_later(level)``, sends it back. Without a function every
    message is acknowledged. It may use producers inside the cluster, and may be one of:

    1. a plain function;
    2. a coroutine function that awaits nothing but clients inside the cluster;
    3. a generator function that takes time of the cluster: ``yield "20m"`` continues after 20
       minutes of it.
    """

    def __init__(
        self,
        running: Running,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None,
        **options: Unpack[PushOptions],
    ) -> None:
        settings = settled(
            "mq.consumer",
            PushSettings,
            options,
            ("on_message", "kind"),
            group=group,
            subscribe=subscriptions(subscribe),
        )
        if settings.consume_message_batch_max_size > 1:
            raise ConfigError(
                "consume_message_batch_max_size: a function inside the cluster gets one message"
            )
        self._recording = Recording()
        listener = self._listener(on_message)
        offsets = None if options.get("offsets_directory") else MemoryOffsets()

        def make(services: ClientServices) -> PushConsumerCore:
            return PushConsumerCore(services, settings, listener, broadcast_offsets=offsets)

        super().__init__(running, group, options, make)

    @property
    def received(self) -> list[ReceivedMessage]:
        """Every message that it got until now, in order; a message that came again is there again.

        `fakemq.Cluster.reset` ends the consumer, and leaves this list.
        """
        return self._settled(self._recording.received)

    @property
    def failures(self) -> list[ConsumeFailure]:
        """Every message whose function raised, with the error, in order."""
        return self._settled(self._recording.failures)

    def _settled(self, found: list[Any]) -> list[Any]:
        """Return a copy, made when the cluster has done what it was asked to do before."""
        if self._program.alive:
            return self._running().call(found.copy)
        return found.copy()

    def subscribe(self, topic: str, expression: str | Selector = "*") -> None:
        """Consume one more topic, or other messages of it."""
        require_subscription(topic, expression)
        self._call(lambda: self._client.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Consume a topic no longer."""
        self._call(lambda: self._client.unsubscribe(topic))

    def suspend(self) -> None:
        """Begin no pull until `resume`; one that a broker holds may still bring messages."""
        self._call(self._client.suspend)

    def resume(self) -> None:
        """Pull again; a pull that was due meanwhile comes within a second of the cluster's time."""
        self._call(self._client.resume)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- its function -------------------------------------------------------------------------

    def _listener(self, on_message: OnMessage | None) -> Listener:
        if on_message is None:
            on_message = _acknowledge
        require_function("on_message", on_message, ("message",), Kind.INSIDE, "a consumer inside")
        recording = self._recording

        def listen(messages: Sequence[ReceivedMessage]) -> ConsumeResult | None:
            (message,) = messages
            with recording.during(message):
                return outcome(called(on_message, (message,)))

        def listen_in_parts(
            messages: Sequence[ReceivedMessage],
        ) -> Generator[object, None, ConsumeResult | None]:
            (message,) = messages
            with recording.during(message):
                value = yield from cast("Generator[object, None, object]", on_message(message))
                return outcome(value)

        if isgeneratorfunction(on_message):
            return cast("Listener", listen_in_parts)  # its carrier runs the generator to its end
        return listen


def _acknowledge(message: ReceivedMessage) -> None:
    """Consume a message by doing nothing."""


class AsyncInsideConsumer(InsideConsumer):
    """A push consumer inside the cluster, for asynchronous tests; see `InsideConsumer`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
