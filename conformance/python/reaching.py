"""What only the inside of a client shows or does; the Java program reaches into Java's for it too.

A program waits for a client's own timers, and asks a broker what its members hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakemq.client import Producer, PullConsumer, PushConsumer
from fakemq.client.services import ClientServices
from fakemq.client.tasks import Task
from fakemq.protocol.bodies.queue import MessageQueue


def assigned(consumer: PushConsumer, topic: str) -> Sequence[MessageQueue]:
    """Return the queues of a topic that a consumer holds now."""
    core = consumer._running_core()
    return [queue for queue in consumer._call(lambda: list(core.queues)) if queue.topic == topic]


def refresh(face: Producer | PushConsumer) -> None:
    """Do now what a client does every 30 s, ask for routes, and every 20 s, divide queues."""
    face._run(_refreshed(face._running_core().services))


def persist(consumer: PullConsumer) -> None:
    """Commit now what a consumer commits every 5 s."""
    consumer._run(consumer._running_core().services.persist_offsets())


def _refreshed(services: ClientServices) -> Task[None]:
    yield from services.update_routes()
    yield from services.rebalance()
