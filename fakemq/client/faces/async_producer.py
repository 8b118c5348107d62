"""The producer of asynchronous programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Unpack, overload

from fakemq.awaited import must_be_awaited
from fakemq.client.arguments import topic_name
from fakemq.client.faces.async_base import AsyncFace
from fakemq.client.faces.messages import (
    BatchOptions,
    OnewayOptions,
    SendOptions,
    Where,
    as_batch,
    as_half,
    as_message,
    batch_options,
    choice_of,
    where_of,
)
from fakemq.client.faces.options import AsyncProducerOptions
from fakemq.client.faces.producer_base import producer_settings, requesting
from fakemq.client.faces.settings import settled_client
from fakemq.client.faces.signature import shows_options
from fakemq.client.messages import Message, SendResult
from fakemq.client.producing.producer import ProducerCore
from fakemq.client.producing.settings import AsyncExecute
from fakemq.client.transaction_operations import TransactionSendResult
from fakemq.config import checked
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message import MessageExt

if TYPE_CHECKING:
    from fakemq.client.faces.host import HostedCarrier
    from fakemq.client.services import ClientServices


@shows_options("producing.settings:ProducerSettings")
@must_be_awaited
class AsyncProducer(AsyncFace[ProducerCore]):
    """Sends messages; any number of tasks of one loop may use one producer.

        async with AsyncProducer("127.0.0.1:9876", group="shop") as producer:
            sent = await producer.send("orders", b"tea", tags="paid", keys="o-1")
            assert sent.status is SendStatus.SEND_OK
            await producer.send(Message("orders", b"milk", delay_level=3))

    It is a `Producer` whose methods are awaited, on asyncio or trio, with the same options. Its
    functions, such as ``check``, may be async; plain ones are called in other threads. Many sends
    at once are tasks of the program, for example of an ``anyio.create_task_group()``.

    ``namesrv_addr`` is ``host:port``, several joined by ``;``; None is the environment's
    NAMESRV_ADDR. ``group`` names the producers that do the same: a broker asks any of them for the
    state of a transaction.

    Methods raise MQClientError, MQBrokerError and RemotingError; ConfigError or TypeError for a
    wrong argument.

    Source: client/producer/DefaultMQProducer.java, TransactionMQProducer.java (4.9.7)
    """

    _WHAT: ClassVar[str] = "producer"

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        **options: Unpack[AsyncProducerOptions],
    ) -> None:
        self.settings = producer_settings(self._made_by, options, group, self._FUNCTIONS)
        super().__init__(settled_client(namesrv_addr, options), group)

    def _make_core(self, services: ClientServices, carrier: HostedCarrier) -> ProducerCore:
        return ProducerCore(services, self.settings)

    @overload
    async def send(self, message: Message, /, **where: Unpack[Where]) -> SendResult: ...

    @overload
    async def send(
        self, message: str, /, body: bytes | str, **options: Unpack[SendOptions]
    ) -> SendResult: ...

    async def send(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> SendResult:
        """Send a `Message`, or a topic and a body; return where it was stored.

            await producer.send("orders", b"tea", tags="paid", keys=["o-1", "c-7"], delay_level=3)
            await producer.send(Message("orders", b"tea"), sharding_key="o-1", timeout_ms=500)

        Beside the body a message has ``tags, keys, delay_level, properties, flag``. Its queue is
        ``queue``; or that of a ``sharding_key`` (equal keys: one queue, the same as in Java); or
        what ``selector(queues, message)`` returns; ``selector="random"`` is any. Otherwise queues
        are taken in turn, and after a failure those of another broker. All attempts together
        take up to ``timeout_ms``.
        """
        core = self._running_core()
        message = as_message(message, body, options)
        return await self._run(core.send(message, **where_of(options)))

    async def send_oneway(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[OnewayOptions],
    ) -> None:
        """Send without waiting for an answer: a message that is lost is not reported."""
        core = self._running_core()
        message = as_message(message, body, options, "send_oneway")
        await self._run(core.send_oneway(message, **choice_of(options)))

    async def send_batch(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> SendResult:
        """Send messages of one topic as one batch: all go to one queue, in their order.

        Raise MQClientError if they do not fit together, or are too large together.
        """
        return await self._run(
            self._running_core().send_batch(
                as_batch(messages), **batch_options(options, "send_batch")
            )
        )

    async def send_batches(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> list[SendResult]:
        """Send messages of one topic in as few batches as their size allows; return each result.

        If a batch fails, those before it are stored.
        """
        return await self._run(
            self._running_core().send_batches(
                as_batch(messages), **batch_options(options, "send_batches")
            )
        )

    async def send_in_transaction(
        self, message: Message, execute: AsyncExecute, **options: Unpack[BatchOptions]
    ) -> TransactionSendResult:
        """Send a message that is delivered only if a local transaction commits.

            async def pay(message: Message) -> LocalTransactionState:
                async with database.begin(): ...
                return LocalTransactionState.COMMIT_MESSAGE

            await producer.send_in_transaction(Message("orders", b"tea"), pay)

        First a half message is stored, then ``execute`` is called, a plain function in another
        thread, and its result decides: COMMIT_MESSAGE, ROLLBACK_MESSAGE, or UNKNOW, which None is
        too. What it raises is raised here. About a half message without a decision the broker asks
        ``check``, an option of the producer, again and again.
        """
        core = self._running_core()
        checked = batch_options(options, "send_in_transaction")
        half = as_half(message, execute, self._FUNCTIONS, self._made_by)
        return await self._run(core.send_in_transaction(half, execute, **checked))

    async def request(
        self,
        message: Message | str,
        /,
        body: bytes | str | None = None,
        **options: Unpack[SendOptions],
    ) -> MessageExt:
        """Send a request and return the reply of its consumer, all within ``timeout_ms`` (3 s).

            reply = await producer.request("prices", b"tea", timeout_ms=1_000)

        The consumer sends a message made by `create_reply_message`. Raise RequestTimeoutError if
        no reply comes in time.
        """
        core = self._running_core()
        return await self._run(requesting(core, message, body, options))

    async def recall_message(self, topic: str, recall_handle: str) -> str:
        """Delete a timer message before it is delivered; return its message id.

            sent = await producer.send("orders", b"tea", properties={"TIMER_DELAY_SEC": "60"})
            await producer.recall_message("orders", sent.recall_handle)

        Brokers of RocketMQ 5 with recallMessageEnable know it. Raise MQClientError for a text that
        is no handle; MQBrokerError if the broker refuses, for example because it is too late.

        Source: client/producer/DefaultMQProducer.java#recallMessage (5.5.0)
        """
        core = self._running_core()
        handle = checked.text("recall_handle", recall_handle)
        return await self._run(core.recall_message(topic_name("topic", topic), handle))

    async def queues(self, topic: str) -> Sequence[MessageQueue]:
        """Return the queues of a topic to send to; raise MQClientError if there are none.

        Source: client/producer/DefaultMQProducer.java#fetchPublishMessageQueues (4.9.7)
        """
        return await self._run(self._running_core().queues(topic_name("topic", topic)))
