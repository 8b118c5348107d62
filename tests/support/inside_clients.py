"""What tests of clients inside a cluster share."""

from __future__ import annotations

from fakemq.handles.clients.consumers import InsideConsuming

TOPICS = {"orders": 4, "payments": 2}


def bodies(consumer: InsideConsuming) -> list[bytes]:
    """Return the bodies that a consumer got, in order."""
    return [message.body for message in consumer.received]
