"""Consumers of the tests of faces, and what they have consumed."""

from __future__ import annotations

from typing import Any

import fakemq
from fakemq.client import PushConsumer, ReceivedMessage

LONG_S = 30.0
RETRY = "%RETRY%billing"


class Seen:
    """Keeps what it consumes."""

    def __init__(self) -> None:
        self.messages: list[ReceivedMessage] = []

    def __call__(self, message: ReceivedMessage) -> None:
        self.messages.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return sorted(message.body for message in self.messages)


def consumer(mq: fakemq.Cluster, **options: Any) -> PushConsumer:
    options = {"subscribe": {"orders": "*"}, "consume_from": "first"} | options
    return PushConsumer(mq.namesrv_addr, group="billing", **options)


def consumed(mq: fakemq.Cluster, topic: str = "orders") -> bool:
    return mq.group("billing").lag(topic) == 0
