"""Pulls the messages of a consumer's queues, each by a task, and stops while too much waits.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#pullMessage (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.consuming.start_offset import start_offset
from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.client.messages import PullResult, PullStatus
from fakemq.client.producing import namespace
from fakemq.client.pull_operations import PullOperations
from fakemq.client.tasks import Sleep, Task
from fakemq.errors import FakemqError
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.subscription import is_tag_type
from fakemq.protocol.topics import RETRY_PREFIX, retry_topic
from fakemq.protocol.versions import V4_1_0_SNAPSHOT

if TYPE_CHECKING:
    from fakemq.client.consuming.context import ConsumerContext, ConsumeService
    from fakemq.client.consuming.process_queue import ProcessQueue
    from fakemq.protocol.message import MessageExt

_log = logging.getLogger("fakemq.client")

SUSPEND_MS = 15_000
"""How long a broker may hold a pull."""
TIMEOUT_MS = 30_000

CACHE_FLOW_CONTROL_MS = 50
BROKER_FLOW_CONTROL_MS = 20
HEARTBEAT_MS = 50
"""The pause after a first pull whose subscription the broker does not have yet: the heartbeat with
it is on its way, when queues have just been divided. Differs: Java pauses 3 s."""
SUSPENDED_MS = 1_000
REFUSED_MS = 1_000
"""The pause after a pull that a broker has neither held nor answered with a higher offset: a slave
that is not to be read from, whose master is down; or a broker that answers wrongly. Differs: Java
asks again without a pause."""
FIX_OFFSET_MS = 10_000
"""When a queue is dropped whose broker has moved it to another offset."""

LOG_EVERY = 1_000
MIB = 1 << 20


class PullService:
    """Pulls for one consumer, from all its queues."""

    def __init__(
        self,
        context: ConsumerContext,
        operations: PullOperations,
        service: ConsumeService,
        subscriptions: Mapping[str, SubscriptionData],
    ) -> None:
        self._context = context
        self._operations = operations
        self._service = service
        self._subscriptions = subscriptions
        self._carrier = context.services.carrier
        self._retry_topic = retry_topic(context.group)
        self._flow_controls = 0
        self._unknown: set[MessageQueue] = set()
        """The queues whose brokers did not have the subscription at the last pull."""
        settings = context.settings
        self.started_ms = self._carrier.wall_ms()
        self.is_suspended = False
        self.give_up: Callable[[ProcessQueue], Task[None]]
        """Set by the owner of the queues: drops one whose offset was moved."""
        self.threshold = settings.pull_threshold_for_queue
        self.threshold_mib = settings.pull_threshold_size_mib_for_queue

    def begin(self, process_queue: ProcessQueue) -> None:
        """Pull from a queue until it is dropped."""
        process_queue.pulling = self._context.tasks.start(self._pulling(process_queue), "pull")

    def end(self, process_queue: ProcessQueue) -> None:
        """Drop a queue."""
        process_queue.dropped = True
        self.stop(process_queue)
        self._unknown.discard(process_queue.queue)
        self._operations.forget(process_queue.queue)

    def stop(self, process_queue: ProcessQueue) -> None:
        """Pull no more from a queue; the answer to a pull that is under way is ignored."""
        pulling, process_queue.pulling = process_queue.pulling, None
        if pulling is not None:
            self._context.tasks.cancel(pulling)

    def divide_thresholds(self, queues: int) -> None:
        """Give each of ``queues`` its part of a topic's thresholds.

        Source: RebalancePushImpl.java#messageQueueChanged (4.9.7)
        """
        settings = self._context.settings
        if queues and settings.pull_threshold_for_topic != -1:
            self.threshold = max(1, settings.pull_threshold_for_topic // queues)
        if queues and settings.pull_threshold_size_mib_for_topic != -1:
            self.threshold_mib = max(1, settings.pull_threshold_size_mib_for_topic // queues)

    def _pulling(self, process_queue: ProcessQueue) -> Task[None]:
        while not process_queue.dropped:
            delay_ms = yield from self._pull(process_queue)
            if delay_ms:
                yield Sleep(delay_ms, "client_pull")

    def _pull(self, process_queue: ProcessQueue) -> Task[int]:
        """Pull once, if the queue may be pulled from; return how long to wait until the next."""
        process_queue.last_pull_ms = began_ms = self._carrier.elapsed_ms()
        if self.is_suspended:
            return SUSPENDED_MS
        if self._must_wait(process_queue):
            return CACHE_FLOW_CONTROL_MS
        queue = process_queue.queue
        error_delay_ms = self._context.settings.pull_delay_when_error_ms
        subscription = self._subscriptions.get(queue.topic or "")
        if subscription is None:
            _log.warning("find the consumer's subscription failed, %s", queue)
            return error_delay_ms
        try:
            if self._context.settings.ordered and not (yield from self._is_locked(process_queue)):
                return error_delay_ms
            self._check_broker(process_queue, subscription)
            result = yield from self._ask(process_queue, subscription)
        except FakemqError as error:
            if queue not in self._unknown and _is_unknown(error):
                self._unknown.add(queue)
                return HEARTBEAT_MS
            if not (queue.topic or "").startswith(RETRY_PREFIX):
                _log.warning("execute the pull request exception, %s: %s", queue, error)
            if isinstance(error, MQBrokerError) and error.code == ResponseCode.FLOW_CONTROL:
                return BROKER_FLOW_CONTROL_MS
            return error_delay_ms
        self._unknown.discard(queue)
        if process_queue.dropped:
            return 0
        return self._pulled(process_queue, subscription, result, began_ms)

    def _must_wait(self, process_queue: ProcessQueue) -> bool:
        """Return whether too much of a queue is waiting here already."""
        self._service.collect()
        settings = self._context.settings
        is_full = (
            len(process_queue) > self.threshold
            or process_queue.size_bytes // MIB > self.threshold_mib
            or (
                not settings.ordered
                and process_queue.max_span() > settings.consume_concurrently_max_span
            )
        )
        if is_full:
            if self._flow_controls % LOG_EVERY == 0:
                _log.warning(
                    "so do flow control, %s, minOffset=%s, maxOffset=%s, size=%s bytes,"
                    " flowControlTimes=%s",
                    process_queue,
                    process_queue.first_offset(),
                    process_queue.last_offset(),
                    process_queue.size_bytes,
                    self._flow_controls,
                )
            self._flow_controls += 1
        return is_full

    def _is_locked(self, process_queue: ProcessQueue) -> Task[bool]:
        """Return whether an ordered queue is locked. The first pull asks for its offset again: the
        member that had the queue may have committed it after this one had asked."""
        if self._context.is_clustering and not process_queue.locked:
            _log.info("pull message later because not locked in broker, %s", process_queue.queue)
            return False
        if not process_queue.was_locked:
            offset = yield from start_offset(self._context, process_queue.queue, self.started_ms)
            process_queue.was_locked = True
            process_queue.next_offset = offset
        return True

    def _check_broker(self, process_queue: ProcessQueue, subscription: SubscriptionData) -> None:
        """Raise MQClientError if a broker is too old to filter by the subscription.

        Source: client/impl/consumer/PullAPIWrapper.java#pullKernelImpl (4.9.7)
        """
        if is_tag_type(subscription.expression_type):
            return
        instance, name = self._context.services.instance, process_queue.queue.broker_name
        broker = instance.routes.any_addr(name)
        version = None if broker is None else instance.broker_versions.get(broker.addr)
        if version is not None and version < V4_1_0_SNAPSHOT:
            raise MQClientError(
                f"The broker[{name}, {version}] does not upgrade to support for filter message by"
                f" {subscription.expression_type}"
            )

    def _ask(self, process_queue: ProcessQueue, subscription: SubscriptionData) -> Task[PullResult]:
        context = self._context
        commit = context.offsets.in_memory(process_queue.queue) if context.is_clustering else None
        posts = context.settings.post_subscription_when_pull
        return (
            yield from self._operations.pull(
                process_queue.queue,
                process_queue.next_offset,
                max_messages=context.settings.pull_batch_size,
                expression=subscription.sub_string if posts else None,
                expression_type=subscription.expression_type or "TAG",
                sub_version=subscription.sub_version,
                suspend_ms=SUSPEND_MS,
                commit_offset=commit if commit and commit > 0 else None,
                timeout_ms=TIMEOUT_MS,
            )
        )

    # -- results --------------------------------------------------------------

    def _pulled(
        self,
        process_queue: ProcessQueue,
        subscription: SubscriptionData,
        result: PullResult,
        began_ms: int,
    ) -> int:
        """Take the result of a pull; return how long to wait until the next."""
        queue = process_queue.queue
        has_moved_on = result.next_begin_offset > process_queue.next_offset
        process_queue.next_offset = result.next_begin_offset
        took_ms = self._carrier.elapsed_ms() - began_ms
        if result.status is PullStatus.OFFSET_ILLEGAL:
            _log.warning("the pull request offset illegal, %s %s", queue, result)
            process_queue.dropped = True
            self._context.tasks.start(self._fix_offset(process_queue), "fix an offset")
            return 0
        refused_ms = 0 if has_moved_on or took_ms >= REFUSED_MS else REFUSED_MS
        if result.status is not PullStatus.FOUND:
            # Also messages that the broker has filtered out are over. Those before them are not,
            # as long as some are here.
            if not len(process_queue):
                self._context.offsets.update(queue, process_queue.next_offset, increase_only=True)
            return refused_ms
        messages = self._received(process_queue, subscription, result)
        if not messages:
            return refused_ms
        self._context.statistics.pulled(queue.topic or "", len(messages), took_ms)
        added = process_queue.put(messages)
        if added:
            self._service.submit(process_queue, added)
        return max(refused_ms, self._context.settings.pull_interval_ms)

    def _received(
        self, process_queue: ProcessQueue, subscription: SubscriptionData, result: PullResult
    ) -> list[ReceivedMessage]:
        """Return the messages that the subscription wants: a broker filters by hashes of tags.

        Source: PullAPIWrapper.java#processPullResult (4.9.7)
        """
        tags, broker_name = frozenset(subscription.tags_set), process_queue.queue.broker_name or ""
        is_renamed = bool(self._context.settings.namespace)
        received = []
        for stored in result.messages:
            if tags and stored.tags not in tags:
                continue
            if is_renamed or stored.topic == self._retry_topic:
                message = self.received(stored, broker_name)
            else:
                message = ReceivedMessage(stored, broker_name)
            message.min_offset, message.max_offset = result.min_offset, result.max_offset
            received.append(message)
        return received

    def received(self, stored: MessageExt, broker_name: str) -> ReceivedMessage:
        """Return a message as a listener gets it: with its first topic, without the namespace.

        Source: DefaultMQPushConsumerImpl.java#resetRetryAndNamespace (4.9.7)
        """
        topic, own_namespace = stored.topic, self._context.settings.namespace
        if topic == self._retry_topic:
            topic = stored.properties.get(names.RETRY_TOPIC) or topic
        if own_namespace:
            topic = namespace.unwrap(topic, own_namespace)
        return ReceivedMessage(stored, broker_name, topic=topic)

    def _fix_offset(self, process_queue: ProcessQueue) -> Task[None]:
        """Commit the offset that a broker has moved a queue to, and drop the queue. The next
        rebalance takes it again, and continues there."""
        yield Sleep(FIX_OFFSET_MS, "client_pull")
        queue = process_queue.queue
        if self._context.queues.get(queue) is not process_queue:
            return
        self._context.offsets.update(queue, max(0, process_queue.next_offset), increase_only=False)
        yield from self.give_up(process_queue)
        _log.warning("fix the pull request offset, %s", queue)


def _is_unknown(error: FakemqError) -> bool:
    return isinstance(error, MQBrokerError) and error.code in (
        ResponseCode.SUBSCRIPTION_NOT_EXIST,
        ResponseCode.SUBSCRIPTION_NOT_LATEST,
    )
