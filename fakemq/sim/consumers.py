"""Clients that consume: members of a group that share its queues, in order or not, or one alone.

The least of Java's push consumer that a group needs: it is a member, is given its share of the
queues, holds one pull for each, sends back what it could not cope with, and commits. One pull is
under way for a queue, and the next begins when its messages are done with.

Source: client/impl/consumer/RebalanceImpl.java, DefaultMQPushConsumerImpl.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.operation import Call
from fakemq.client.pull_consumer import PullConsumer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.sim.client import Client, Life, Sleep
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
"""Where the broker does not hold the pull: a slave, or for who is no member."""
AGAIN_MS, AGAIN_IN_ORDER_MS = 5_000, 1_000
LOCK_AGAIN_MS = 10_000
"""A lock is good for 30 s to a client, of which a pull may take 15: locked again before each."""

_ERRORS = (MQBrokerError, MQClientError, RemotingError)


class _Share:
    """A queue that is this client's, until it is ``dropped``."""

    def __init__(self, queue: MessageQueue) -> None:
        self.queue = queue
        self.dropped = False
        self.locked_at_ms: int | None = None


class Consumer(Client):
    """Consumes for one group; ``plan`` says which, of what, and how well."""

    def __init__(self, core: ClusterCore, plan: ConsumerPlan, draw: random.Random) -> None:
        super().__init__(core, plan.name, draw)
        self.plan = plan
        self._consumer = PullConsumer(self.instance, plan.group)
        self._shares: dict[MessageQueue, _Share] = {}
        self._balancing = False
        retry = (RETRY_PREFIX + plan.group,) if plan.member and not plan.ordered else ()
        self._topics = (*plan.topics, *retry)
        self.instance.handlers[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] = self._members_changed

    def lives(self) -> list[Life]:
        return [self._rebalancing()]

    # -- its share ----------------------------------------------------------------------------

    def _rebalancing(self) -> Life:
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
            self.live(self._balance())

    def _balance(self) -> Life:
        self._balancing = True
        for topic in self._topics:
            try:
                queues = yield from self.instance.subscribe_queues(topic)
                ids = [self.name]
                if self.plan.member:
                    ids = yield from self.instance.consumer_ids(topic, self.plan.group)
            except _ERRORS:
                continue  # the next time, perhaps
            self._take(topic, averagely(queues, ids, self.name))
        self._balancing = False

    def _take(self, topic: str, queues: Sequence[MessageQueue]) -> None:
        dropped = [
            share
            for queue, share in self._shares.items()
            if queue.topic == topic and queue not in queues
        ]
        for share in dropped:
            share.dropped = True
            del self._shares[share.queue]
            if share.locked_at_ms is not None:
                self.live(self._unlock(share))
        for queue in queues:
            if queue not in self._shares:
                share = self._shares[queue] = _Share(queue)
                self.live(self._consume(share))

    def _unlock(self, share: _Share) -> Life:
        try:
            yield from self._consumer.unlock([share.queue], oneway=True)
        except _ERRORS:
            return  # it runs out

    # -- one queue ----------------------------------------------------------------------------

    def _consume(self, share: _Share) -> Life:
        offset: int | None = None
        while not share.dropped:
            began_ms = self.clock.elapsed_ms()
            try:
                if not (yield from self._may_consume(share)):
                    yield Sleep(AGAIN_MS)
                    continue
                if offset is None:
                    offset = (yield from self._consumer.query_offset(share.queue)) or 0
                result = yield from self._consumer.pull(
                    share.queue,
                    offset,
                    max_messages=self.plan.batch,
                    expression=None if self.plan.member else "*",
                    suspend_ms=SUSPEND_MS if self.plan.member else 0,
                )
            except _ERRORS:
                yield Sleep(AFTER_ERROR_MS)
                continue
            for message in result.messages:
                if not (yield from self._cope(share, message)):
                    return
            if result.next_begin_offset != offset:
                offset = result.next_begin_offset
                yield from self._commit(share, offset)
            elif self.clock.elapsed_ms() == began_ms:
                yield Sleep(NOTHING_NEW_MS)

    def _may_consume(self, share: _Share) -> Generator[Call, RemotingCommand | None, bool]:
        if not self.plan.ordered:
            return True
        now_ms, locked_at_ms = self.clock.elapsed_ms(), share.locked_at_ms
        if locked_at_ms is not None and now_ms - locked_at_ms < LOCK_AGAIN_MS:
            return True
        share.locked_at_ms = None
        if share.queue in (yield from self._consumer.lock([share.queue])):
            share.locked_at_ms = now_ms
        return share.locked_at_ms is not None

    def _commit(self, share: _Share, offset: int) -> Life:
        try:
            yield from self._consumer.update_offset(share.queue, offset, oneway=self.plan.member)
        except _ERRORS:
            return  # the next commit says more

    def _cope(
        self, share: _Share, message: MessageExt
    ) -> Generator[Call | Sleep, RemotingCommand | None, bool]:
        """Work on a message until it is done with; False if it is somebody else's meanwhile."""
        plan = self.plan
        while True:
            if plan.work_ms:
                yield Sleep(self.random.randint(1, plan.work_ms))
            if share.dropped:
                return False
            well = self.random.random() >= plan.failing
            if well or (not plan.ordered and (yield from self._send_back(share, message))):
                break
            yield Sleep(AGAIN_IN_ORDER_MS if plan.ordered else AGAIN_MS)
        queue = share.queue
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
        self, share: _Share, message: MessageExt
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
            addr = yield from instance.master_addr(share.queue)
            yield from instance.invoke_ok(addr, command)
        except _ERRORS:
            return False
        return True


def averagely(
    queues: Sequence[MessageQueue], client_ids: Sequence[str], client_id: str
) -> Sequence[MessageQueue]:
    """A client's share of sorted queues; none if it is not among the members.

    Source: client/consumer/rebalance/AllocateMessageQueueAveragely.java (4.9.7)
    """
    members = sorted(client_ids)
    if client_id not in members:
        return ()
    index = members.index(client_id)
    share, more = divmod(len(queues), len(members))
    start = index * share + min(index, more)
    return sorted(queues)[start : start + share + (index < more)]
