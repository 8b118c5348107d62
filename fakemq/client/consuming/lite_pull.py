"""One lite pull consumer: it pulls ahead, and the program polls.

Source: client/consumer/DefaultLitePullConsumer.java,
client/impl/consumer/DefaultLitePullConsumerImpl.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fakemq.client.arguments import one_queue, queue_offset, several_queues, topic_name, wait_ms
from fakemq.client.consuming.allocation.strategies import java_text
from fakemq.client.consuming.lite_offsets import LiteOffsets
from fakemq.client.consuming.lite_queues import LiteQueues, MessageQueueListener
from fakemq.client.consuming.lite_settings import MIN_AUTO_COMMIT_INTERVAL_MS, LitePullSettings
from fakemq.client.consuming.queue_listeners import QueueListener, QueueListeners, fetch_queues
from fakemq.client.consuming.read_ahead import LitePoll, ReadAhead
from fakemq.client.consuming.rebalance import Rebalancer
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.consuming.requests import handle_consumer_requests
from fakemq.client.consuming.running_info import lite_running_info
from fakemq.client.consuming.settings import Selector
from fakemq.client.consuming.subscriptions import (
    LiteSubscriptions,
    SubscriptionType,
    check_in_broker,
    require_subscription,
)
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.producing.namespace import unwrap_queue, wrap, wrap_queue
from fakemq.client.pull_operations import PullOperations
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Task
from fakemq.config.checked import whole
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.consumer import ConsumerRunningInfo
from fakemq.protocol.bodies.heartbeat import ConsumerData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.subscription import SUB_ALL

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")


class LitePullConsumerCore:
    """A lite pull consumer of one group, over the services of a client.

    `subscribe` divides the queues of topics among the group's members; `assign` chooses queues by
    hand. A consumer does one or the other. Tasks read ahead from each queue, `poll` returns what
    they have read, and `commit`, or a later `poll`, commits what was returned. Topics and queues
    are without the namespace of the settings.

    Errors of use keep Java's texts: MQClientError where Java has an IllegalStateException, and
    ConfigError, which is a ValueError, for an argument that cannot be.
    """

    def __init__(self, services: ClientServices, settings: LitePullSettings) -> None:
        self.services = services
        self.settings = settings
        self.state = ServiceState.CREATE_JUST
        self.group = wrap(settings.namespace, settings.group)
        """In its namespace, as brokers know it."""
        self._subscriptions = subscribed = LiteSubscriptions()
        operations = PullOperations(services.instance, self.group)
        self._offsets = offsets = LiteOffsets(services, settings, operations)
        self._reading = reading = ReadAhead(
            services, operations, settings, subscribed.of, offsets.next_offset
        )
        self._queues = LiteQueues(
            services, settings, offsets.offsets, reading, offsets.next_offset, subscribed.has
        )
        self._rebalancer = Rebalancer(
            services,
            self.group,
            self._queues,
            message_model=settings.message_model,
            allocate=settings.allocate,
        )
        self._queue_listeners = QueueListeners(
            services, settings.topic_metadata_check_interval_ms, self._shown
        )
        self._commit_at_ms = 0
        for topic, expression in settings.subscribe.items():
            self._add_subscription(topic, expression)

    # -- life -----------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self.state is ServiceState.RUNNING

    @property
    def is_idle(self) -> bool:
        """Always True: what is pulled waits for a poll, and nothing is consumed by itself."""
        return True

    def start(self) -> Task[None]:
        """Check the settings, register the group, begin to read ahead, and divide the queues.

        Raise MQClientError for settings that cannot be, which leaves START_FAILED; for a group
        that this client has already, after which it may be started again; if it was started
        before; and if a broker refuses an expression. Raise RemotingError if no name server
        answers. After both of these it runs nevertheless: shut it down.

        Differs: Java sends the first heartbeat 1 s later, and divides queues when the broker has
        answered it.

        Source: DefaultLitePullConsumerImpl.java#start (4.9.7)
        """
        self.state.require_startable("PullConsumer")
        self.state = ServiceState.START_FAILED
        self.settings.require_valid(self.group)
        self._offsets.offsets.load()  # before the group is taken: a damaged file raises
        try:
            self.services.register_consumer(self)
        except Exception:
            self.state = ServiceState.CREATE_JUST
            raise
        with ExitStack() as undoing:
            undoing.callback(self.services.forget_consumer, self.group)
            handle_consumer_requests(self.services)
            self.services.start()
            self._reading.start()
            undoing.pop_all()
        self.state = ServiceState.RUNNING
        self._queue_listeners.start()
        self._queues.start()
        yield from self.services.first_routes(self.topics())
        yield from self._queue_listeners.fetch()
        yield from self.services.heartbeat()
        yield from check_in_broker(self.services, self.group, self._subscriptions.all())
        yield from self.rebalance()

    def shutdown(self) -> Task[None]:
        """Stop reading, store what was committed, and leave the group at the brokers.

        As in Java, messages of polls since the last `commit`, or the last that a poll did by
        itself, are not committed. A poll that waits returns nothing. Do nothing unless it runs.

        Source: DefaultLitePullConsumerImpl.java#shutdown (4.9.7)
        """
        if not self.is_running:
            return
        self.state = ServiceState.SHUTDOWN_ALREADY
        self._rebalancer.has_ended = True
        self._queue_listeners.stop()
        queues = self._queues.stop()
        yield from self._offsets.offsets.persist_last(queues)
        yield from self.services.unregister_consumer(self.group)
        yield from self._reading.finish()

    def _require_running(self) -> None:
        if not self.is_running:
            raise MQClientError("The consumer not running, please start it first.")

    # -- which queues ---------------------------------------------------------

    def subscribe(
        self,
        topic: str,
        expression: str | Selector = SUB_ALL,
        listener: MessageQueueListener | None = None,
    ) -> Task[None]:
        """Subscribe to a topic, also while it runs.

        ``listener`` is called when the queues of any topic were divided anew; the last one set
        counts. Raise MQClientError after `assign`, and for an expression that cannot be one.
        """
        self._add_subscription(topic, expression)
        self._queues.listener = listener
        if self.is_running:
            yield from self._update_routes()
            yield from self.services.heartbeat()
            self.services.rebalance_soon()

    def _add_subscription(self, topic: str, expression: str | Selector) -> None:
        require_subscription(topic, expression)
        topic = wrap(self.settings.namespace, topic)
        self._subscriptions.add(topic, expression, self.services.carrier.wall_ms())

    def unsubscribe(self, topic: str) -> None:
        """End the subscription to a topic; brokers learn of it with the next heartbeat.

        Differs: in Java polls return its messages until the next rebalance, and what was
        committed shortly before is lost.
        """
        topic = wrap(self.settings.namespace, topic_name("topic", topic))
        self._subscriptions.remove(topic)
        self._queues.leave_topic(topic)

    def assign(self, queues: Collection[MessageQueue]) -> None:
        """Read exactly these queues from now on, without regard to other members of the group.

        Raise ConfigError without a queue, MQClientError after `subscribe`.
        """
        if not (wrapped := self._wrapped(queues)):
            raise ConfigError("Message queues can not be null or empty.")
        self._subscriptions.set_type(SubscriptionType.ASSIGN)
        self._queues.assign(wrapped)

    def set_sub_expression_for_assign(self, topic: str, expression: str) -> None:
        """Set the tags that are wanted of a topic's assigned queues, before the start.

        Raise ConfigError for a blank expression, MQClientError after the start.
        """
        if self.state is not ServiceState.CREATE_JUST:
            raise MQClientError("setAssignTag only can be called before start.")
        self._subscriptions.set_for_assign(wrap(self.settings.namespace, topic), expression)

    def assignment(self) -> list[MessageQueue]:
        """Return the queues that are read now, sorted."""
        return sorted(self._shown(queue) for queue in self._queues.assigned)

    def fetch_message_queues(self, topic: str) -> Task[list[MessageQueue]]:
        """Ask a name server for a topic's queues. Raise MQClientError if there are none."""
        self._require_running()
        topic = wrap(self.settings.namespace, topic_name("topic", topic))
        queues = yield from fetch_queues(self.services, topic)
        return [self._shown(queue) for queue in queues]

    def register_topic_message_queue_change_listener(
        self, topic: str, listener: QueueListener
    ) -> Task[None]:
        """Call ``listener`` with the topic and its queues when these have changed.

        They are compared every 30 s. Another listener of the topic is replaced.

        Source: client/consumer/TopicMessageQueueChangeListener.java (4.9.7)
        """
        topic = wrap(self.settings.namespace, topic_name("topic", topic))
        self._queue_listeners.add(topic, listener)
        if self.is_running:
            yield from self._queue_listeners.fetch([topic])

    def _wrapped(self, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        return [wrap_queue(self.settings.namespace, queue) for queue in several_queues(queues)]

    def _shown(self, queue: MessageQueue) -> MessageQueue:
        return unwrap_queue(queue, self.settings.namespace)

    # -- messages -------------------------------------------------------------

    def poll(self, timeout_ms: int | None = None) -> Task[list[ReceivedMessage]]:
        """Return the messages of one pull; wait for them, and return none after ``timeout_ms``.

        With ``auto_commit`` of the settings the messages of earlier polls are committed first,
        every 5 s. Raise MQClientError unless it runs.
        """
        return (yield from self.polling(timeout_ms).task())

    def polling(self, timeout_ms: int | None = None) -> LitePoll:
        """Return a `poll` that can be taken back, for shells whose calls can be cancelled."""
        limit_ms = self.settings.poll_timeout_ms if timeout_ms is None else wait_ms(timeout_ms)
        return LitePoll(self._reading, self.services.carrier, self._begin_poll, limit_ms)

    def _begin_poll(self) -> None:
        self._require_running()
        now_ms = self.services.carrier.elapsed_ms()
        if self.settings.auto_commit and now_ms >= self._commit_at_ms:
            self._offsets.commit_polled(self._queues, self._queues.assigned)
            interval_ms = max(self.settings.auto_commit_interval_ms, MIN_AUTO_COMMIT_INTERVAL_MS)
            self._commit_at_ms = now_ms + interval_ms

    def pause(self, queues: Iterable[MessageQueue]) -> None:
        """Pull no more from these queues; what was read ahead is still returned by polls."""
        for queue in self._wrapped(queues):
            if (assigned := self._queues.assigned.get(queue)) is not None:
                assigned.resumed.clear()

    def resume(self, queues: Iterable[MessageQueue]) -> None:
        """Pull from these queues again."""
        for queue in self._wrapped(queues):
            if (assigned := self._queues.assigned.get(queue)) is not None:
                assigned.resumed.set()

    # -- offsets --------------------------------------------------------------

    def commit(
        self,
        offsets: Mapping[MessageQueue, int] | Collection[MessageQueue] | None = None,
        *,
        persist: bool = True,
    ) -> Task[None]:
        """Commit what polls have returned of all queues, or of some; or offsets of your own.

        With ``persist`` the brokers, or the file of BROADCASTING, have it at once, otherwise
        within 5 s. A queue that is not assigned is left out.

        Differs: Java's ``commitSync()`` is without ``persist``, and storing some queues forgets
        what was committed of others.
        """
        self._require_running()
        if isinstance(offsets, Mapping):
            queues = self._wrapped(list(offsets))
            given = dict(zip(queues, map(queue_offset, offsets.values()), strict=True))
            self._offsets.commit_given(self._queues, given)
        else:
            assigned = self._queues.assigned
            queues = list(assigned) if offsets is None else self._wrapped(offsets)
            self._offsets.commit_polled(self._queues, queues)
        if persist:
            yield from self._offsets.persist(self._queues, queues)

    def committed(self, queue: MessageQueue) -> Task[int | None]:
        """Return the committed offset of a queue; None if it has none.

        Raise MQClientError if it cannot be had.
        """
        self._require_running()
        queue = wrap_queue(self.settings.namespace, one_queue(queue))
        return (yield from self._offsets.committed(queue))

    def seek(self, queue: MessageQueue, offset: int) -> Task[None]:
        """Let the next poll of a queue return the message at ``offset``.

        What was read ahead of it is forgotten. Raise MQClientError if the queue is not assigned,
        or if the offset is not between its first and one more than its last.
        """
        queue = self._seekable(queue)
        whole("offset", offset, None)
        yield from self._offsets.seek(self._queues, self._reading, queue, offset)

    def seek_to_begin(self, queue: MessageQueue) -> Task[None]:
        """As `seek` to the first message that is stored."""
        offset = yield from self._offsets.min_offset(self._seekable(queue))
        yield from self.seek(queue, offset)

    def seek_to_end(self, queue: MessageQueue) -> Task[None]:
        """As `seek` behind the last message."""
        offset = yield from self._offsets.max_offset(self._seekable(queue))
        yield from self.seek(queue, offset)

    def _seekable(self, queue: MessageQueue) -> MessageQueue:
        queue = wrap_queue(self.settings.namespace, one_queue(queue))
        self._require_running()
        if queue not in self._queues.assigned:
            rebalancing = self._subscriptions.type is SubscriptionType.SUBSCRIBE
            raise MQClientError(
                "The message queue is not in assigned list,"
                f"{' may be rebalancing,' if rebalancing else ''} message queue: {java_text(queue)}"
            )
        return queue

    def offset_for_timestamp(self, queue: MessageQueue, timestamp_ms: int) -> Task[int]:
        """Return the offset of the first message stored at or after a broker's time."""
        self._require_running()
        queue = wrap_queue(self.settings.namespace, one_queue(queue))
        return (yield from self._offsets.search_offset(queue, timestamp_ms))

    # -- as a member of its client --------------------------------------------

    def topics(self) -> Sequence[str]:
        """Return the topics whose routes are kept fresh."""
        assigned = (queue.topic or "" for queue in self._queues.assigned)
        return list(dict.fromkeys([*self._subscriptions.topics(), *assigned]))

    def consumer_data(self) -> ConsumerData:
        """Return its part of the heartbeat; where it begins is not in it, as in Java."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            message_model=self.settings.message_model,
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
            subscription_data_set=self._subscriptions.all(),
            unit_mode=self.settings.unit_mode,
        )

    def rebalance(self) -> Task[None]:
        """Divide the queues of its topics anew."""
        if self.is_running:
            yield from self._rebalancer.rebalance(self._subscriptions.topics(), ordered=False)

    def persist_offsets(self) -> Task[None]:
        """Store what was committed."""
        if self.is_running:
            yield from self._offsets.offsets.persist_all(self._queues.kept())

    def running_info(self) -> Task[ConsumerRunningInfo]:
        """Return what an admin tool shows of this consumer."""
        yield from ()
        return lite_running_info(
            self.services.instance,
            self.settings,
            self.group,
            self._subscriptions.all(),
            self._offsets.started_ms,
        )

    def _update_routes(self) -> Task[None]:
        for topic in self.topics():
            try:
                yield from self.services.instance.update_route(topic)
            except (RemotingError, MQBrokerError, MQClientError) as error:
                _log.warning("no route of %s: %s", topic, error)
