"""Long-lived clients that a test steers, with the commands and events of the Java program.

``produce TOPIC GROUP PER_SECOND``: ``ready``, then ``ack ID STATUS BROKER QUEUE OFFSET`` or ``fail
ID EXCEPTION`` for each message; commands ``go``, ``pause``, ``send ID``, ``find KEY``, ``stop``.

``consume TOPIC GROUP EXPRESSION INSTANCE [orderly]``: ``ready``, then ``recv EPOCH_MS ID BROKER
QUEUE OFFSET RECONSUME_TIMES``; commands ``assigned``, ``stop``, ``halt``.

The end of stdin is a ``halt``: no clean-up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence

from conformance.python.reaching import assigned
from conformance.python.spelling import event
from conformance.python.steps import places
from fakemq.client import Client, Message, Producer, PushConsumer, ReceivedMessage
from fakemq.errors import FakemqError
from fakemq.protocol.java import crc32
from fakemq.protocol.sysflag import MessageSysFlag

PATIENCE_MS = 15_000


def commands() -> Sequence[str]:
    """Yield the lines of stdin."""
    return (line.rstrip("\n") for line in sys.stdin)  # type: ignore[return-value]


def produce(namesrv_addr: str, topic: str, group: str, per_second: str) -> None:
    """Send at a rate, and single messages."""
    producer = Producer(
        namesrv_addr,
        group=group,
        instance_name="driver",
        send_timeout_ms=PATIENCE_MS,
        api_timeout_ms=PATIENCE_MS,
    )
    producer.start()
    going, ending = threading.Event(), threading.Event()
    sender = threading.Thread(
        target=_send_on, args=(producer, topic, int(per_second), going, ending), daemon=True
    )
    sender.start()
    event("ready")
    for command in commands():
        word, _, rest = command.partition(" ")
        if word == "go":
            going.set()
        elif word == "pause":
            going.clear()
        elif word == "send":
            _send(producer, topic, rest)
        elif word == "find":
            with Client(namesrv_addr, api_timeout_ms=PATIENCE_MS) as client:
                event(f"found {rest} {len(client.query_messages(topic, rest, max_num=32))}")
        elif word == "stop":
            ending.set()
            going.set()
            sender.join()
            producer.close()
            event("stopped")
            return
    os._exit(0)


def _send_on(
    producer: Producer,
    topic: str,
    per_second: int,
    going: threading.Event,
    ending: threading.Event,
) -> None:
    number, gap_s = 0, 1 / per_second
    due = time.monotonic()
    while not ending.is_set():
        now = time.monotonic()
        due = max(due + gap_s, now - gap_s)
        time.sleep(max(0.0, due - now))
        if not going.is_set():
            going.wait()
        elif not ending.is_set():
            _send(producer, topic, f"id-{number:06d}")
            number += 1


def _send(producer: Producer, topic: str, id: str) -> None:
    try:
        result = producer.send(Message(topic, id, tags="driver", keys=id))
    except FakemqError as error:
        event(f"fail {id} {type(error).__name__} {str(error).splitlines()[0]}")
        return
    where = f"{result.broker_name} {result.queue_id} {result.queue_offset}"
    event(f"ack {id} {result.status.name} {where}")


def consume(
    namesrv_addr: str, topic: str, group: str, expression: str, instance: str, *more: str
) -> None:
    """Hear every message of a topic."""
    consumer = PushConsumer(
        namesrv_addr,
        group=group,
        subscribe={topic: expression},
        on_message=_received,
        instance_name=instance,
        api_timeout_ms=PATIENCE_MS,
        consume_from="first",
        ordered="orderly" in more,
    )
    consumer.start()
    event("ready")
    for command in commands():
        if command == "assigned":
            event(f"assigned {places(assigned(consumer, topic))}")
        elif command == "stop":
            consumer.close()
            event("stopped")
            return
        elif command == "halt":
            break
    os._exit(0)


def _received(one: ReceivedMessage) -> None:
    is_stored_so = not one.sys_flag & MessageSysFlag.COMPRESSED
    damaged = is_stored_so and crc32(one.body) != one.stored.body_crc
    event(
        f"recv {time.time_ns() // 1_000_000} {one.keys} {one.broker_name} {one.queue_id}"
        f" {one.queue_offset} {one.reconsume_times}{' damaged' if damaged else ''}"
    )
