"""Consumers inside the cluster: `Cluster.consumer` and `AsyncCluster.consumer` return them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from inspect import isgeneratorfunction
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack, cast

from fakemq.client.consuming.offsets import MemoryOffsets
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.settings import PushSettings
from fakemq.client.faces.settings import settled
from fakemq.handles.clients.hosting import InsideHandle
from fakemq.inside.performing import called

if TYPE_CHECKING:
    from fakemq.client.consuming.received import Listener, ReceivedMessage
    from fakemq.client.consuming.settings import Selector
    from fakemq.client.faces.options import PushOptions
    from fakemq.client.services import ClientServices
    from fakemq.handles.running import Running

OnMessage = Callable[["ReceivedMessage"], object]
Subscribe = Mapping[str, "str | Selector"] | Sequence[str] | str
"""By topic its tags or a `Selector`; or only topics, for all messages."""


class ConsumeFailure(NamedTuple):
    """A message whose function raised, and what it raised."""

    message: ReceivedMessage
    error: BaseException


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
            "consumer", PushSettings, options, group=group, subscribe=subscriptions(subscribe)
        )
        self._received: list[ReceivedMessage] = []
        self._failures: list[ConsumeFailure] = []
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
        return self._settled(self._received)

    @property
    def failures(self) -> list[ConsumeFailure]:
        """Every message whose function raised, with the error, in order."""
        return self._settled(self._failures)

    def _settled(self, found: list[Any]) -> list[Any]:
        """Return a copy, made when the cluster has done what it was asked to do before."""
        if self._program.alive:
            return self._running().call(found.copy)
        return found.copy()

    def subscribe(self, topic: str, expression: str | Selector = "*") -> None:
        """Consume one more topic, or other messages of it."""
        self._call(lambda: self._client.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Consume a topic no longer."""
        self._call(lambda: self._client.unsubscribe(topic))

    def suspend(self) -> None:
        """Pull nothing until `resume`."""
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
            return self._received.extend
        if not callable(on_message):
            raise TypeError(f"on_message={on_message!r}: expected a function")
        if isgeneratorfunction(on_message):
            return self._listen_in_parts(on_message)
        return self._listen(on_message)

    def _listen(self, on_message: OnMessage) -> Listener:
        def listen(messages: Sequence[ReceivedMessage]) -> None:
            for message in messages:
                self._received.append(message)
                try:
                    called(on_message, (message,))
                except BaseException as error:
                    self._failures.append(ConsumeFailure(message, error))
                    raise

        return listen

    def _listen_in_parts(
        self, on_message: Callable[[ReceivedMessage], Generator[object, None, object]]
    ) -> Listener:
        def listen(messages: Sequence[ReceivedMessage]) -> Generator[object, None, None]:
            for message in messages:
                self._received.append(message)
                try:
                    yield from on_message(message)
                except GeneratorExit:  # the consumer ends
                    raise
                except BaseException as error:
                    self._failures.append(ConsumeFailure(message, error))
                    raise

        return cast("Listener", listen)  # its carrier runs the generator to its end


def subscriptions(subscribe: Subscribe) -> dict[str, str | Selector]:
    """Return what is wanted, by topic."""
    if isinstance(subscribe, str):
        return {subscribe: "*"}
    return dict(subscribe) if isinstance(subscribe, Mapping) else dict.fromkeys(subscribe, "*")


class AsyncInsideConsumer(InsideConsumer):
    """A push consumer inside the cluster, for asynchronous tests; see `InsideConsumer`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
