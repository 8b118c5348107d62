"""What the Python client does with some keys: keys.py ADDRESS KEY SECRET TOPIC GROUP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rocketmq import (
    ClientConfiguration,
    Credentials,
    FilterExpression,
    Message,
    Producer,
    SimpleConsumer,
)
from rocketmq.v5.exception import InternalErrorException


def tell(what: str, act: Callable[[], object]) -> bool:
    """Say whether something was done, or how it was refused."""
    try:
        act()
    except Exception as error:
        print(f"{what}: {type(error).__name__} {error}", flush=True)
        return False
    print(f"{what}: done", flush=True)
    return True


def started(client: Any) -> Callable[[], None]:
    def start() -> None:
        asyncio.set_event_loop(client.rpc_client.get_channel_io_loop())
        client.startup()

    return start


def main(address: str, key: str, secret: str, topic: str, group: str) -> None:
    configuration = ClientConfiguration(address, Credentials(key, secret), request_timeout=10)
    producer = Producer(configuration, [topic])
    if tell("a producer", started(producer)):
        message = Message()
        message.topic, message.body = topic, b"hello"
        tell("a send", lambda: producer.send(message))
    everything = {topic: FilterExpression()}
    consumer = SimpleConsumer(configuration, group, everything, await_duration=5)
    if tell("a consumer", started(consumer)):
        received: list[Any] = []

        def receive() -> None:
            while not received:
                with suppress(InternalErrorException):  # the front does not know it at first
                    received.extend(consumer.receive(16, 10))

        if tell("a receive", receive):
            tell("an acknowledgement", lambda: consumer.ack(received[0]))


main(*sys.argv[1:])
os._exit(0)  # what was refused leaves threads that never end
