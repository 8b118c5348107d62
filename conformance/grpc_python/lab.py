"""Clients and telling for one scenario of RocketMQ 5's Python client, `rocketmq`.

Topics and groups are made, and what is stored is looked at, over remoting at the brokers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    Producer,
    PushConsumer,
    SimpleConsumer,
)
from rocketmq.v5.exception import InternalErrorException

from conformance.python.lab import Lab
from conformance.python.spelling import spelled
from conformance.python.steps import await_, routed
from conformance.wire.raw import create_topic
from fakemq.protocol.bodies.group import (
    CustomizedRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)

ATTEMPTS = 3
QUEUES = 2
REQUEST_TIMEOUT_S = 15
AWAIT_S = 5
"""How long the proxy waits for a message before it answers without one."""
INVISIBLE_S = 10
"""The shortest time for which a proxy lets a client receive a message."""
PATIENCE_S = 90.0


class GrpcLab(Lab):
    """One scenario's run behind a proxy."""

    def __init__(
        self, namesrv_addr: str, proxy_addr: str, scenario: str, suffix: str, home: Path
    ) -> None:
        super().__init__(namesrv_addr, scenario, suffix, home)
        self._configuration = ClientConfiguration(
            proxy_addr, Credentials(), request_timeout=REQUEST_TIMEOUT_S
        )

    # -- topics and groups ------------------------------------------------------

    def typed_topic(self, name: str, message_type: str) -> str:
        """Create a topic of a type on every master; the proxy asks for it when a client does."""
        topic = self.topic(name)
        for addr in self.masters.values():
            create_topic(addr, topic, QUEUES, attributes=f"+message.type={message_type}")
        wanted = QUEUES * len(self.masters)
        await_(f"route of {topic}", lambda: routed(lambda: len(self.queues(topic)) == wanted))
        return topic

    def fill(self, name: str) -> None:
        """Let every master store a message.

        Brokers take a prepared message at the beginning of a log for one that is not prepared.
        """
        topic = self.typed_topic(name, "NORMAL")
        producer = self.sender(topic)
        for number in range(QUEUES * len(self.masters)):
            producer.send(message(topic, f"m{number}"))

    def retrying_group(self, name: str, *, orderly: bool = False) -> str:
        """Create a group that tries three times, the second and third time after a second."""
        group = self.group(name)
        config = SubscriptionGroupConfig(
            group_name=group,
            retry_max_times=ATTEMPTS - 1,
            consume_message_orderly=orderly,
            group_retry_policy=GroupRetryPolicy(
                customized_retry_policy=CustomizedRetryPolicy(next=[1_000])
            ),
        )
        self.client.create_group(config)
        return group

    def buried(self, group: str, count: int = 1) -> list[str]:
        """Return the keys of a group's dead letters, once there are ``count``."""
        return [one.keys for one in self.stored(f"%DLQ%{group}", count)]

    def has_buried(self, group: str) -> bool:
        """Return whether a group has a dead letter."""
        return routed(lambda: self.total(f"%DLQ%{group}") > 0)

    # -- clients ----------------------------------------------------------------

    def sender(self, topic: str, checker: object = None) -> Any:
        """Return a started producer; ``checker`` has a method ``check``, for transactions."""
        return self._begun(Producer(self._configuration, [topic], checker))

    def simple(self, group: str, topic: str, expression: Any = None) -> Any:
        """Return a started simple consumer of one topic; everything without an expression."""
        subscription = {topic: expression or FilterExpression()}
        return self._begun(
            SimpleConsumer(self._configuration, group, subscription, await_duration=AWAIT_S)
        )

    def push(self, group: str, topic: str, succeeds: Callable[[Any], bool]) -> Any:
        """Return a started push consumer; ``succeeds`` says for each message how it went."""
        listener = _Listener(succeeds)
        subscription = {topic: FilterExpression()}
        return self._begun(PushConsumer(self._configuration, group, listener, subscription))

    def _begun(self, client: Any) -> Any:
        # A call of grpc.aio wants an event loop of its thread. The client sets one only in the
        # thread that makes a channel: with load, another than that of the scenario.
        asyncio.set_event_loop(client.rpc_client.get_channel_io_loop())
        client.startup()
        self.at_end.callback(client.shutdown)
        return client


class _Listener:
    def __init__(self, succeeds: Callable[[Any], bool]) -> None:
        self._succeeds = succeeds

    def consume(self, message: Any) -> Any:
        """Called on a thread of the client."""
        return ConsumeResult.SUCCESS if self._succeeds(message) else ConsumeResult.FAILURE


def message(topic: str, key: str, tag: str = "t", **properties: str) -> Any:
    """Return a message with a key, and a body that names it."""
    made = Message()
    made.topic, made.tag, made.keys = topic, tag, key
    made.body = f"body of {key}".encode()
    for name, value in properties.items():
        made.add_property(name, value)
    return made


def key_of(found: Any) -> str:
    """Return the key of a message."""
    return " ".join(sorted(found.keys))


def shown(found: Any) -> str:
    """Return what every correct cluster shows of a received message."""
    properties = {name: found.properties[name] for name in sorted(found.properties)}
    properties.pop("TRANSACTION_CHECK_TIMES", None)  # a busy machine causes more than one check
    return (
        f"topic={found.topic} keys={spelled(found.keys)} tag={found.tag}"
        f" body={found.body.decode()} properties={spelled(properties)}"
        f" group={spelled(found.message_group)} attempt={found.delivery_attempt}"
        f" corrupted={spelled(found.corrupted)}"
    )


def receive_some(consumer: Any, most: int = 16) -> list[Any]:
    """Return what one request of a simple consumer gets.

    The client does not wait for its settings: until the proxy has them it refuses to receive.
    """
    with suppress(InternalErrorException):
        return list(consumer.receive(most, INVISIBLE_S))
    return []


def receive_one(consumer: Any) -> Any:
    """Return one message, which is not acknowledged."""
    found: list[Any] = []

    def receive() -> bool:
        found.extend(receive_some(consumer, 1))
        return bool(found)

    await_("a message", receive, PATIENCE_S)
    return found[0]


def receive_all(consumer: Any, count: int, at_once: int = 16) -> list[Any]:
    """Return ``count`` messages in the order in which they came, each acknowledged at once."""
    found: list[Any] = []

    def receive() -> bool:
        for one in receive_some(consumer, at_once):
            found.append(one)
            consumer.ack(one)
        return len(found) >= count

    await_(f"{count} messages", receive, PATIENCE_S)
    return found


def seconds_since(begin: float) -> float:
    """Return the time that has passed since a reading of `time.monotonic`."""
    return time.monotonic() - begin
