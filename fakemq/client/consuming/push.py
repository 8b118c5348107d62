"""The core of a push consumer: its life, its queues, and what brokers ask it to do.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fakemq.client.consuming.concurrently import ConcurrentService
from fakemq.client.consuming.context import ConsumerContext, ConsumeService
from fakemq.client.consuming.locks import QueueLocks
from fakemq.client.consuming.offsets import LocalOffsets, OffsetStore, RemoteOffsets
from fakemq.client.consuming.orderly import OrderlyService
from fakemq.client.consuming.owned_queues import OwnedQueues
from fakemq.client.consuming.process_queue import ProcessQueue
from fakemq.client.consuming.pulling import PullService
from fakemq.client.consuming.rebalance import Rebalancer
from fakemq.client.consuming.received import Listener
from fakemq.client.consuming.requests import handle_consumer_requests
from fakemq.client.consuming.running_info import running_info
from fakemq.client.consuming.send_back import SendingBack
from fakemq.client.consuming.settings import CONSUME_FROM_WHERE, PushSettings, Selector
from fakemq.client.consuming.start_checks import check_start
from fakemq.client.consuming.subscriptions import built_subscription, check_in_broker
from fakemq.client.errors import MQClientError
from fakemq.client.producing import namespace
from fakemq.client.pull_operations import PullOperations
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Sleep, Task
from fakemq.protocol.bodies.consumer import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from fakemq.protocol.bodies.heartbeat import ConsumerData, SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import retry_topic

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

RESET_WAIT_MS = 10_000
"""How long a queue rests before its offset is reset."""


class PushConsumerCore:
    """A push consumer: pulls messages, has them consumed by its listener, and commits offsets.

    It is a `ConsumerMember` of its client. All methods are called on the thread of the carrier; the
    listener is called by `Perform`.
    """

    def __init__(
        self,
        services: ClientServices,
        settings: PushSettings,
        listener: Listener | None,
        *,
        broadcast_offsets: OffsetStore | None = None,
        room: Callable[[], int] | None = None,
    ) -> None:
        """``broadcast_offsets`` keeps the offsets of BROADCASTING; None is a file. ``room`` returns
        how many messages can be consumed at once, if that changes; call `consume_more` when it has
        become more."""
        self.services = services
        self.broadcast_offsets = broadcast_offsets
        self.room = room
        self.settings = settings
        self.listener = listener
        self.state = ServiceState.CREATE_JUST
        self.group = namespace.wrap(settings.namespace, settings.group)
        """The group in its namespace."""
        self.subscriptions: dict[str, SubscriptionData] = {}
        """By topic, in its namespace; with the group's topic for messages to be tried again."""
        self._operations = PullOperations(services.instance, self.group)
        self._parts: _Parts | None = None
        self._resetting: dict[MessageQueue, int] | None = None
        """Offsets to set once the reset that is under way has rested; None without one."""

    # -- life -----------------------------------------------------------------

    def start(self) -> Task[None]:
        """Start to consume.

        Raise MQClientError for settings that are not valid, for a group that has a consumer in
        this client already, for an expression that the broker refuses, and if it was started
        before. Raise RemotingError if no name server answers. After an error the consumer may run:
        shut it down.
        """
        self.state.require_startable("PushConsumer")
        self.state = ServiceState.START_FAILED
        check_start(self.settings, self.group, self.listener)
        assert self.listener is not None, "the check refuses a consumer without a listener"
        self._copy_subscriptions()
        self._parts = parts = _Parts(self, self.listener)
        parts.context.offsets.load()
        try:
            self.services.register_consumer(self)
        except MQClientError:
            self.state = ServiceState.CREATE_JUST
            raise
        with ExitStack() as undoing:
            undoing.callback(self.services.forget_consumer, self.group)
            if parts.context.tracer is not None:
                parts.context.tracer.start()
                undoing.callback(self.services.forget_producer, parts.context.tracer.group)
            handle_consumer_requests(self.services)
            self.services.start()
            undoing.callback(parts.context.tasks.cancel_all)
            parts.service.start()
            undoing.pop_all()
        self.state = ServiceState.RUNNING
        parts.owned.is_open = True
        _log.info("the consumer [%s] start OK.", self.group)
        yield from self.services.first_routes(self.subscriptions)
        yield from check_in_broker(self.services, self.group, list(self.subscriptions.values()))
        yield from self.services.heartbeat()
        self.services.rebalance_soon()

    def shutdown(self, *, wait_ms: int = 0) -> Task[None]:
        """Stop consuming, and leave the group; do nothing if it does not run.

        Messages that the listener has are waited for, up to ``wait_ms``; those that it does not
        have yet are left to other members, uncommitted.

        Differs: Java unlocks ordered queues before it commits their offsets.
        """
        if self.state is not ServiceState.RUNNING:
            return
        self.state = ServiceState.SHUTDOWN_ALREADY
        parts = self._running()
        context = parts.context
        parts.owned.is_open = False
        parts.rebalancer.has_ended = True
        parts.owned.stop_pulling()
        yield from parts.service.stop(wait_ms)
        yield from context.offsets.persist_last(set(context.queues))
        if context.is_locking:
            yield from parts.locks.unlock_all()
        yield from self.services.unregister_consumer(self.group)
        parts.owned.forget_all()
        context.tasks.cancel_all()
        if context.tracer is not None:
            yield from context.tracer.shutdown()
        _log.info("the consumer [%s] shutdown OK", self.group)

    def suspend(self) -> None:
        """Begin no pull; messages that are here are still consumed. Queues stay where they are.

        So are messages that a broker returns for a pull that it holds now.

        Source: DefaultMQPushConsumerImpl.java#pullMessage, #suspend (4.9.7)
        """
        self._running().pulling.is_suspended = True
        _log.info("suspend this consumer, %s", self.group)

    def resume(self) -> None:
        """Pull again, and divide queues anew."""
        self._running().pulling.is_suspended = False
        self.services.rebalance_soon()
        _log.info("resume this consumer, %s", self.group)

    def consume_more(self) -> None:
        """Begin with messages that wait: there is room for more."""
        self._running().service.consume_more()

    @property
    def is_suspended(self) -> bool:
        return self._parts is not None and self._parts.pulling.is_suspended

    @property
    def is_idle(self) -> bool:
        """Whether no message is being consumed, waits for it, or is being sent back now."""
        return self._parts is None or self._parts.service.is_idle

    def _running(self) -> _Parts:
        if self._parts is None:
            self.state.require_running("consumer")
        assert self._parts is not None, "a consumer that runs has its parts"
        return self._parts

    # -- subscriptions --------------------------------------------------------

    def subscribe(self, topic: str, expression: str | Selector = "*") -> None:
        """Consume a topic, too, or with another expression; brokers are notified soon.

        Raise MQClientError for an expression that cannot be one.
        """
        full = namespace.wrap(self.settings.namespace, topic)
        subscription = built_subscription(full, expression)
        subscription.sub_version = self.services.carrier.wall_ms()
        self.subscriptions[full] = subscription
        if self._parts is not None and self.state is ServiceState.RUNNING:
            self._parts.context.tasks.start(self._subscribed(full), "subscribe")

    def unsubscribe(self, topic: str) -> None:
        """Consume a topic no more: its queues are dropped soon."""
        self.subscriptions.pop(namespace.wrap(self.settings.namespace, topic), None)
        if self.state is ServiceState.RUNNING:
            self.services.rebalance_soon()

    def _subscribed(self, topic: str) -> Task[None]:
        yield from self.services.first_routes([topic])
        yield from self.services.heartbeat()
        self.services.rebalance_soon()

    def _copy_subscriptions(self) -> None:
        """Source: DefaultMQPushConsumerImpl.java#copySubscription (4.9.7)"""
        for topic, expression in self.settings.subscribe.items():
            if namespace.wrap(self.settings.namespace, topic) not in self.subscriptions:
                self.subscribe(topic, expression)
        if self.settings.message_model == "CLUSTERING":
            topic = retry_topic(self.group)
            subscription = built_subscription(topic, "*")
            subscription.sub_version = self.services.carrier.wall_ms()
            self.subscriptions[topic] = subscription

    # -- as a member of its client --------------------------------------------

    def topics(self) -> Iterable[str]:
        """Return the topics whose routes are kept fresh."""
        return list(self.subscriptions)

    def consumer_data(self) -> ConsumerData:
        """Return its part of the heartbeat."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_PASSIVELY",
            message_model=self.settings.message_model,
            consume_from_where=CONSUME_FROM_WHERE[self.settings.consume_from],
            subscription_data_set=list(self.subscriptions.values()),
            unit_mode=self.settings.unit_mode,
        )

    def rebalance(self) -> Task[None]:
        """Divide the queues of its topics anew, unless it is suspended; drop those of others."""
        if self.is_suspended or self.state is not ServiceState.RUNNING:
            return
        parts = self._running()
        locking = parts.context.is_locking
        yield from parts.rebalancer.rebalance(list(self.subscriptions), ordered=locking)
        for queue in list(parts.context.queues):
            if queue.topic not in self.subscriptions:
                yield from parts.owned.drop(queue)

    def persist_offsets(self) -> Task[None]:
        """Commit the offsets of its queues."""
        if self.state is ServiceState.RUNNING:
            parts = self._running()
            parts.service.collect()
            yield from parts.context.offsets.persist_all(set(parts.context.queues))

    @property
    def queues(self) -> Mapping[MessageQueue, ProcessQueue]:
        """The queues that it has now."""
        return {} if self._parts is None else self._parts.context.queues

    @property
    def is_locking(self) -> bool:
        """Whether its queues are locked at the brokers."""
        return self._parts is not None and self._parts.context.is_locking

    # -- what brokers ask for -------------------------------------------------

    def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> Task[None]:
        """Continue at other offsets: suspend, drop the queues, and set their offsets 10 s later.

        Differs: offsets that come within these 10 s are set at their end, too. Java lets each
        request rest for 10 s, so that a hundred of them stop a consumer for a quarter of an hour.

        Source: client/impl/factory/MQClientInstance.java#resetOffset (4.9.7)
        """
        if self.state is not ServiceState.RUNNING:
            return
        parts = self._running()
        own = {queue: offsets[queue] for queue in parts.context.queues if queue in offsets}
        own = {queue: offset for queue, offset in own.items() if queue.topic == topic}
        is_first = self._resetting is None
        self.suspend()
        for queue in own:
            process_queue = parts.context.queues[queue]
            parts.pulling.end(process_queue)
            process_queue.clear()
        resetting = self._resetting = {**(self._resetting or {}), **own}
        if not is_first:
            return
        try:
            yield Sleep(RESET_WAIT_MS, "client_task")
            resetting, self._resetting = self._resetting, None
            for queue, process_queue in list(parts.context.queues.items()):
                if queue in resetting:
                    offset = max(0, resetting[queue])
                    parts.context.offsets.update(queue, offset, increase_only=False)
                    yield from parts.owned.give_up(process_queue)
        finally:
            if self._resetting is resetting:
                self._resetting = None
            if self._resetting is None:
                self.resume()

    def consumed_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """Return the offsets of a topic's queues."""
        if self._parts is None:
            return {}
        self._parts.service.collect()
        return self._parts.context.offsets.of_topic(topic)

    def running_info(self) -> Task[ConsumerRunningInfo]:
        """Return what an admin tool shows of this consumer."""
        parts = self._running()
        parts.service.collect()
        subscriptions = list(self.subscriptions.values())
        return (yield from running_info(parts.context, subscriptions, parts.pulling))

    def consume_directly(
        self, stored: MessageExt, broker_name: str
    ) -> Task[ConsumeMessageDirectlyResult]:
        """Call the listener with one message, for an admin tool."""
        parts = self._running()
        message = parts.pulling.received(stored, broker_name)
        return (yield from parts.service.consume_directly(message))


class _Parts:
    """The parts of a consumer that was started."""

    def __init__(self, core: PushConsumerCore, listener: Listener) -> None:
        services, settings = core.services, core.settings
        operations = core._operations
        offsets: OffsetStore
        if settings.message_model == "BROADCASTING":
            client_id = services.instance.client_id
            offsets = core.broadcast_offsets or LocalOffsets(
                client_id, core.group, settings.offsets_directory
            )
        else:
            offsets = RemoteOffsets(operations)
        self.context = context = ConsumerContext(
            services, settings, core.group, listener, offsets, core.room
        )
        self.locks = QueueLocks(context, operations)
        sending_back = SendingBack(context)
        self.service: ConsumeService
        if settings.ordered:
            self.service = OrderlyService(context, sending_back, self.locks)
        else:
            self.service = ConcurrentService(context, sending_back)
        self.pulling = PullService(context, operations, self.service, core.subscriptions)
        self.owned = OwnedQueues(
            context, self.service, self.pulling, self.locks, core.subscriptions
        )
        self.pulling.give_up = self.owned.give_up
        self.rebalancer = Rebalancer(
            services,
            core.group,
            self.owned,
            message_model=settings.message_model,
            allocate=settings.allocate,
        )
