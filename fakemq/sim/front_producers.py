"""Clients that send over gRPC: one class for each type of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.client.tasks import Sleep
from fakemq.events.core import LogAppended
from fakemq.protocol.grpc.messages import (
    ClientType,
    EndTransactionRequest,
    Message,
    MessageType,
    RecallMessageRequest,
    SendMessageRequest,
    Settings,
    SystemProperties,
    TransactionResolution,
    TransactionSource,
)
from fakemq.proxy.status import Code
from fakemq.proxy.times import timestamp_of
from fakemq.sim.client import ATTEMPTS, RESEND_MS, Sender
from fakemq.sim.events import Decided, RecallEnded, Sent
from fakemq.sim.front import Front, FrontError, resource
from fakemq.sim.history import MASTER, broker_name

if TYPE_CHECKING:
    import random

    from fakemq.client.tasks import Task
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry
    from fakemq.sim.plan import ProducerPlan

SHARDS = 4
_STATUS = {
    Code.OK: "SEND_OK",
    Code.MASTER_PERSISTENCE_TIMEOUT: "FLUSH_DISK_TIMEOUT",
    Code.SLAVE_PERSISTENCE_TIMEOUT: "FLUSH_SLAVE_TIMEOUT",
    Code.HA_NOT_AVAILABLE: "SLAVE_NOT_AVAILABLE",
}
"""What the answer about a message that is stored is called elsewhere."""


class FrontProducer(Sender):
    """Sends by a front, whose answers do not say where a message is: the brokers' journal does."""

    type = MessageType.NORMAL

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan, draw, until_ms)
        settings = Settings(client_type=ClientType.PRODUCER)
        settings.publishing.topics.append(resource(plan.topic))
        self.front = Front(self, settings, self._on_command)
        self._ids = 0
        self._places: dict[str, list[LogAppended]] = {}
        """Message id → the records of messages whose answers are awaited."""
        self._stop_listening = core.journal.listen(self._appended, LogAppended)

    def tasks(self) -> list[Task[None]]:
        return [self.front.telemetry(), self.front.heartbeats(), self._sending()]

    def _end(self, how: str) -> None:
        self._stop_listening()
        self.front.end(how)
        super()._end(how)

    def _appended(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, LogAppended)
        if event.msg_id in self._places and event.node.endswith(MASTER):
            self._places[event.msg_id].append(event)

    # -- one message --------------------------------------------------------------------------

    def send_one(self, key: str) -> Task[bool]:
        return (yield from self.send(key, self.message(key))) is not None

    def message(self, key: str) -> Message:
        body = (
            key.encode()
            + b" "
            + self.random.randbytes(self.random.randint(1, self.plan.body_bytes))
        )
        system = SystemProperties(keys=[key], message_type=self.type)
        return Message(topic=resource(self.plan.topic), system_properties=system, body=body)

    def send(
        self, key: str, message: Message, shard: str = "", number: int = 0
    ) -> Task[tuple[Sent, Any] | None]:
        """Send a message and write the result to the journal; return it with the answer."""
        self._ids += 1
        msg_id = f"{self.name}:{self._ids}"
        message.system_properties.message_id = msg_id
        records = self._places[msg_id] = []
        try:
            answers = yield from self.front.ask(
                "SendMessage", SendMessageRequest(messages=[message]), self.plan.send_timeout_ms
            )
        except FrontError as error:
            self.failed(key, str(error))
            return None
        finally:
            del self._places[msg_id]
        answer = answers[0]
        status = _STATUS.get(answer.status.code)
        if status is None:
            self.failed(key, f"{Code(answer.status.code).name}: {answer.status.message}")
            return None
        # With SEND_OK the answer has an offset; of others it is not known which record they mean.
        entry = answer.entries[0]
        found = [one for one in records if status != "SEND_OK" or one.queue_offset == entry.offset]
        if not found:
            self.failed(key, f"{status}, and no broker stored it at offset {entry.offset}")
            return None
        place = found[0]
        sent = Sent(
            node=self.name,
            topic=self.plan.topic,
            key=key,
            msg_id=msg_id,
            broker=broker_name(place.node),
            queue_id=place.queue_id,
            queue_offset=place.queue_offset,
            phy_offset=place.phy_offset,
            status=status,
            shard=shard,
            number=number,
        )
        self.journal.add(sent)
        return sent, entry

    def _on_command(self, command: Any) -> None:
        """Take what the front says."""


class FrontPriorityProducer(FrontProducer):
    """Sends messages of different priorities."""

    type = MessageType.PRIORITY

    def message(self, key: str) -> Message:
        message = super().message(key)
        message.system_properties.priority = self.random.randint(0, 4)
        return message


class FrontOrderedProducer(FrontProducer):
    """Sends messages of a few message groups; each waits until the previous one is stored."""

    type = MessageType.FIFO

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan, draw, until_ms)
        self._numbers: dict[str, int] = {}

    def send_one(self, key: str) -> Task[bool]:
        shard = f"{self.name}/{self.random.randrange(SHARDS)}"
        number = self._numbers[shard] = self._numbers.get(shard, 0) + 1
        message = self.message(key)
        message.system_properties.message_group = shard
        for _ in range(ATTEMPTS):
            if (yield from self.send(key, message, shard, number)) is not None:
                return True
            yield Sleep(RESEND_MS)
        return False


class FrontDelayedProducer(FrontProducer):
    """Sends messages that have a time, and recalls some of them at any time before it."""

    type = MessageType.DELAY
    longest_ms = 40_000
    recalling = 0.3

    def message(self, key: str) -> Message:
        message, delay_ms = super().message(key), self.random.randint(1, self.longest_ms)
        at = timestamp_of(self.clock.now_ms() + delay_ms)
        message.system_properties.delivery_timestamp.CopyFrom(at)
        return message

    def send_one(self, key: str) -> Task[bool]:
        done = yield from self.send(key, self.message(key))
        if done is not None and done[1].recall_handle and self.random.random() < self.recalling:
            pause_ms = self.random.randint(0, self.longest_ms // 2)
            self.run(self._recalling(done[0], done[1].recall_handle, pause_ms))
        return done is not None

    def _recalling(self, sent: Sent, handle: str, pause_ms: int) -> Task[None]:
        yield Sleep(pause_ms)
        request = RecallMessageRequest(topic=resource(sent.topic), recall_handle=handle)
        well = True
        try:
            yield from self.front.ask_ok("RecallMessage", request)
        except FrontError:
            well = False
        self.journal.add(
            RecallEnded(
                node=self.name,
                topic=sent.topic,
                key=sent.key,
                msg_id=sent.msg_id,
                broker=sent.broker,
                phy_offset=sent.phy_offset,
                well=well,
            )
        )


class FrontTransactionalProducer(FrontProducer):
    """Sends half messages, and decides at once, when it is asked, or when it is asked again."""

    type = MessageType.TRANSACTION

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan, draw, until_ms)
        self._ends: dict[str, bool] = {}
        """Key → whether it is to be committed."""
        self._begun: set[str] = set()

    def send_one(self, key: str) -> Task[bool]:
        self._begun.add(key)
        done = yield from self.send(key, self.message(key))
        self._begun.discard(key)
        if done is None:
            return False
        commits = self._ends[key] = self.random.random() >= 0.25
        how = "commit" if commits else "rollback"
        self.journal.add(Decided(node=self.name, topic=self.plan.topic, key=key, how=how))
        if self.random.random() >= 0.3:
            sent, entry = done
            source = TransactionSource.SOURCE_CLIENT
            yield from self._deciding(sent.msg_id, entry.transaction_id, commits, source)
        return True

    def _on_command(self, command: Any) -> None:
        if command.WhichOneof("command") != "recover_orphaned_transaction_command":
            return
        asked = command.recover_orphaned_transaction_command
        (key,) = asked.message.system_properties.keys
        if self.random.random() < 0.2 or (key in self._begun and key not in self._ends):
            return  # it does not know yet
        # One without an end: the send failed, so the local transaction was never executed.
        commits, source = self._ends.get(key, False), TransactionSource.SOURCE_SERVER_CHECK
        msg_id = asked.message.system_properties.message_id
        self.run(self._deciding(msg_id, asked.transaction_id, commits, source))

    def _deciding(
        self, msg_id: str, transaction_id: str, commits: bool, source: TransactionSource
    ) -> Task[None]:
        request = EndTransactionRequest(
            topic=resource(self.plan.topic),
            message_id=msg_id,
            transaction_id=transaction_id,
            resolution=TransactionResolution.COMMIT if commits else TransactionResolution.ROLLBACK,
            source=source,
        )
        try:
            yield from self.front.ask_ok("EndTransaction", request)
        except FrontError:
            return  # the broker will ask
