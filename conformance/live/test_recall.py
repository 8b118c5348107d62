"""A Python producer recalls a timer message at a real broker of 5.5.0."""

from __future__ import annotations

from threading import Event

from conformance.drivers.v5_clients import brokers
from fakemq.client import Producer, PushConsumer, ReceivedMessage

TIMED = {"TIMER_DELAY_SEC": "3"}


# Real time: the broker delivers timer messages at the end of their second.
def test_recalled_message_is_not_delivered_by_java(java: None) -> None:
    received: list[bytes] = []
    kept = Event()

    def on_message(message: ReceivedMessage) -> None:
        received.append(message.body)
        if message.body == b"kept":
            kept.set()

    with brokers(fake=False) as where, Producer(where.namesrv_addr, group="PRecall") as producer:
        queue = producer.send("SRecall", b"first").queue
        sent = producer.send("SRecall", b"recalled", queue=queue, properties=TIMED)
        assert sent.recall_handle is not None
        assert producer.recall_message("SRecall", sent.recall_handle) == sent.message_id
        producer.send("SRecall", b"kept", queue=queue, properties=TIMED)
        with PushConsumer(
            where.namesrv_addr,
            group="GRecall",
            subscribe="SRecall",
            on_message=on_message,
            consume_from="first",
        ):
            assert kept.wait(60)
    assert received == [b"first", b"kept"]
