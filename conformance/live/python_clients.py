"""What Python clients see that send, consume and query, in lines."""

from __future__ import annotations

from typing import Any

from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.targets.java_cluster import wait_until
from fakemq.client import (
    Client,
    LocalTransactionState,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
)


def seen_by_clients(namesrv_addr: str, topic: str, **options: Any) -> list[str]:
    """Return what clients with these options see; the first send creates the topic."""
    received = set[str]()
    seen = []

    def receive(message: ReceivedMessage) -> None:
        received.add(message.body.decode())

    with Producer(namesrv_addr, group=f"P{topic}", **options) as producer:
        batch = [Message(topic, body) for body in (b"two", b"three")]
        seen.append(producer.send(topic, b"one").status.name)
        seen.append(producer.send_batch(batch).status.name)
        commit = LocalTransactionState.COMMIT_MESSAGE
        half = producer.send_in_transaction(Message(topic, b"four"), lambda _: commit)
        seen.append(half.status.name)
    with PushConsumer(
        namesrv_addr,
        group=f"G{topic}",
        subscribe={topic: "*"},
        on_message=receive,
        consume_from="first",
        **options,
    ):
        wait_until(lambda: len(received) == 4, EVENT_TIMEOUT_S)
    seen.append(f"received {sorted(received)}")
    with Client(namesrv_addr, **options) as client:
        sent = client.send(Message(topic, b"five", keys="five"))
        wait_until(lambda: _is_found(client, topic, sent.msg_id), EVENT_TIMEOUT_S)
    return seen


def _is_found(client: Client, topic: str, unique_key: str) -> bool:
    """Return whether a query finds a message; that of Java's client is refused."""
    found = client.query_message_by_unique_key(topic, unique_key)
    return found is not None and found.body == b"five"
