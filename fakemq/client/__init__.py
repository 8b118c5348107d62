"""The client core: sans-IO operations, and a blocking and an asynchronous client that run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.blocking import Client as Client
from fakemq.client.errors import MQBrokerError as MQBrokerError
from fakemq.client.errors import MQClientError as MQClientError
from fakemq.client.errors import RemotingError as RemotingError
from fakemq.client.messages import LocalTransactionState as LocalTransactionState
from fakemq.client.messages import Message as Message
from fakemq.client.messages import PullResult as PullResult
from fakemq.client.messages import PullStatus as PullStatus
from fakemq.client.messages import SendResult as SendResult
from fakemq.client.messages import SendStatus as SendStatus
from fakemq.client.transaction_operations import TransactionSendResult as TransactionSendResult

if TYPE_CHECKING:
    from fakemq.client.asynchronous import AsyncClient as AsyncClient


def __getattr__(name: str) -> object:
    # Imported on first use, because a blocking program needs no anyio.
    if name != "AsyncClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fakemq.client.asynchronous import AsyncClient

    return AsyncClient
