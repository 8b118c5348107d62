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
    from fakemq.client.consuming.allocation import AllocateStrategy as AllocateStrategy
    from fakemq.client.consuming.lite_queues import MessageQueueListener as MessageQueueListener
    from fakemq.client.consuming.pull_schedule import PullTaskContext as PullTaskContext
    from fakemq.client.consuming.queue_listeners import QueueListener as QueueListener
    from fakemq.client.consuming.received import ConsumeResult as ConsumeResult
    from fakemq.client.consuming.received import ConsumeStatus as ConsumeStatus
    from fakemq.client.consuming.received import Pulled as Pulled
    from fakemq.client.consuming.received import ReceivedMessage as ReceivedMessage
    from fakemq.client.consuming.settings import SQL as SQL
    from fakemq.client.consuming.settings import ConsumeFrom as ConsumeFrom
    from fakemq.client.consuming.settings import MessageModel as MessageModel
    from fakemq.client.consuming.settings import Selector as Selector
    from fakemq.client.errors import MQBrokerError as MQBrokerError
    from fakemq.client.errors import MQClientError as MQClientError
    from fakemq.client.errors import RemotingError as RemotingError
    from fakemq.client.errors import RequestTimeoutError as RequestTimeoutError
    from fakemq.client.faces.async_lite_pull_consumer import (
        AsyncLitePullConsumer as AsyncLitePullConsumer,
    )
    from fakemq.client.faces.async_producer import AsyncProducer as AsyncProducer
    from fakemq.client.faces.async_pulling import AsyncPullConsumer as AsyncPullConsumer
    from fakemq.client.faces.async_pulling import AsyncPullScheduling as AsyncPullScheduling
    from fakemq.client.faces.async_pulling import AsyncPullTask as AsyncPullTask
    from fakemq.client.faces.async_pulling import AsyncScheduledPulling as AsyncScheduledPulling
    from fakemq.client.faces.async_push_consumer import AsyncPushConsumer as AsyncPushConsumer
    from fakemq.client.faces.handlers import OnMessage as OnMessage
    from fakemq.client.faces.handlers import OnMessages as OnMessages
    from fakemq.client.faces.handlers import Subscribe as Subscribe
    from fakemq.client.faces.lite_base import Committing as Committing
    from fakemq.client.faces.lite_pull_consumer import LitePullConsumer as LitePullConsumer
    from fakemq.client.faces.messages import BatchOptions as BatchOptions
    from fakemq.client.faces.messages import OnewayOptions as OnewayOptions
    from fakemq.client.faces.messages import SendOptions as SendOptions
    from fakemq.client.faces.options import AsyncCheck as AsyncCheck
    from fakemq.client.faces.producer import Producer as Producer
    from fakemq.client.faces.pulling import PullConsumer as PullConsumer
    from fakemq.client.faces.pulling import PullScheduling as PullScheduling
    from fakemq.client.faces.pulling import PullTask as PullTask
    from fakemq.client.faces.pulling import ScheduledPulling as ScheduledPulling
    from fakemq.client.faces.push_consumer import PushConsumer as PushConsumer
    from fakemq.client.messages import LocalTransactionState as LocalTransactionState
    from fakemq.client.messages import Message as Message
    from fakemq.client.messages import PullResult as PullResult
    from fakemq.client.messages import PullStatus as PullStatus
    from fakemq.client.messages import SendResult as SendResult
    from fakemq.client.messages import SendStatus as SendStatus
    from fakemq.client.producing.request_reply import create_reply_message as create_reply_message
    from fakemq.client.producing.settings import AsyncExecute as AsyncExecute
    from fakemq.client.producing.settings import Check as Check
    from fakemq.client.producing.settings import Execute as Execute
    from fakemq.client.service_state import ServiceState as ServiceState
    from fakemq.client.transaction_operations import TransactionSendResult as TransactionSendResult
    from fakemq.protocol.bodies.queue import MessageQueue as MessageQueue
    from fakemq.protocol.codes import LanguageCode as LanguageCode
    from fakemq.protocol.command import SerializeType as SerializeType
    from fakemq.protocol.message import MessageExt as MessageExt

_HOMES = {
    "AllocateStrategy": "client.consuming.allocation",
    "AsyncCheck": "client.faces.options",
    "AsyncClient": "client.asynchronous",
    "AsyncExecute": "client.producing.settings",
    "AsyncLitePullConsumer": "client.faces.async_lite_pull_consumer",
    "AsyncProducer": "client.faces.async_producer",
    "AsyncPullConsumer": "client.faces.async_pulling",
    "AsyncPullScheduling": "client.faces.async_pulling",
    "AsyncPullTask": "client.faces.async_pulling",
    "AsyncPushConsumer": "client.faces.async_push_consumer",
    "AsyncScheduledPulling": "client.faces.async_pulling",
    "BatchOptions": "client.faces.messages",
    "Check": "client.producing.settings",
    "Client": "client.blocking",
    "Committing": "client.faces.lite_base",
    "ConsumeFrom": "client.consuming.settings",
    "ConsumeResult": "client.consuming.received",
    "ConsumeStatus": "client.consuming.received",
    "Execute": "client.producing.settings",
    "LanguageCode": "protocol.codes",
    "LitePullConsumer": "client.faces.lite_pull_consumer",
    "LocalTransactionState": "client.messages",
    "MQBrokerError": "client.errors",
    "MQClientError": "client.errors",
    "Message": "client.messages",
    "MessageExt": "protocol.message",
    "MessageModel": "client.consuming.settings",
    "MessageQueue": "protocol.bodies.queue",
    "MessageQueueListener": "client.consuming.lite_queues",
    "OnMessage": "client.faces.handlers",
    "OnMessages": "client.faces.handlers",
    "OnewayOptions": "client.faces.messages",
    "Producer": "client.faces.producer",
    "PullConsumer": "client.faces.pulling",
    "PullResult": "client.messages",
    "PullScheduling": "client.faces.pulling",
    "PullStatus": "client.messages",
    "PullTask": "client.faces.pulling",
    "PullTaskContext": "client.consuming.pull_schedule",
    "Pulled": "client.consuming.received",
    "PushConsumer": "client.faces.push_consumer",
    "QueueListener": "client.consuming.queue_listeners",
    "ReceivedMessage": "client.consuming.received",
    "RemotingError": "client.errors",
    "RequestTimeoutError": "client.errors",
    "SQL": "client.consuming.settings",
    "ScheduledPulling": "client.faces.pulling",
    "Selector": "client.consuming.settings",
    "SendOptions": "client.faces.messages",
    "SendResult": "client.messages",
    "SendStatus": "client.messages",
    "SerializeType": "protocol.command",
    "ServiceState": "client.service_state",
    "Subscribe": "client.faces.handlers",
    "TransactionSendResult": "client.transaction_operations",
    "create_reply_message": "client.producing.request_reply",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    # On first use: blocking programs need no anyio, and some need a message alone.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"fakemq.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
