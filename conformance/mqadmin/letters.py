"""Messages that wait, dead letters, and groups whose members disagree: contents of a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.mqadmin.state import State, addresses, lag, wait_routed
from conformance.targets.java_cluster import wait_until
from conformance.wire.raw import create_topic
from fakemq.client import Client, Message, Producer, PushConsumer, ReceivedMessage

LETTERS, EMPTY = "MLetters", "MEmpty"
"""Topics with one queue, at broker-a."""
FAILING, BLUE, MIXED, BROADCAST = "GFailing", "GBlue", "GMixed", "GBroadcast"
DEAD = f"%DLQ%{FAILING}"
LEVEL, LEVEL_QUEUE = 18, 17
"""Two hours, and the queue of that delay level."""


@contextmanager
def letters(namesrv_addr: str) -> Iterator[State]:
    """A message of each kind that no group has at once, and members of every kind."""
    with Client(namesrv_addr) as client, tempfile.TemporaryDirectory() as offsets:
        addrs = addresses(client, namesrv_addr)
        retries = [f"%RETRY%{group}" for group in (FAILING, BLUE, MIXED, BROADCAST)]
        for topic in (LETTERS, EMPTY, *retries):
            create_topic(addrs["broker-a"], topic, 1)
        for topic in (LETTERS, EMPTY, *retries):
            wait_routed(client, topic, 1)
        with Producer(namesrv_addr, group="GLetters", instance_name="mqadmin-producer") as producer:
            plain = producer.send(LETTERS, b"plain", tags="red", keys="plain")
            later = producer.send(LETTERS, b"later", keys="later", delay_level=LEVEL)
            producer.send_in_transaction(Message(LETTERS, b"half", keys="half"), lambda _: None)
            with (
                _consumer(namesrv_addr, BLUE, LETTERS, "blue") as blue,
                _consumer(namesrv_addr, MIXED, EMPTY, "red", name="mixed-1"),
                _consumer(namesrv_addr, MIXED, EMPTY, "blue", name="mixed-2"),
                PushConsumer(
                    namesrv_addr,
                    group=BROADCAST,
                    subscribe={LETTERS: "*"},
                    on_message=_consume,
                    message_model="BROADCASTING",
                    offsets_directory=offsets,
                    instance_name="mqadmin-broadcast",
                ) as broadcast,
            ):
                with _consumer(namesrv_addr, FAILING, LETTERS, "*", max_reconsume_times=0):
                    wait_routed(client, DEAD, 1)
                wait_until(lambda: lag(client, FAILING, 2) == 0, EVENT_TIMEOUT_S)
                # A consumer commits for the first time after 10 s, or when it ends.
                wait_until(lambda: lag(client, BLUE, 2) == 0, EVENT_TIMEOUT_S)
                ids = {"plain": plain.offset_msg_id, "later": later.offset_msg_id}
                keys = {"plain": plain.msg_id, "later": later.msg_id}
                clients = {"blue": blue.client_id, "broadcast": broadcast.client_id}
                yield State(addrs, ids, keys, clients)


def _consumer(
    namesrv_addr: str,
    group: str,
    topic: str,
    tags: str,
    *,
    name: str = "",
    max_reconsume_times: int = -1,
) -> PushConsumer:
    """Return a consumer that fails where a message may not be tried again."""
    return PushConsumer(
        namesrv_addr,
        group=group,
        subscribe={topic: tags},
        on_message=_fail if max_reconsume_times == 0 else _consume,
        consume_from="first",
        max_reconsume_times=max_reconsume_times,
        instance_name=f"mqadmin-{name or group}",
        persist_interval_ms=200,
    )


def _consume(message: ReceivedMessage) -> None:
    """Acknowledge."""


def _fail(message: ReceivedMessage) -> None:
    message.retry_later(-1)
