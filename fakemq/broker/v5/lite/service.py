"""The parts of lite topics at one broker, and what changes of one mean for the others.

Source: broker/BrokerController.java#initLiteService (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.lite.events import LiteEvents
from fakemq.broker.v5.lite.expiry import LiteExpiry
from fakemq.broker.v5.lite.lag import LiteLags
from fakemq.broker.v5.lite.settings import LiteGroups
from fakemq.broker.v5.lite.silence import LiteSilence
from fakemq.broker.v5.lite.subscriptions import LiteRegistry
from fakemq.broker.v5.pop.locks import OrderLocks
from fakemq.broker.v5.pop.order import OrderTable
from fakemq.broker.v5.pop.polling import ALL_QUEUES, PopPolling
from fakemq.config.v5.model import config5
from fakemq.events.lite import LiteSubscribed, LiteUnsubscribed
from fakemq.journal.journal import shortened
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.java import consistent_hash, java_string_hash
from fakemq.protocol.v5.bodies.lite import (
    OFFSET,
    POLICY,
    POLICY_MAX,
    POLICY_MIN,
    TAIL_N,
)
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import NotifyUnsubscribeLiteRequestHeader
from fakemq.protocol.v5.lite import is_lite_queue, parent_and_lite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fakemq.broker.v5.lite.parts import LiteOwner
    from fakemq.broker.v5.lite.subscriptions import LiteSubscription, Subscriber
    from fakemq.clock.slices import Steps
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.queue import MessageQueue
    from fakemq.protocol.v5.bodies.lite import OffsetOption


class LiteService:
    """Lite topics of one broker. There is one once a client or a message needs it."""

    def __init__(self, broker: LiteOwner) -> None:
        self._broker = broker
        self.config = config = config5(broker.config)
        clock = broker.clock
        self.groups = LiteGroups(broker.groups)
        self.order = OrderTable()
        self.locks = OrderLocks(
            clock, config, free_at_ms=self.order.all_free_at_ms, freed=self._freed
        )
        self.polling = PopPolling(broker.node, config)
        self.lags = LiteLags(config)
        self.subscriptions = LiteRegistry(self.groups, self)
        self._resets: dict[str, set[str]] = {}
        """Light queue without a message → the groups whose offset there was reset."""
        self._started_ms = started_ms = dict.fromkeys((False, True), 0)
        self.events = LiteEvents(
            clock,
            config,
            self.groups,
            self.subscriptions,
            self,
            broker.randomness,
            started_ms=started_ms,
            wake=self._wake,
        )
        self.silence = LiteSilence(clock, config, self.subscriptions, started_ms)
        self.expiry = LiteExpiry(broker, self)
        self.start()

    # -- queues -------------------------------------------------------------------------------

    def end_of(self, queue: str) -> int:
        """Return the offset behind the last message of a light queue; 0 without one."""
        found = self._broker.store.queues.find(queue, 0)
        return 0 if found is None else found.max_offset

    def has_more(self, queue: str, group: str) -> bool:
        """Return whether a light queue has messages that a group has not consumed."""
        return self._broker.offsets.query(group, queue, 0) < self.end_of(queue) > 0

    def names(self) -> Iterable[str]:
        """Return the names of all light queues of lite topics."""
        return [one for one in self._broker.store.queues.topics() if is_lite_queue(one)]

    def is_active(self, queue: str, queues: Sequence[MessageQueue]) -> bool:
        """Return whether a subscription counts at this broker.

        It does if the broker is the one to which messages of the lite topic go, or if it has some.
        Source: AbstractLiteLifecycleManager.java#isSubscriptionActive (5.5.0)
        """
        return self.is_home(queue, queues) or self.end_of(queue) > 0

    def is_home(self, queue: str, queues: Sequence[MessageQueue]) -> bool:
        """Return whether messages of a lite topic go to this broker.

        ``queues`` are those of its parent that producers send to.
        Source: broker/lite/LiteShardingImpl.java#shardingByLmqName (5.5.0)
        """
        found = parent_and_lite(queue)
        if not queues or found is None:
            return True
        bucket = consistent_hash(java_string_hash(found[1]), len(queues))
        return queues[bucket].broker_name == self.config.broker_name

    def arrived(self, queue: str) -> None:
        """Take note of a message that has just reached a light queue."""
        self._resets.pop(queue, None)
        self.events.arrived(queue)
        self.expiry.watch(queue)

    def _wake(self, client_id: str) -> None:
        self.polling.notify(client_id, "", ALL_QUEUES)

    def _freed(self, topic: str, group: str, queue_id: int) -> None:
        self.events.available(group, topic)

    def delete(self, queue: str, groups: Iterable[str]) -> None:
        """Delete a light queue, with what groups have consumed of it.

        Source: AbstractLiteLifecycleManager.java#deleteLmq (5.5.0)
        """
        for group in groups:
            self._broker.offsets.forget_one(group, queue)
            self._broker.offset_resets.forget_one(queue, group)
            self.order.remove(queue, group)
            self.locks.forget(queue, group, 0)
        self._broker.store.delete_consume_queue(queue)
        self.subscriptions.queue_deleted(queue)

    # -- what changes of subscriptions mean ---------------------------------------------------

    def subscribed(self, subscriber: Subscriber, queue: str) -> None:
        self._broker.journal.add(
            LiteSubscribed(
                node=self._broker.name,
                group=shortened(subscriber.group),
                queue=shortened(queue),
                client_id=shortened(subscriber.client_id),
            )
        )
        self.events.subscribed(subscriber, queue)

    def left(self, subscriber: Subscriber) -> Steps[None]:
        return self.events.left(subscriber)

    def deserted(self, queue: str) -> None:
        """Forget what was reset in a lite topic that has had no message.

        Differs: Java keeps it.
        """
        for group in self._resets.pop(queue, ()):
            self._broker.offsets.forget_one(group, queue)
            self._broker.offset_resets.forget_one(queue, group)

    def excluded(self, subscriber: Subscriber, session: Session, queue: str) -> None:
        """Source: LiteSubscriptionRegistryImpl.java#notifyUnsubscribeLite (5.5.0)"""
        found = parent_and_lite(queue)
        if found is None:
            return
        self._broker.journal.add(
            LiteUnsubscribed(
                node=self._broker.name,
                group=shortened(subscriber.group),
                queue=shortened(queue),
                client_id=shortened(subscriber.client_id),
            )
        )
        header = NotifyUnsubscribeLiteRequestHeader(
            lite_topic=found[1],
            consumer_group=subscriber.group,
            client_id=subscriber.client_id,
        )
        code = RequestCode5.NOTIFY_UNSUBSCRIBE_LITE
        session.invoke_oneway(RemotingCommand(code, ext_fields=header.encode()))

    def reset(self, subscriber: Subscriber, queue: str, option: OffsetOption | None) -> None:
        """Source: LiteSubscriptionRegistryImpl.java#resetOffset (5.5.0)"""
        if option is None:
            return
        group = subscriber.group
        committed = self._broker.offsets.query(group, queue, 0)
        target = None
        if option.type == POLICY and option.value == POLICY_MIN:
            target = 0
        elif option.type == POLICY and option.value == POLICY_MAX:
            target = self.end_of(queue)
        elif option.type == OFFSET:
            target = option.value
        elif option.type == TAIL_N and committed >= 0:
            target = max(0, committed - option.value)
        if target is not None and target != committed:
            self._broker.offset_resets.assign(queue, group, 0, target)
            self.order.remove(queue, group)
            self.locks.forget(queue, group, 0)
            if not self.end_of(queue):
                self._resets.setdefault(queue, set()).add(group)

    def updated(self, subscription: LiteSubscription, session: Session | None) -> None:
        self.silence.updated(subscription, session)

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Let the grids of Java's looks begin now, and lite topics of the store expire."""
        for outside in self._started_ms:
            self._started_ms[outside] = self._broker.clock.elapsed_ms(outside=outside)
        self.expiry.look_in(0)

    def session_closed(self, session: Session) -> None:
        """Remove the held pops of a closed connection; its client is still subscribed."""
        self.polling.session_closed(session)

    def forget_closed(self) -> None:
        """Remove the held pops of connections that were closed."""
        self.polling.forget_closed()

    def stop(self) -> None:
        """Forget all that is only in memory: subscriptions, events, and what is out."""
        self.events.clear()
        self.silence.clear()
        self.subscriptions.clear()
        self._resets.clear()
        self.locks.clear()
        self.order.reset()
        self.lags.clear()
        self.expiry.stop()
