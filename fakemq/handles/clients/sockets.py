"""Clients with sockets that a test has of its own cluster, and of one that runs elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.handlers import outcome
from fakemq.client.faces.producer import Producer
from fakemq.client.faces.push_consumer import PushConsumer
from fakemq.handles.clients.recording import ConsumeFailure, OnMessage, Recording

if TYPE_CHECKING:
    from fakemq.client.consuming.received import ReceivedMessage
    from fakemq.client.faces.handlers import Subscribe
    from fakemq.client.faces.options import ProducerOptions, PushOptions
    from fakemq.handles.running import Closable


class RecordingConsumer(PushConsumer):
    """A push consumer with threads and sockets that records what it gets.

    Without a function every message is acknowledged.
    """

    def __init__(
        self,
        namesrv_addr: str,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        **options: Unpack[PushOptions],
    ) -> None:
        recording = self._recording = Recording()
        if on_message is not None:
            require_function("on_message", on_message, ("message",), Kind.PLAIN, "PushConsumer")

        def consume(message: ReceivedMessage) -> object:
            with recording.during(message):
                return None if on_message is None else outcome(on_message(message))

        super().__init__(
            namesrv_addr, group=group, subscribe=subscribe, on_message=consume, **options
        )

    @property
    def received(self) -> list[ReceivedMessage]:
        """Every message that it got until now; a message that came again is there again."""
        return list(self._recording.received)

    @property
    def failures(self) -> list[ConsumeFailure]:
        """Every message whose function raised, with the error."""
        return list(self._recording.failures)


def open_producer(
    clients: list[Closable], namesrv_addr: str, group: str, **options: Unpack[ProducerOptions]
) -> Producer:
    """Return a started producer; the owner of ``clients`` closes it."""
    producer = Producer(namesrv_addr, group=group, **options).start()
    clients.append(producer)
    return producer


def open_consumer(
    clients: list[Closable],
    namesrv_addr: str,
    group: str,
    subscribe: Subscribe,
    on_message: OnMessage | None,
    **options: Unpack[PushOptions],
) -> RecordingConsumer:
    """Return a started consumer; the owner of ``clients`` closes it."""
    consumer = RecordingConsumer(
        namesrv_addr, group=group, subscribe=subscribe, on_message=on_message, **options
    ).start()
    clients.append(consumer)
    return consumer
