"""``python -m conformance.grpc_python.commanded ADDR TOPIC GROUP``: one producer and one consumer.

It reads a command a line, ``send BODY``, ``receive`` or ``ack``, and prints what came of it: the
bodies that arrived with their attempt, ``sent``, ``acknowledged``, or the name of the error.
"""

from __future__ import annotations

import sys
from typing import Any

from rocketmq import (
    ClientConfiguration,
    Credentials,
    FilterExpression,
    Message,
    Producer,
    SimpleConsumer,
)

REQUEST_TIMEOUT_S = 3
AWAIT_S = 5
INVISIBLE_S = 10


def main(addr: str, topic: str, group: str) -> None:
    """Obey until stdin ends."""
    configuration = ClientConfiguration(addr, Credentials(), request_timeout=REQUEST_TIMEOUT_S)
    producer = Producer(configuration, (topic,))
    producer.startup()
    consumer = SimpleConsumer(configuration, group, {topic: FilterExpression()}, AWAIT_S)
    consumer.startup()
    received: list[Any] = []
    print("ready", flush=True)
    for line in sys.stdin:
        command, _, body = line.strip().partition(" ")
        try:
            if command == "send":
                message = Message()
                message.topic, message.body = topic, body.encode()
                producer.send(message)
                seen = "sent"
            elif command == "receive":
                received = consumer.receive(16, INVISIBLE_S) or []
                seen = " ".join(f"{one.body.decode()}#{one.delivery_attempt}" for one in received)
            else:
                for one in received:
                    consumer.ack(one)
                seen = "acknowledged"
        except Exception as error:
            seen = f"{type(error).__name__}"
        print(seen or "nothing", flush=True)
    consumer.shutdown()
    producer.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
