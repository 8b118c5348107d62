"""Producers inside the cluster: `Cluster.producer` and `AsyncCluster.producer` return them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Self, Unpack

from msgspec.structs import astuple

from fakemq.awaited import must_be_awaited
from fakemq.client.faces.functions import Kind
from fakemq.client.faces.messages import (
    BatchOptions,
    OnewayOptions,
    SendOptions,
    as_batch,
    as_half,
    as_message,
    batch_options,
    choice_of,
    request_limit_ms,
    where_of,
)
from fakemq.client.faces.producer_base import producer_settings
from fakemq.client.messages import SendResult
from fakemq.client.producing.producer import ProducerCore
from fakemq.handles.clients.hosting import InsideHandle

if TYPE_CHECKING:
    from fakemq.client.faces.options import ProducerOptions
    from fakemq.client.messages import Message
    from fakemq.client.producing.settings import Execute
    from fakemq.client.tasks import Task
    from fakemq.client.transaction_operations import TransactionSendResult
    from fakemq.handles.running import Running
    from fakemq.protocol.message import MessageExt


class _BatchResult(SendResult, frozen=True):
    """The result of a batch, which for one more release is also a list of it alone."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> SendResult:
        warnings.warn(
            "send_batch of a producer inside returns one result, as that of every producer: reading"
            " it as a list goes with the next release; send_batches returns a list",
            DeprecationWarning,
            stacklevel=2,
        )
        return (self,)[index]


class _InsideProducer(InsideHandle[ProducerCore]):
    """What both producers share: the tasks of their methods."""

    def __init__(self, running: Running, group: str, **options: Unpack[ProducerOptions]) -> None:
        settings = producer_settings("mq.producer", options, group, Kind.INSIDE)
        super().__init__(running, group, options, lambda services: ProducerCore(services, settings))

    def _sending(
        self, message: Message | str, body: bytes | str | None, options: SendOptions
    ) -> Task[SendResult]:
        return self._client.send(as_message(message, body, options), **where_of(options))

    def _batch(self, messages: Iterable[Message], options: BatchOptions) -> Task[SendResult]:
        checked = batch_options(options, "send_batch")
        result = yield from self._client.send_batch(as_batch(messages), **checked)
        return _BatchResult(*astuple(result))

    def _batches(
        self, messages: Iterable[Message], options: BatchOptions
    ) -> Task[list[SendResult]]:
        checked = batch_options(options, "send_batches")
        return self._client.send_batches(as_batch(messages), **checked)

    def _oneway(
        self, message: Message | str, body: bytes | str | None, options: OnewayOptions
    ) -> Task[None]:
        return self._client.send_oneway(
            as_message(message, body, options, "send_oneway"), **choice_of(options)
        )

    def _half(
        self, message: Message, execute: Execute, options: BatchOptions
    ) -> Task[TransactionSendResult]:
        checked = batch_options(options, "send_in_transaction")
        half = as_half(message, execute, Kind.INSIDE, "a producer inside")
        return self._client.send_in_transaction(half, execute, **checked)

    def _request(
        self, message: Message | str, body: bytes | str | None, options: SendOptions
    ) -> Task[MessageExt]:
        request = as_message(message, body, options, "request")
        return self._client.request(request, request_limit_ms(options), **choice_of(options))

    def send_async(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> Future[SendResult]:
        """Begin to send, and return the future of the result; for a send that needs time.

        sending = producer.send_async("orders", b"tea")
        mq.clock.advance("3s")
        sending.result()
        """
        return self._submit(lambda: self._sending(message, body, options), "send")


class InsideProducer(_InsideProducer):
    """A producer inside the cluster, for synchronous tests.

    Its methods return at once as long as the brokers answer. If an answer needs time, because of a
    fault for example, they wait for it while the cluster's clock runs, and raise FakemqError while
    it does not. They also raise MQClientError, MQBrokerError and RemotingError.
    """

    def send(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> SendResult:
        """Send a topic and a body, or a `Message`; return where it was stored.

            producer.send("orders", b"tea", tags="paid", keys="o-1", delay_level=3)

        The options are those of `fakemq.client.Producer.send`.
        """
        return self._do(lambda: self._sending(message, body, options), "send")

    def send_batch(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> SendResult:
        """Send messages of one topic as one batch, as `fakemq.client.Producer.send_batch`.

        The result may be read as a list of results, which it was before. This is deprecated.
        """
        return self._do(lambda: self._batch(messages, options), "send_batch")

    def send_batches(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> list[SendResult]:
        """Send messages of one topic in as few batches as their size allows; return each result."""
        return self._do(lambda: self._batches(messages, options), "send_batches")

    def send_oneway(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[OnewayOptions],
    ) -> None:
        """Send without an answer; a message that is lost is not reported."""
        self._do(lambda: self._oneway(message, body, options), "send_oneway")

    def send_in_transaction(
        self, message: Message, execute: Execute, **options: Unpack[BatchOptions]
    ) -> TransactionSendResult:
        """Send a half message, call ``execute`` with it, and send the broker what it returns.

        None is UNKNOW: then the broker asks the option ``check`` of this producer.
        """
        return self._do(
            lambda: self._half(message, execute, options),
            "send_in_transaction",
        )

    def request(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> MessageExt:
        """Send a request and return the reply of its consumer; RequestTimeoutError without one."""
        return self._do(lambda: self._request(message, body, options), "request")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@must_be_awaited
class AsyncInsideProducer(_InsideProducer):
    """A producer inside the cluster, for asynchronous tests; see `InsideProducer`."""

    async def send(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> SendResult:
        """Send a message, as `InsideProducer.send`."""
        return await self._do_async(lambda: self._sending(message, body, options), "send")

    async def send_batch(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> SendResult:
        """Send messages as one batch, as `InsideProducer.send_batch`."""
        return await self._do_async(lambda: self._batch(messages, options), "send_batch")

    async def send_batches(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> list[SendResult]:
        """Send messages in some batches, as `InsideProducer.send_batches`."""
        return await self._do_async(lambda: self._batches(messages, options), "send_batches")

    async def send_oneway(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[OnewayOptions],
    ) -> None:
        """Send without an answer, as `InsideProducer.send_oneway`."""
        await self._do_async(lambda: self._oneway(message, body, options), "send_oneway")

    async def send_in_transaction(
        self, message: Message, execute: Execute, **options: Unpack[BatchOptions]
    ) -> TransactionSendResult:
        """Send in a transaction, as `InsideProducer.send_in_transaction`."""
        return await self._do_async(
            lambda: self._half(message, execute, options),
            "send_in_transaction",
        )

    async def request(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> MessageExt:
        """Send a request and return its reply, as `InsideProducer.request`."""
        return await self._do_async(lambda: self._request(message, body, options), "request")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
