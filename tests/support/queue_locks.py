"""Requests that lock and unlock queues of a topic."""

from __future__ import annotations

import json

QUEUES: list[dict[str, object]] = [
    {"brokerName": "broker-a", "queueId": n, "topic": "orders"} for n in range(2)
]


def lock_body(client_id: str, queues: list[dict[str, object]]) -> bytes:
    """Return the body of LOCK_BATCH_MQ or UNLOCK_BATCH_MQ."""
    return json.dumps({"clientId": client_id, "consumerGroup": "g", "mqSet": queues}).encode()
