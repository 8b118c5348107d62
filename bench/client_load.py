"""``python -m bench.client_load NAMESRV TOPIC KIND``: the Python client at work, as a program's.

KIND is ``threads`` or ``tasks``: 16 of them send without a pause. Or it is ``consumes``: a push
consumer of a group of its own. Each second a line says how much was done in it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable

from fakemq.client import AsyncProducer, Producer, PushConsumer, ReceivedMessage

IN_FLIGHT = 16
BODY = b"x" * 128
"""As large as the body that RocketMQ's benchmark programs send."""
SECONDS = 20
PATIENCE_MS = 10_000


def report(count: Callable[[], int]) -> None:
    """Print each second's difference of a counter, until the end."""
    before = count()
    due = time.monotonic()
    for _ in range(SECONDS):
        due += 1
        time.sleep(max(0.0, due - time.monotonic()))
        now = count()
        print(now - before, flush=True)
        before = now


def send_by_threads(namesrv_addr: str, topic: str) -> None:
    """Send with a blocking producer, from threads that each wait for their answer."""
    done = [0] * IN_FLIGHT
    with Producer(namesrv_addr, group="bench", send_timeout_ms=PATIENCE_MS) as producer:

        def send(number: int) -> None:
            while True:
                producer.send(topic, BODY)
                done[number] += 1

        for number in range(IN_FLIGHT):
            threading.Thread(target=send, args=(number,), daemon=True).start()
        report(lambda: sum(done))
        os._exit(0)


async def send_by_tasks(namesrv_addr: str, topic: str) -> None:
    """Send with an asynchronous producer, from tasks that each wait for their answer."""
    done = 0
    async with AsyncProducer(namesrv_addr, group="bench", send_timeout_ms=PATIENCE_MS) as producer:

        async def send() -> None:
            nonlocal done
            while True:
                await producer.send(topic, BODY)
                done += 1

        sends = [asyncio.create_task(send()) for _ in range(IN_FLIGHT)]
        await asyncio.to_thread(report, lambda: done)
        os._exit(len(sends) - IN_FLIGHT)


def consume(namesrv_addr: str, topic: str) -> None:
    """Consume a backlog with 20 threads, as Java's benchmark does."""
    done: list[int] = []

    def count(message: ReceivedMessage) -> None:
        done.append(len(message.body))

    with PushConsumer(
        namesrv_addr,
        group="bench-python",
        subscribe={topic: "*"},
        on_message=count,
        consume_from="first",
    ):
        report(lambda: len(done))
        os._exit(0)


def main(namesrv_addr: str, topic: str, kind: str) -> None:
    """Work for some seconds."""
    if kind == "threads":
        send_by_threads(namesrv_addr, topic)
    elif kind == "tasks":
        asyncio.run(send_by_tasks(namesrv_addr, topic))
    else:
        consume(namesrv_addr, topic)


if __name__ == "__main__":
    main(*sys.argv[1:])
