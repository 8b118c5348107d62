"""Clients that consume: members of a group, in order or not, or one consumer outside any group.

This is the part of Java's push consumer that a group needs. A client is a member, takes its share
of the queues, keeps one pull open for each, sends back failed messages, and commits offsets. The
next pull of a queue starts when all messages of the last one are processed.

Source: client/impl/consumer/RebalanceImpl.java, DefaultMQPushConsumerImpl.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.operation import Call
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.sim.client import SimulatedClient, Sleep, Task
from fakemq.sim.events import Consumed

if TYPE_CHECKING:
    import random

    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.message import MessageExt
    from fakemq.sim.plan import ConsumerPlan

REBALANCE_MS = 20_000
SUSPEND_MS = 15_000
AFTER_ERROR_MS = 3_000
"""Source: DefaultMQPushConsumerImpl.java#pullTimeDelayMillsWhenException (4.9.7)"""
NOTHING_NEW_MS = 5_000
"""The pause when the broker does not hold a pull: at a slave, or for a consumer without a group."""
AGAIN_MS, AGAIN_IN_ORDER_MS = 5_000, 1_000
LOCK_AGAIN_MS = 10_000
"""A client keeps a lock for 30 s, and one pull may take 15 of them: so lock again before each."""

_ERRORS = (MQBrokerError, MQClientError, RemotingError)


class _AssignedQueue:
    """A queue that this client owns until it is ``dropped``."""

    def __init__(self, queue: MessageQueue) -> None:
        self.queue = queue
        self.dropped = False
        self.locked_at_ms: int | None = None


class Consumer(SimulatedClient):
    """Consumes for one group, as ``plan`` says: which topics, and how often it fails."""

    def __init__(self, core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> None:
        super().__init__(core, plan.name, draw)
        self.plan = plan
        self._consumer = PullOperations(self.instance, plan.group)
        self._assigned: dict[MessageQueue, _AssignedQueue] = {}
        self._balancing = False
        retry = (RETRY_PREFIX + plan.group,) if plan.member and not plan.ordered else ()
        self._topics = (*plan.topics, *retry)
        self.instance.handlers[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] = self._members_changed

    def tasks(self) -> list[Task]:
        return [self._rebalancing()]

    # -- its queues ------------------------------------------------------------

    def _rebalancing(self) -> Task:
        if self.plan.member:
            for topic in self._topics:
                while True:
                    try:
                        yield from self._consumer.subscribe(
                            topic, consume_from_where="CONSUME_FROM_FIRST_OFFSET"
                        )
                        break
                    except _ERRORS:
                        yield Sleep(AFTER_ERROR_MS)
            yield from self.instance.heartbeat()
        while True:
            yield from self._balance()
            yield Sleep(REBALANCE_MS)

    def _members_changed(self, addr: str, request: RemotingCommand) -> None:
        if not self._balancing:
            self.run(self._balance())

    def _balance(self) -> Task:
        self._balancing = True
        for topic in self._topics:
            try:
                queues = yield from self.instance.subscribe_queues(topic)
                ids = [self.name]
                if self.plan.member:
                    ids = yield from self.instance.consumer_ids(topic, self.plan.group)
            except _ERRORS:
                continue  # the next balancing tries again
            self._take(topic, averagely(queues, ids, self.name))
        self._balancing = False

    def _take(self, topic: str, queues: Sequence[MessageQueue]) -> None:
        dropped = [
            assigned
            for queue, assigned in self._assigned.items()
            if queue.topic == topic and queue not in queues
        ]
        for assigned in dropped:
            assigned.dropped = True
            del self._assigned[assigned.queue]
            if assigned.locked_at_ms is not None:
                self.run(self._unlock(assigned))
        for queue in queues:
            if queue not in self._assigned:
                assigned = self._assigned[queue] = _AssignedQueue(queue)
                self.run(self._consume(assigned))

    def _unlock(self, assigned: _AssignedQueue) -> Task:
        try:
            yield from self._consumer.unlock([assigned.queue], oneway=True)
        except _ERRORS:
            return  # the lock expires at the broker

    # -- one queue -------------------------------------------------------------

    def _consume(self, assigned: _AssignedQueue) -> Task:
        offset: int | None = None
        while not assigned.dropped:
            began_ms = self.clock.elapsed_ms()
            try:
                if not (yield from self._may_consume(assigned)):
                    yield Sleep(AGAIN_MS)
                    continue
                if offset is None:
                    offset = (yield from self._consumer.query_offset(assigned.queue)) or 0
                result = yield from self._consumer.pull(
                    assigned.queue,
                    offset,
                    max_messages=self.plan.batch,
                    expression=None if self.plan.member else "*",
                    suspend_ms=SUSPEND_MS if self.plan.member else 0,
                )
            except _ERRORS:
                yield Sleep(AFTER_ERROR_MS)
                continue
            for message in result.messages:
                if not (yield from self._process(assigned, message)):
                    return
            if result.next_begin_offset != offset:
                offset = result.next_begin_offset
                yield from self._commit(assigned, offset)
            elif self.clock.elapsed_ms() == began_ms:
                yield Sleep(NOTHING_NEW_MS)

    def _may_consume(
        self, assigned: _AssignedQueue
    ) -> Generator[Call, RemotingCommand | None, bool]:
        if not self.plan.ordered:
            return True
        now_ms, locked_at_ms = self.clock.elapsed_ms(), assigned.locked_at_ms
        if locked_at_ms is not None and now_ms - locked_at_ms < LOCK_AGAIN_MS:
            return True
        assigned.locked_at_ms = None
        if assigned.queue in (yield from self._consumer.lock([assigned.queue])):
            assigned.locked_at_ms = now_ms
        return assigned.locked_at_ms is not None

    def _commit(self, assigned: _AssignedQueue, offset: int) -> Task:
        try:
            yield from self._consumer.update_offset(assigned.queue, offset, oneway=self.plan.member)
        except _ERRORS:
            return  # the next commit includes this one

    def _process(
        self, assigned: _AssignedQueue, message: MessageExt
    ) -> Generator[Call | Sleep, RemotingCommand | None, bool]:
        """Process a message until it succeeds or is sent back.

        Return False if another client owns the queue meanwhile.
        """
        plan = self.plan
        while True:
            if plan.work_ms:
                yield Sleep(self.random.randint(1, plan.work_ms))
            if assigned.dropped:
                return False
            well = self.random.random() >= plan.failing
            if well or (not plan.ordered and (yield from self._send_back(assigned, message))):
                break
            yield Sleep(AGAIN_IN_ORDER_MS if plan.ordered else AGAIN_MS)
        queue = assigned.queue
        self.journal.add(
            Consumed(
                node=self.name,
                group=plan.group,
                topic=queue.topic or "",
                key=message.keys or "",
                msg_id=message.msg_id,
                broker=queue.broker_name or "",
                queue_id=queue.queue_id,
                queue_offset=message.queue_offset,
                times=message.reconsume_times,
                well=well,
            )
        )
        return True

    def _send_back(
        self, assigned: _AssignedQueue, message: MessageExt
    ) -> Generator[Call, RemotingCommand | None, bool]:
        """Source: client/impl/MQClientAPIImpl.java#consumerSendMessageBack (4.9.7)"""
        if not self.plan.member:
            return False
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.physical_offset,
            group=self.plan.group,
            delay_level=0,
            origin_msg_id=message.msg_id,
            origin_topic=message.topic,
            max_reconsume_times=self.plan.tries,
        )
        instance = self.instance
        command = instance.command(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        try:
            addr = yield from instance.master_addr(assigned.queue)
            yield from instance.invoke_ok(addr, command)
        except _ERRORS:
            return False
        return True


def averagely(
    queues: Sequence[MessageQueue], client_ids: Sequence[str], client_id: str
) -> Sequence[MessageQueue]:
    """Return a client's share of the sorted queues; none if it is not a member.

    Source: client/consumer/rebalance/AllocateMessageQueueAveragely.java (4.9.7)
    """
    members = sorted(client_ids)
    if client_id not in members:
        return ()
    index = members.index(client_id)
    share, more = divmod(len(queues), len(members))
    start = index * share + min(index, more)
    return sorted(queues)[start : start + share + (index < more)]
