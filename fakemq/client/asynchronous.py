"""The client for asynchronous programs, on asyncio and trio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, Unpack

from fakemq.awaited import must_be_awaited
from fakemq.client.admin import Admin
from fakemq.client.async_base import AsyncClientBase
from fakemq.client.carriers.asynchronous import AsyncCarrier
from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.settings import client_config_of, name_server_addrs
from fakemq.client.faces.signature import shows_options, shows_result
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import require_message
from fakemq.client.options import ClientOptions
from fakemq.client.pull_operations import PullOperations
from fakemq.client.send_operations import SendOperations
from fakemq.client.services import ClientServices
from fakemq.client.tasks import Task
from fakemq.client.this_machine import instance_here
from fakemq.client.transaction_operations import TransactionOperations

if TYPE_CHECKING:
    from fakemq.client.messages import Message
    from fakemq.client.producing.settings import AsyncExecute
    from fakemq.client.transaction_operations import TransactionSendResult
    from fakemq.protocol.bodies.queue import MessageQueue

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def _run(
    pick: Callable[[AsyncClient], R], operation: Callable[Concatenate[R, P], Task[T]]
) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return a method of `AsyncClient` that runs an operation of one of its parts."""

    @wraps(operation)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(operation(pick(self), *args, **kwargs))

    shows_result(method, operation)
    return method


def _sends(
    pick: Callable[[AsyncClient], R], operation: Callable[Concatenate[R, P], Task[T]]
) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Do the same with an operation that sends a message: no other argument is without a name."""

    @wraps(operation)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        require_message(*args)
        return await self.run(operation(pick(self), *args, **kwargs))

    shows_result(method, operation)
    return method


def _instance(client: AsyncClient) -> ClientInstance:
    return client.instance


def _producer(client: AsyncClient) -> SendOperations:
    return client.producer


def _transactions(client: AsyncClient) -> TransactionOperations:
    return client.transactions


def _consumer(client: AsyncClient) -> PullOperations:
    return client.consumer


def _admin(client: AsyncClient) -> Admin:
    return client.admin


@shows_options("options:ClientConfig")
@must_be_awaited
class AsyncClient(AsyncClientBase):
    """A client of any RocketMQ cluster, for single operations.

        async with AsyncClient("127.0.0.1:9876") as client:
            sent = await client.send(Message("orders", b"tea"))

    It is a `Client` whose methods are awaited; any number may run at once. Leave the ``async with``
    block in the task that entered it.

    It sends for ``producer_group`` and consumes for ``consumer_group``; use `run` for operations of
    other groups. Requests from brokers are passed to ``instance.handlers``. The end of the block
    leaves all groups.
    """

    def __init__(self, namesrv_addr: str, **options: Unpack[ClientOptions]) -> None:
        namesrv_addr = name_server_addrs(namesrv_addr)
        config = client_config_of(type(self).__name__, options)
        self.instance = instance_here(namesrv_addr, config)
        self.producer = SendOperations(self.instance)
        self.transactions = TransactionOperations(self.instance)
        self.consumer = PullOperations(self.instance)
        self.admin = Admin(self.instance)
        self._carrier = AsyncCarrier(credentials=config.credentials, tls=config.client_tls())
        ClientServices(self.instance, self._carrier)  # answers brokers; its loops are not started

    async def run(self, operation: Task[T]) -> T:
        """Run an operation to its end and return its result."""
        return await self._carrier.run(operation)

    async def send_in_transaction(
        self,
        message: Message,
        execute: AsyncExecute,
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> TransactionSendResult:
        """Send a half message, run the local transaction, and send the broker its result.

        Here ``execute`` may be async; a `Client` takes plain functions alone.

        ``execute`` is the local transaction, a function of the message that returns a
        `LocalTransactionState`; None means UNKNOW, after which the broker asks later. It is not
        called if the send status is not SEND_OK: then the message is rolled back. Its exception is
        raised here too, after the broker got UNKNOW.
        """
        require_function("execute", execute, ("message",), Kind.ANY, type(self).__name__)
        task = self.transactions.send_in_transaction(
            message, execute, queue=queue, timeout_ms=timeout_ms
        )
        return await self.run(task)

    def __repr__(self) -> str:
        return f"<client {self.instance.client_id} of {self.instance.name_servers.addrs}>"

    invoke = _run(_instance, ClientInstance.invoke)
    update_route = _run(_instance, ClientInstance.update_route)
    publish_queues = _run(_instance, ClientInstance.publish_queues)
    subscribe_queues = _run(_instance, ClientInstance.subscribe_queues)
    topic_names = _run(_instance, ClientInstance.topic_names)
    cluster_info = _run(_instance, ClientInstance.cluster_info)
    heartbeat = _run(_instance, ClientInstance.heartbeat)
    unregister = _run(_instance, ClientInstance.unregister)
    consumer_ids = _run(_instance, ClientInstance.consumer_ids)

    send = _sends(_producer, SendOperations.send)
    send_batch = _run(_producer, SendOperations.send_batch)
    send_oneway = _sends(_producer, SendOperations.send_oneway)

    send_half = _sends(_transactions, TransactionOperations.send_half)
    end_transaction = _run(_transactions, TransactionOperations.end_transaction)
    listen_for_checks = _run(_transactions, TransactionOperations.listen_for_checks)

    subscribe = _run(_consumer, PullOperations.subscribe)
    pull = _run(_consumer, PullOperations.pull)
    check_expression = _run(_consumer, PullOperations.check_expression)
    query_offset = _run(_consumer, PullOperations.query_offset)
    update_offset = _run(_consumer, PullOperations.update_offset)
    lock = _run(_consumer, PullOperations.lock)
    unlock = _run(_consumer, PullOperations.unlock)

    max_offset = _run(_admin, Admin.max_offset)
    min_offset = _run(_admin, Admin.min_offset)
    search_offset = _run(_admin, Admin.search_offset)
    topic_offsets = _run(_admin, Admin.topic_offsets)
    earliest_store_time_ms = _run(_admin, Admin.earliest_store_time_ms)
    view_message = _run(_admin, Admin.view_message)
    query_messages = _run(_admin, Admin.query_messages)
    query_message_by_unique_key = _run(_admin, Admin.query_message_by_unique_key)
    consume_stats = _run(_admin, Admin.consume_stats)
    create_topic = _run(_admin, Admin.create_topic)
    create_group = _run(_admin, Admin.create_group)
