"""A push consumer of one topic, and all that its listener was given."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.python.reaching import assigned
from conformance.python.seen import Seen, keys, received
from conformance.python.steps import await_, places
from fakemq.client import PushConsumer, ReceivedMessage
from fakemq.protocol.bodies.queue import MessageQueue


class Ear:
    """Receives every message and acknowledges it."""

    def __init__(self) -> None:
        self.messages: list[Seen] = []
        self.consumer: PushConsumer

    def listen(self, message: ReceivedMessage) -> None:
        """Be its listener."""
        self.messages.append(received(message))

    def assigned(self, topic: str) -> Sequence[MessageQueue]:
        """Return the queues of a topic that it holds now."""
        return assigned(self.consumer, topic)

    def share(self, topic: str) -> str:
        """Return these queues as ``broker-a:0 broker-a:1``."""
        return places(self.assigned(topic))

    def await_queues(self, topic: str, count: int) -> None:
        """Wait until it holds this number of queues of a topic."""
        await_(f"{count} queues of {topic}", lambda: len(self.assigned(topic)) == count)

    def await_messages(self, count: int) -> None:
        """Wait until it has received this number of messages."""
        await_(f"{count} messages", lambda: len(self.messages) >= count)

    def await_keys(self, count: int) -> None:
        """Wait until it has received messages with this number of keys."""
        await_(f"{count} keys", lambda: len(self.keys()) >= count)

    def await_all(self, keys: set[str]) -> None:
        """Wait until it has received messages with these keys."""
        await_(f"all of {sorted(keys)}", lambda: keys <= self.keys())

    def keys(self) -> set[str]:
        """Return the keys of what it received."""
        return keys(self.messages)

    def summary(self) -> str:
        """Return the keys, and in how many messages they came."""
        return f"[{', '.join(sorted(self.keys()))}] in {len(self.messages)}"
