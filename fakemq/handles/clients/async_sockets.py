"""Asynchronous clients with sockets that a test has of its cluster."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Unpack, cast

from fakemq.client.consuming.context import is_coroutine_function
from fakemq.client.faces.async_push_consumer import AsyncPushConsumer
from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.handlers import outcome
from fakemq.handles.clients.recording import ConsumeFailure, OnMessage, Recording

if TYPE_CHECKING:
    from fakemq.client.consuming.received import ReceivedMessage
    from fakemq.client.faces.handlers import Subscribe
    from fakemq.client.faces.options import PushOptions


class AsyncRecordingConsumer(AsyncPushConsumer):
    """A `RecordingConsumer` for asynchronous programs; functions may be async or plain."""

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
            require_function("on_message", on_message, ("message",), Kind.ANY, "AsyncPushConsumer")

        def consume(message: ReceivedMessage) -> object:
            with recording.during(message):
                return None if on_message is None else outcome(on_message(message))

        async def consume_async(message: ReceivedMessage) -> object:
            with recording.during(message):
                assert on_message is not None, "only an async function is awaited"
                return outcome(await cast("Awaitable[object]", on_message(message)))

        is_async = on_message is not None and is_coroutine_function(on_message)
        super().__init__(
            namesrv_addr,
            group=group,
            subscribe=subscribe,
            on_message=consume_async if is_async else consume,
            **options,
        )

    @property
    def received(self) -> list[ReceivedMessage]:
        """Every message that it got until now; a message that came again is there again."""
        return list(self._recording.received)

    @property
    def failures(self) -> list[ConsumeFailure]:
        """Every message whose function raised, with the error."""
        return list(self._recording.failures)
