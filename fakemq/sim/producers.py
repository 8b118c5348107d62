"""Clients that send: one class for each kind of message; send times come from their own stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.messages import LocalTransactionState, Message, SendResult
from fakemq.client.producing.producer import ProducerCore
from fakemq.client.producing.settings import ProducerSettings
from fakemq.client.tasks import Sleep, Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    PRIORITY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
)
from fakemq.sim.client import ATTEMPTS, RESEND_MS, Sender, why
from fakemq.sim.events import Decided, RecallEnded, Sent

if TYPE_CHECKING:
    import random

    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.message import MessageExt
    from fakemq.sim.plan import ProducerPlan


class SendingClient(Sender):
    """Sends by a producer, and writes each result to the journal."""

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan, draw, until_ms)
        self._producer = ProducerCore(self.services, self.settings())

    def settings(self) -> ProducerSettings:
        plan = self.plan
        return ProducerSettings(group=f"group-of-{plan.name}", send_timeout_ms=plan.send_timeout_ms)

    def tasks(self) -> list[Task[None]]:
        return [self._sending()]

    def _sending(self) -> Task[None]:
        yield from self._producer.start()
        yield from super()._sending()

    def send_one(self, key: str) -> Task[bool]:
        return (yield from self.send(self.message(key)))

    def message(self, key: str) -> Message:
        body = self.random.randbytes(self.random.randint(1, self.plan.body_bytes))
        return Message(self.plan.topic, key.encode() + b" " + body, keys=key)

    def send(
        self, message: Message, queue: MessageQueue | None = None, shard: str = "", number: int = 0
    ) -> Task[bool]:
        """Send a message and write the result to the journal."""
        try:
            result = yield from self._producer.send(message, queue=queue)
        except (MQBrokerError, MQClientError, RemotingError) as error:
            self.failed(message.keys, why(error))
            return False
        self.sent(message, result, shard, number)
        return True

    def sent(self, message: Message, result: SendResult, shard: str = "", number: int = 0) -> None:
        self.journal.add(
            Sent(
                node=self.name,
                topic=message.topic,
                key=message.keys,
                msg_id=result.msg_id,
                broker=result.queue.broker_name or "",
                queue_id=result.queue.queue_id,
                queue_offset=result.queue_offset,
                phy_offset=decode_offset_id(result.offset_msg_id).physical_offset,
                status=result.status.name,
                shard=shard,
                number=number,
            )
        )


class OnewayProducer(SendingClient):
    """Sends one-way: there is no response, so no broker promises to keep its messages."""

    def send_one(self, key: str) -> Task[bool]:
        try:
            yield from self._producer.send_oneway(self.message(key))
        except (MQBrokerError, MQClientError, RemotingError):
            return False
        return True


class DelayedProducer(SendingClient):
    """Sends messages with delay levels."""

    def message(self, key: str) -> Message:
        message = super().message(key)
        message.properties[DELAY_TIME_LEVEL] = str(self.random.randint(1, self.plan.delay_levels))
        return message


class OrderedProducer(SendingClient):
    """Sends the messages of a shard to one queue; each waits until the previous one is stored."""

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan, draw, until_ms)
        self._numbers: dict[str, int] = {}

    def send_one(self, key: str) -> Task[bool]:
        place = self.random.randrange(len(self.plan.queues))
        broker_name, queue_id = self.plan.queues[place]
        queue = MessageQueue(topic=self.plan.topic, broker_name=broker_name, queue_id=queue_id)
        shard = f"{self.name}/{place}"
        number = self._numbers[shard] = self._numbers.get(shard, 0) + 1
        message = self.message(key)
        for _ in range(ATTEMPTS):
            if (yield from self.send(message, queue, shard, number)):
                return True
            yield Sleep(RESEND_MS)
        return False


class TransactionalProducer(SendingClient):
    """Sends half messages.

    It decides at once, or when the broker checks the transaction, or only at a later check.
    """

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan, draw, until_ms)
        self._ends: dict[str, LocalTransactionState] = {}
        # The transactions whose half message is being sent: a slow answer comes after the check.
        self._begun: set[str] = set()

    def settings(self) -> ProducerSettings:
        return replace(super().settings(), check=self._check)

    def send_one(self, key: str) -> Task[bool]:
        message = self.message(key)
        self._begun.add(key)
        try:
            result = yield from self._producer.send_in_transaction(message, self._execute)
        except (MQBrokerError, MQClientError, RemotingError) as error:
            self.failed(message.keys, why(error))
            return False
        finally:
            self._begun.discard(key)
        self.sent(message, result.sent)
        return True

    def _execute(self, message: Message) -> LocalTransactionState:
        rolls_back = self.random.random() < 0.25
        state = LocalTransactionState.COMMIT_MESSAGE
        if rolls_back:
            state = LocalTransactionState.ROLLBACK_MESSAGE
        self._ends[message.keys] = state
        how = "rollback" if rolls_back else "commit"
        self.journal.add(Decided(node=self.name, topic=message.topic, key=message.keys, how=how))
        return LocalTransactionState.UNKNOW if self.random.random() < 0.3 else state

    def _check(self, message: MessageExt) -> LocalTransactionState:
        key = message.keys or ""
        if self.random.random() < 0.2 or (key in self._begun and key not in self._ends):
            return LocalTransactionState.UNKNOW
        # One without an end: the send failed, so the local transaction was never executed.
        return self._ends.get(key, LocalTransactionState.ROLLBACK_MESSAGE)


class TimerProducer(SendingClient):
    """Sends messages that have a time, and recalls some of them at any time before it."""

    longest_ms = 40_000
    recalling = 0.3

    def message(self, key: str) -> Message:
        message, delay_ms = super().message(key), self.random.randint(1, self.longest_ms)
        name = self.random.choice((TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS))
        value = {
            TIMER_DELAY_SEC: delay_ms // 1_000,
            TIMER_DELAY_MS: delay_ms,
            TIMER_DELIVER_MS: self.clock.now_ms() + delay_ms,
        }
        message.properties[name] = str(value[name])
        return message

    def sent(self, message: Message, result: SendResult, shard: str = "", number: int = 0) -> None:
        super().sent(message, result, shard, number)
        if result.recall_handle is not None and self.random.random() < self.recalling:
            self.run(self._recalling(message, result, self.random.randint(0, self.longest_ms // 2)))

    def _recalling(self, message: Message, result: SendResult, pause_ms: int) -> Task[None]:
        yield Sleep(pause_ms)
        well = True
        try:
            yield from self._producer.recall_message(message.topic, result.recall_handle or "")
        except (MQBrokerError, MQClientError, RemotingError):
            well = False
        self.journal.add(
            RecallEnded(
                node=self.name,
                topic=message.topic,
                key=message.keys,
                msg_id=result.msg_id,
                broker=result.queue.broker_name or "",
                phy_offset=decode_offset_id(result.offset_msg_id).physical_offset,
                well=well,
            )
        )


class PriorityProducer(SendingClient):
    """Sends messages of different priorities to a topic that has them."""

    def message(self, key: str) -> Message:
        message = super().message(key)
        message.properties[PRIORITY] = str(self.random.randint(0, 4))
        return message


KINDS: dict[str, type[SendingClient]] = {
    "oneway": OnewayProducer,
    "sync": SendingClient,
    "delayed": DelayedProducer,
    "ordered": OrderedProducer,
    "priority": PriorityProducer,
    "timer": TimerProducer,
    "transactional": TransactionalProducer,
}
