"""A lite pull consumer of a `PlayedBroker`, on virtual time."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fakemq.client.consuming.lite_pull import LitePullConsumerCore
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.services import ClientServices
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.played_broker import GROUP, PlayedBroker

T = TypeVar("T")


class LiteLab:
    """``consumer`` subscribes to ``orders`` from the first message on, unless settings differ."""

    def __init__(
        self, *, queues: int = 1, started: bool = True, assigns: bool = False, **settings: object
    ) -> None:
        self.broker = PlayedBroker(queues=queues)
        self.carrier = self.broker.carrier
        self.services: ClientServices = self.broker.services()
        subscribe = {} if assigns else {"orders": "*"}
        usual = {"group": GROUP, "consume_from": "first", "subscribe": subscribe}
        chosen = msgspec.structs.replace(LitePullSettings(group=GROUP), **{**usual, **settings})
        self.consumer = LitePullConsumerCore(self.services, chosen)
        if started:
            self.run(self.consumer.start())

    def run(self, task: Task[T], *, within_ms: int = 0) -> T:
        """Run a task to its end."""
        return self.carrier.run(task, within_ms=within_ms)

    def poll(self, timeout_ms: int = 0) -> list[bytes]:
        """Poll; return the bodies."""
        messages = self.run(self.consumer.poll(timeout_ms), within_ms=timeout_ms)
        return [one.body for one in messages]

    def poll_all(self) -> list[bytes]:
        """Poll until nothing comes; return the bodies."""
        bodies: list[bytes] = []
        while found := self.poll():
            bodies += found
            self.carrier.settle()
        return bodies

    def put(self, *bodies: bytes, queue_id: int = 0, tags: str = "") -> None:
        """Store messages; what is pulled arrives."""
        for body in bodies:
            self.broker.put(body, queue_id=queue_id, tags=tags)
        self.carrier.settle()

    def queue(self, queue_id: int = 0, topic: str = "orders") -> MessageQueue:
        return self.broker.queue(queue_id, topic)
