"""Rebalancing: each member of a group computes which queues of a topic it consumes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from fakemq.client.consuming.allocation import AllocateStrategy, Strategy, strategy_name
from fakemq.client.consuming.allocation.strategies import java_order, queue_order
from fakemq.client.pull_operations import PullOperations
from fakemq.client.tasks import Perform, Signal, Task, Wait
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")


class QueueOwner(Protocol):
    """A consumer whose queues a `Rebalancer` takes and drops."""

    def owned(self, topic: str) -> Collection[MessageQueue]:
        """Return the queues of a topic that it has now."""

    def is_stuck(self, queue: MessageQueue) -> bool:
        """Return whether a queue is to be dropped and taken again: no pull for 120 s.

        Always False for a consumer that pulls by hand.

        Source: client/impl/consumer/ProcessQueue.java#isPullExpired (4.9.7)
        """

    def drop(self, queue: MessageQueue) -> Task[bool]:
        """Stop consuming a queue. Return False if it is not yet given up: an ordered one whose
        messages are still processed. The next rebalance tries again."""

    def take(self, queue: MessageQueue) -> Task[bool]:
        """Begin to consume a queue, which is locked if it is ordered. Return False if its offset
        cannot be had. The next rebalance tries again."""

    def divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> Task[None]:
        """Called when a division has changed the owner's queues."""


class Rebalancer:
    """Divides the queues of topics among the members of one group.

    In the message model CLUSTERING each member computes its share by ``allocate`` from the sorted
    queues and the sorted client ids that a broker knows; in BROADCASTING it takes all queues.

    A topic keeps its present queues if its route or the group's client ids cannot be had, or if
    ``allocate`` raises: also without any readable queue or any member. A client that its broker
    does not know as a member (yet) gets no queue, so that it drops those that it has.

    Source: client/impl/consumer/RebalanceImpl.java (4.9.7)
    """

    def __init__(
        self,
        services: ClientServices,
        group: str,
        owner: QueueOwner,
        *,
        message_model: str,
        allocate: AllocateStrategy,
    ) -> None:
        self._instance = services.instance
        self._operations = PullOperations(services.instance, group)
        self.group = group
        self.owner = owner
        self.message_model = message_model
        self.allocate = allocate
        # By topic: set when the rebalance under way ends. The periodic one and one of a start
        # may meet, and must not both take a queue.
        self._under_way: dict[str, Signal] = {}
        self._without_ids: set[str] = set()
        """The topics whose members could not be had the last time."""
        self.has_ended = False
        """Set when the consumer shuts down: a rebalance under way then takes no queue."""

    def rebalance(self, topics: Iterable[str], *, ordered: bool) -> Task[None]:
        """Divide the queues of several topics anew; log an error of one and continue.

        Source: RebalanceImpl.java#doRebalance (4.9.7)
        """
        for topic in list(topics):
            if self.has_ended:
                return
            try:
                yield from self.rebalance_topic(topic, ordered=ordered)
            except FakemqError as error:
                if not (topic.startswith(RETRY_PREFIX) or self.has_ended):
                    _log.warning("the queues of %s were not divided: %s", topic, error)

    def rebalance_topic(self, topic: str, *, ordered: bool) -> Task[None]:
        """Divide the queues of a topic anew: drop what is no longer owned, and take what is new.

        With ``ordered`` a queue is locked before it is taken, as in Java also in BROADCASTING:
        there the second of two members gets it when the lock of the first has expired (60 s).

        Source: RebalanceImpl.java#rebalanceByTopic (4.9.7)
        """
        while (other := self._under_way.get(topic)) is not None:
            yield Wait(other)
        done = self._under_way[topic] = Signal()
        try:
            yield from self._rebalance_topic(topic, ordered)
        finally:
            del self._under_way[topic]
            done.set()

    def _rebalance_topic(self, topic: str, ordered: bool) -> Task[None]:
        """Differs: asks at once for the route of a topic that is unknown, not within 30 s."""
        queues = yield from self._queues(topic)
        if queues is None:
            return
        mine = queues
        if self.message_model != "BROADCASTING":
            shared = yield from self._share(topic, queues)
            if shared is None:
                return
            mine = shared
        if (yield from self._update(topic, mine, ordered)):
            yield from self.owner.divided(topic, queues, mine)

    def _queues(self, topic: str) -> Task[list[MessageQueue] | None]:
        """Return all queues of a topic that may be read; None if it has no route."""
        try:
            route = yield from self._instance.known_route(topic)
        except FakemqError as error:
            if not self.has_ended:
                _log.warning("doRebalance, %s, no route of %s: %s", self.group, topic, error)
            return None
        if route is None:
            if not topic.startswith(RETRY_PREFIX):
                _log.warning("doRebalance, %s, but the topic[%s] not exist.", self.group, topic)
            return None
        return sorted(route.subscribe_queues, key=queue_order)

    def _share(self, topic: str, queues: list[MessageQueue]) -> Task[list[MessageQueue] | None]:
        """Return this client's share of a topic; None if it cannot be computed."""
        try:
            client_ids = yield from self._instance.consumer_ids(topic, self.group)
        except FakemqError as error:
            # A broker notifies of this member before another one has its first heartbeat, and does
            # not know the group after the last.
            is_usual = self.has_ended or topic not in self._without_ids
            self._without_ids.add(topic)
            _log.log(
                logging.INFO if is_usual else logging.WARNING,
                "doRebalance, %s %s, get consumer id list failed: %s",
                *(self.group, topic, error),
            )
            return None
        self._without_ids.discard(topic)
        client_ids = sorted(client_ids, key=java_order)
        allocate = self.allocate
        arguments = (self.group, self._instance.client_id, queues, client_ids)
        # A strategy of ours runs here, so that a rebalance does not wait for a free thread.
        is_ours = isinstance(allocate, Strategy) and not allocate.has_user_code
        try:
            shared: object = (
                allocate(*arguments) if is_ours else (yield Perform(allocate, arguments))
            )
            return _checked(shared)
        except Exception as error:
            _log.error(
                "AllocateMessageQueueStrategy.allocate Exception."
                " allocateMessageQueueStrategyName=%s, group=%s, topic=%s: %s",
                strategy_name(allocate),
                self.group,
                topic,
                error,
                exc_info=not is_ours,
            )
            return None

    def _update(self, topic: str, mine: list[MessageQueue], ordered: bool) -> Task[bool]:
        """Drop and take queues; return whether any changed its owner.

        Source: RebalanceImpl.java#updateProcessQueueTableInRebalance (4.9.7)
        """
        owner = self.owner
        changed = False
        kept = set(mine)
        for queue in list(owner.owned(topic)):
            if queue not in kept:
                reason = "remove unnecessary mq"
            elif owner.is_stuck(queue):
                reason = "pull is pause, so try to fixed it"
            else:
                continue
            if (yield from owner.drop(queue)):
                changed = True
                _log.info("doRebalance, %s, %s, %s", self.group, reason, queue)
        # A strategy by config may name queues of other topics.
        # Asked for after the drops, so that a stuck queue is taken again.
        owned = {one for name in {one.topic or "" for one in mine} for one in owner.owned(name)}
        for queue in mine:
            if self.has_ended:
                break
            if queue in owned:
                continue
            if ordered and not (yield from self._lock(queue)):
                _log.warning(
                    "doRebalance, %s, add a new mq failed, %s, because lock failed",
                    self.group,
                    queue,
                )
                continue
            if (yield from owner.take(queue)):
                changed = True
                _log.info("doRebalance, %s, add a new mq, %s", self.group, queue)
            elif not self.has_ended:
                _log.warning("doRebalance, %s, add new mq failed, %s", self.group, queue)
        return changed

    def _lock(self, queue: MessageQueue) -> Task[bool]:
        """Source: RebalanceImpl.java#lock (4.9.7)"""
        try:
            return queue in (yield from self._operations.lock([queue]))
        except FakemqError as error:
            _log.error("lockBatchMQ exception, %s: %s", queue, error)
            return False


def _checked(shared: object) -> list[MessageQueue]:
    """Return a strategy's queues, each once; raise TypeError for anything else. None is none."""
    if shared is None:
        return []
    if not isinstance(shared, Iterable):
        raise TypeError(f"a strategy returns queues, not {type(shared).__name__}")
    queues = list(dict.fromkeys(shared))
    for one in queues:
        if not isinstance(one, MessageQueue):
            raise TypeError(f"a strategy returns queues, not {type(one).__name__}")
    return queues
