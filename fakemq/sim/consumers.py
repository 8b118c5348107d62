"""Clients that consume: members of a group, in order or not, and a reader outside any group."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, cast

from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.settings import PushSettings
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.pull_operations import PullOperations
from fakemq.client.tasks import Sleep, Task
from fakemq.sim.client import SimulatedClient
from fakemq.sim.events import Consumed, Received

if TYPE_CHECKING:
    import random

    from fakemq.client.consuming.received import Listener, ReceivedMessage
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.message import MessageExt
    from fakemq.sim.plan import ConsumerPlan

LOOK_MS = 20_000
"""How often a reader looks for more queues."""
NOTHING_NEW_MS = 5_000
"""The pause when a pull found nothing: brokers hold no pull of a reader."""
AFTER_ERROR_MS = 3_000
AGAIN_MS = 5_000

_ERRORS = (MQBrokerError, MQClientError, RemotingError)


class Consumer(SimulatedClient):
    """Consumes for one group, as ``plan`` says: which topics, and how often it fails."""

    def __init__(self, core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> None:
        super().__init__(core, plan.name, draw)
        self.plan = plan

    def process(
        self, message: MessageExt, broker: str, topic: str = "", times: int | None = None
    ) -> Generator[Sleep, None, bool]:
        """Process a message for a while; return whether it succeeded.

        ``topic`` and ``times`` are those of the message unless they are given.
        """
        place = Received(
            node=self.name,
            group=self.plan.group,
            topic=topic or message.topic,
            key=message.keys or "",
            msg_id=message.msg_id,
            broker=broker,
            queue_id=message.queue_id,
            queue_offset=message.queue_offset,
            times=message.reconsume_times if times is None else times,
        )
        return (yield from self.work(place))

    def work(self, place: Received) -> Generator[Sleep, None, bool]:
        """Process the message of ``place``; return whether it succeeded."""
        if self.plan.work_ms:
            self.journal.add(place)
            yield Sleep(self.random.randint(1, self.plan.work_ms))
        well = self.random.random() >= self.plan.failing
        self.journal.add(Consumed.of(place, well))
        return well


class MemberConsumer(Consumer):
    """A member of its group, by a push consumer."""

    def tasks(self) -> list[Task[None]]:
        return [self._starting()]

    def _starting(self) -> Task[None]:
        plan = self.plan
        settings = PushSettings(
            group=plan.group,
            subscribe=dict.fromkeys(plan.topics, "*"),
            ordered=plan.ordered,
            consume_from="first",
            consume_threads=plan.threads,
            pull_batch_size=plan.batch,
            max_reconsume_times=-1 if plan.ordered else plan.tries,
        )
        while True:
            consumer = PushConsumerCore(self.services, settings, self._listener)
            try:
                yield from consumer.start()
                return
            except _ERRORS:
                yield from consumer.shutdown()
                yield Sleep(AFTER_ERROR_MS)

    @property
    def _listener(self) -> Listener:
        # Its carrier runs the generator, and takes what that returns for the result.
        return cast("Listener", self._consume)

    def _consume(self, messages: Sequence[ReceivedMessage]) -> Generator[Sleep, None, None]:
        for message in messages:
            if not (yield from self.process(message.stored, message.broker_name)):
                message.retry_later()


class Reader(Consumer):
    """Reads every queue of its topics by itself."""

    def __init__(self, core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> None:
        super().__init__(core, plan, draw)
        self._pulls = PullOperations(self.instance, plan.group)
        self._queues: dict[MessageQueue, None] = {}

    def tasks(self) -> list[Task[None]]:
        return [self._looking()]

    def _looking(self) -> Task[None]:
        while True:
            for topic in self.plan.topics:
                try:
                    queues = yield from self.instance.subscribe_queues(topic)
                except _ERRORS:
                    continue
                for queue in queues:
                    if queue not in self._queues:
                        self._queues[queue] = None
                        self.run(self._reading(queue))
            yield Sleep(LOOK_MS)

    def _reading(self, queue: MessageQueue) -> Task[None]:
        offset: int | None = None
        while True:
            try:
                if offset is None:
                    offset = (yield from self._pulls.query_offset(queue)) or 0
                result = yield from self._pulls.pull(
                    queue, offset, max_messages=self.plan.batch, expression="*"
                )
            except _ERRORS:
                yield Sleep(AFTER_ERROR_MS)
                continue
            for message in result.messages:
                yield from self._processing(message, queue.broker_name or "")
            if result.next_begin_offset == offset:
                yield Sleep(NOTHING_NEW_MS)
                continue
            offset = result.next_begin_offset
            try:
                yield from self._pulls.update_offset(queue, offset, oneway=False)
            except _ERRORS:
                continue  # the next commit includes this one

    def _processing(self, message: MessageExt, broker: str) -> Task[None]:
        """Process a message until it succeeds."""
        while not (yield from self.process(message, broker)):
            yield Sleep(AGAIN_MS)
