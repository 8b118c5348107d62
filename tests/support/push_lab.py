"""A push consumer on a `PlayedBroker`, with a listener that the test writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.received import ConsumeResult, ReceivedMessage
from fakemq.client.consuming.settings import PushSettings
from fakemq.client.services import ClientServices
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.played_broker import GROUP, PlayedBroker

React = Callable[[Sequence[ReceivedMessage]], ConsumeResult | None]


class PushLab:
    """Starts one consumer; ``consumed`` are the bodies that its listener got."""

    def __init__(
        self, broker: PlayedBroker, react: React | None = None, /, **settings: object
    ) -> None:
        self.broker = broker
        self.carrier = broker.carrier
        self.react = react
        self.batches: list[list[ReceivedMessage]] = []
        self.services: ClientServices = broker.services()
        options = {"group": GROUP, "subscribe": {"orders": "*"}, **settings}
        self.core = PushConsumerCore(self.services, PushSettings(**options), self._listen)  # type: ignore[arg-type]

    def start(self) -> PushLab:
        self.carrier.run(self.core.start())
        self.carrier.settle()
        return self

    def _listen(self, messages: Sequence[ReceivedMessage]) -> ConsumeResult | None:
        self.batches.append(list(messages))
        return None if self.react is None else self.react(messages)

    def owned(self, topic: str = "orders") -> list[MessageQueue]:
        """The queues of a topic that the consumer has now."""
        return [queue for queue in self.core.queues if queue.topic == topic]

    @property
    def messages(self) -> list[ReceivedMessage]:
        return [one for batch in self.batches for one in batch]

    @property
    def consumed(self) -> list[bytes]:
        return [one.body for one in self.messages]

    def put(self, *bodies: bytes, **fields: object) -> None:
        """Store messages, and let the consumer have them."""
        for body in bodies:
            self.broker.put(body, **fields)  # type: ignore[arg-type]
        self.carrier.settle()

    def advance(self, ms: int) -> None:
        self.carrier.advance(ms)
