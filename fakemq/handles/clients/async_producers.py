"""The producer inside the cluster that `AsyncCluster.producer` returns."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Unpack

from fakemq.awaited import must_be_awaited
from fakemq.client.faces.async_producer import AsyncProducer
from fakemq.client.faces.messages import SendOptions, as_message, where_of
from fakemq.client.faces.options import ProducerOptions
from fakemq.client.producing.producer import ProducerCore
from fakemq.handles.clients.async_hosting import AsyncInside
from fakemq.handles.clients.hosting import address

if TYPE_CHECKING:
    from fakemq.client.messages import Message, SendResult
    from fakemq.handles.running import Running


@must_be_awaited
class AsyncInsideProducer(AsyncInside[ProducerCore], AsyncProducer):
    """A `fakemq.client.AsyncProducer` inside the cluster; see `InsideProducer`."""

    def __init__(self, running: Running, group: str, **options: Unpack[ProducerOptions]) -> None:
        super().__init__(address(running), group=group, **options)
        self._enter(running, options)

    def send_async(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> Future[SendResult]:
        """Begin a send that needs time, as `InsideProducer.send_async`."""
        message = as_message(message, body, options, "send_async")
        return self._begun(self._running_core().send(message, **where_of(options)))
