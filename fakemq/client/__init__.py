"""A client of RocketMQ in pure Python: producers and consumers, blocking and asynchronous.

    from fakemq.client import Producer, PushConsumer

    with Producer("127.0.0.1:9876", group="shop") as producer:
        print(producer.send("orders", b"tea", tags="paid").status)

    with PushConsumer("127.0.0.1:9876", group="billing", subscribe={"orders": "*"},
                      on_message=print) as consumer:
        consumer.wait()

The `Async` twins have the same names. `Client` and `AsyncClient` send single requests: for tests,
tools, and work by hand. Importing this package loads none of them before its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.client.asynchronous import AsyncClient as AsyncClient
    from fakemq.client.blocking import Client as Client
    from fakemq.client.consuming.pull_schedule import PullTaskContext as PullTaskContext
    from fakemq.client.consuming.received import ConsumeResult as ConsumeResult
    from fakemq.client.consuming.received import ConsumeStatus as ConsumeStatus
    from fakemq.client.consuming.received import Pulled as Pulled
    from fakemq.client.consuming.received import ReceivedMessage as ReceivedMessage
    from fakemq.client.consuming.settings import Selector as Selector
    from fakemq.client.errors import MQBrokerError as MQBrokerError
    from fakemq.client.errors import MQClientError as MQClientError
    from fakemq.client.errors import RemotingError as RemotingError
    from fakemq.client.errors import RequestTimeoutError as RequestTimeoutError
    from fakemq.client.faces.async_lite_pull_consumer import (
        AsyncLitePullConsumer as AsyncLitePullConsumer,
    )
    from fakemq.client.faces.async_producer import AsyncProducer as AsyncProducer
    from fakemq.client.faces.async_pull_scheduling import AsyncPullScheduling as AsyncPullScheduling
    from fakemq.client.faces.async_pulling import AsyncPullConsumer as AsyncPullConsumer
    from fakemq.client.faces.async_push_consumer import AsyncPushConsumer as AsyncPushConsumer
    from fakemq.client.faces.lite_pull_consumer import LitePullConsumer as LitePullConsumer
    from fakemq.client.faces.producer import Producer as Producer
    from fakemq.client.faces.pull_scheduling import PullScheduling as PullScheduling
    from fakemq.client.faces.pulling import PullConsumer as PullConsumer
    from fakemq.client.faces.push_consumer import PushConsumer as PushConsumer
    from fakemq.client.faces.selectors import SQL as SQL
    from fakemq.client.messages import LocalTransactionState as LocalTransactionState
    from fakemq.client.messages import Message as Message
    from fakemq.client.messages import PullResult as PullResult
    from fakemq.client.messages import PullStatus as PullStatus
    from fakemq.client.messages import SendResult as SendResult
    from fakemq.client.messages import SendStatus as SendStatus
    from fakemq.client.producing.request_reply import create_reply_message as create_reply_message
    from fakemq.client.service_state import ServiceState as ServiceState
    from fakemq.client.transaction_operations import (
        TransactionSendResult as TransactionSendResult,
    )
    from fakemq.protocol.bodies.queue import MessageQueue as MessageQueue

_HOMES = {
    "AsyncClient": "asynchronous",
    "AsyncLitePullConsumer": "faces.async_lite_pull_consumer",
    "AsyncProducer": "faces.async_producer",
    "AsyncPullConsumer": "faces.async_pulling",
    "AsyncPullScheduling": "faces.async_pull_scheduling",
    "AsyncPushConsumer": "faces.async_push_consumer",
    "Client": "blocking",
    "ConsumeResult": "consuming.received",
    "ConsumeStatus": "consuming.received",
    "LitePullConsumer": "faces.lite_pull_consumer",
    "LocalTransactionState": "messages",
    "MQBrokerError": "errors",
    "MQClientError": "errors",
    "Message": "messages",
    "Producer": "faces.producer",
    "PullConsumer": "faces.pulling",
    "PullResult": "messages",
    "PullScheduling": "faces.pull_scheduling",
    "PullStatus": "messages",
    "PullTaskContext": "consuming.pull_schedule",
    "Pulled": "consuming.received",
    "PushConsumer": "faces.push_consumer",
    "ReceivedMessage": "consuming.received",
    "RemotingError": "errors",
    "RequestTimeoutError": "errors",
    "SQL": "faces.selectors",
    "Selector": "consuming.settings",
    "SendResult": "messages",
    "SendStatus": "messages",
    "ServiceState": "service_state",
    "TransactionSendResult": "transaction_operations",
    "create_reply_message": "producing.request_reply",
}

__all__ = ["MessageQueue", *_HOMES]


def __getattr__(name: str) -> object:
    # On first use: blocking programs need no anyio, and some need a message alone.
    home = f"{__name__}.{_HOMES[name]}" if name in _HOMES else None
    if name == "MessageQueue":
        home = "fakemq.protocol.bodies.queue"
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
