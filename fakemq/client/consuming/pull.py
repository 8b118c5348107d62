"""One pull consumer: the group divides queues, and the program pulls from them by hand.

Source: client/consumer/DefaultMQPullConsumer.java,
client/impl/consumer/DefaultMQPullConsumerImpl.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

from fakemq.client.admin import Admin
from fakemq.client.arguments import one_queue, queue_offset, topic_name
from fakemq.client.consuming.lite_offsets import offset_store
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.consuming.queue_listeners import fetch_queues
from fakemq.client.consuming.rebalance import Rebalancer
from fakemq.client.consuming.received import Pulled, ReceivedMessage
from fakemq.client.consuming.requests import handle_consumer_requests
from fakemq.client.consuming.running_info import pull_running_info
from fakemq.client.consuming.send_back import SendingBack, require_sent_back
from fakemq.client.consuming.settings import Selector
from fakemq.client.consuming.subscriptions import built_subscription
from fakemq.client.errors import MQClientError
from fakemq.client.producing.namespace import unwrap, unwrap_queue, wrap, wrap_queue
from fakemq.client.pull_operations import PullOperations
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Perform, Task
from fakemq.config.checked import whole
from fakemq.protocol.bodies.consumer import ConsumerRunningInfo
from fakemq.protocol.bodies.heartbeat import ConsumerData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.subscription import SUB_ALL, is_tag_type
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

Divided: TypeAlias = Callable[[str, Sequence[MessageQueue], Sequence[MessageQueue]], object]
"""Takes a topic, all its queues and those of this consumer, after a division has changed these."""


class PullConsumerCore:
    """A pull consumer of one group, over the services of a client.

    The queues of its registered topics are divided among the members of the group; see
    `fetch_message_queues_in_balance`. It pulls only when it is asked to, and offsets are updated
    by hand, and stored every 5 s. Topics and queues are without the namespace of the settings.

    All but the registering of topics raises MQClientError unless it runs.
    """

    def __init__(self, services: ClientServices, settings: PullSettings) -> None:
        self.services = services
        self.settings = settings
        self.state = ServiceState.CREATE_JUST
        self.group = wrap(settings.namespace, settings.group)
        """In its namespace, as brokers know it."""
        # Registered topics are those that brokers hear of; pulled ones are divided, too.
        self._registered: dict[str, Divided | None] = {}
        self._pulled: dict[str, None] = {}
        self._owned: dict[MessageQueue, None] = {}
        # Queues of others, or of no member, whose offsets the program has updated.
        self._updated: dict[MessageQueue, None] = {}
        self._started_ms = services.carrier.wall_ms()
        self._admin = Admin(services.instance)
        self._operations = PullOperations(services.instance, self.group)
        self._offsets = offset_store(
            services, self._operations, settings.message_model, settings.offsets_directory
        )
        self._sending_back = SendingBack(self)
        self._rebalancer = Rebalancer(
            services,
            self.group,
            self,
            message_model=settings.message_model,
            allocate=settings.allocate,
        )
        self.on_divided: Divided | None = None
        """Called at once when queues have changed, with names as brokers know them."""
        for topic in settings.topics:
            self.register_topic(topic)

    # -- life -----------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self.state is ServiceState.RUNNING

    @property
    def is_idle(self) -> bool:
        """Always True: it does nothing by itself."""
        return True

    @property
    def max_reconsume_times(self) -> int:
        return self.settings.max_reconsume_times

    def start(self) -> Task[None]:
        """Check the settings, register the group, and divide the queues.

        Raise MQClientError for settings that cannot be, which leaves START_FAILED; for a group
        that this client has already, after which it may be started again; and if it was started
        before. Raise RemotingError if no name server answers; then it runs: shut it down.

        Differs: Java sends the first heartbeat 1 s later, and divides queues when the broker has
        answered it.

        Source: DefaultMQPullConsumerImpl.java#start (4.9.7)
        """
        self.state.require_startable("PullConsumer")
        self.state = ServiceState.START_FAILED
        self.settings.require_valid(self.group)
        self._offsets.load()
        try:
            self.services.register_consumer(self)
        except Exception:
            self.state = ServiceState.CREATE_JUST
            raise
        with ExitStack() as undoing:
            undoing.callback(self.services.forget_consumer, self.group)
            handle_consumer_requests(self.services)
            self.services.start()
            undoing.pop_all()
        self.state = ServiceState.RUNNING
        yield from self.services.first_routes(self.topics())
        yield from self.services.heartbeat()
        yield from self.rebalance()

    def shutdown(self) -> Task[None]:
        """Store the offsets, and leave the group at the brokers; do nothing unless it runs."""
        if not self.is_running:
            return
        self.state = ServiceState.SHUTDOWN_ALREADY
        yield from self._offsets.persist_last({*self._owned, *self._updated})
        yield from self.services.unregister_consumer(self.group)

    def _require_running(self) -> None:
        if not self.is_running:
            raise MQClientError(f"The consumer is not in running status, {self.state.value}{FAQ}")

    # -- topics and queues ----------------------------------------------------

    def register_topic(self, topic: str, listener: Divided | None = None) -> None:
        """Divide the queues of a topic, and call ``listener`` when this consumer's have changed.

        Differs: in Java a topic that is registered after the start is divided only once it was
        pulled from.
        """
        topic = wrap(self.settings.namespace, topic_name("topic", topic))
        built_subscription(topic, SUB_ALL)
        self._registered[topic] = listener
        if self.is_running:
            self.services.rebalance_soon()

    def fetch_message_queues_in_balance(self, topic: str) -> list[MessageQueue]:
        """Return the queues of a topic that this consumer has now, sorted."""
        self._require_running()
        queues = self.owned(wrap(self.settings.namespace, topic_name("topic", topic)))
        return sorted(self._shown(queue) for queue in queues)

    def fetch_subscribe_message_queues(self, topic: str) -> Task[list[MessageQueue]]:
        """Ask a name server for a topic's queues. Raise MQClientError if there are none."""
        self._require_running()
        topic = wrap(self.settings.namespace, topic_name("topic", topic))
        queues = yield from fetch_queues(self.services, topic)
        return [self._shown(queue) for queue in queues]

    def _named(self, queue: MessageQueue) -> MessageQueue:
        """Return a queue as the brokers know it; raise ConfigError for anything else."""
        return wrap_queue(self.settings.namespace, one_queue(queue))

    def _shown(self, queue: MessageQueue) -> MessageQueue:
        return unwrap_queue(queue, self.settings.namespace)

    # -- pulling --------------------------------------------------------------

    def pull(
        self,
        queue: MessageQueue,
        offset: int,
        expression: str | Selector = SUB_ALL,
        *,
        max_messages: int = 32,
        timeout_ms: int | None = None,
    ) -> Task[Pulled]:
        """Pull from a queue; return at once, also without a message.

        Raise MQClientError for an expression, offset or number that cannot be, MQBrokerError,
        RemotingError.

        Source: DefaultMQPullConsumerImpl.java#pullSyncImpl (4.9.7)
        """
        if timeout_ms is None:
            timeout_ms = self.settings.consumer_pull_timeout_ms
        return (yield from self._pull(queue, offset, expression, max_messages, 0, timeout_ms))

    def pull_block_if_not_found(
        self,
        queue: MessageQueue,
        offset: int,
        expression: str | Selector = SUB_ALL,
        *,
        max_messages: int = 32,
    ) -> Task[Pulled]:
        """As `pull`, but let the broker wait for a message, up to 20 s."""
        suspend_ms = self.settings.broker_suspend_max_time_ms
        timeout_ms = self.settings.consumer_timeout_when_suspend_ms
        pulling = self._pull(queue, offset, expression, max_messages, suspend_ms, timeout_ms)
        return (yield from pulling)

    def _pull(
        self,
        given: MessageQueue,
        offset: int,
        expression: str | Selector,
        max_messages: int,
        suspend_ms: int,
        timeout_ms: int,
    ) -> Task[Pulled]:
        self._require_running()
        if whole("offset", offset, None) < 0:
            raise MQClientError("offset < 0")
        if whole("max_messages", max_messages, None) <= 0:
            raise MQClientError("maxNums <= 0")
        queue = self._named(given)
        topic = queue.topic or ""
        subscription = built_subscription(topic, expression)
        is_tags = is_tag_type(subscription.expression_type)
        self._pulled[topic] = None
        result = yield from self._operations.pull(
            queue,
            offset,
            max_messages=max_messages,
            expression=subscription.sub_string,
            expression_type=subscription.expression_type or "TAG",
            sub_version=0 if is_tags else self.services.carrier.wall_ms(),
            suspend_ms=suspend_ms,
            timeout_ms=timeout_ms,
        )
        messages = [
            ReceivedMessage(
                one,
                queue.broker_name or "",
                topic=unwrap(one.topic, self.settings.namespace),
                min_offset=result.min_offset,
                max_offset=result.max_offset,
            )
            for one in result.messages
        ]
        return Pulled(
            queue=given,
            status=result.status,
            next_begin_offset=result.next_begin_offset,
            min_offset=result.min_offset,
            max_offset=result.max_offset,
            messages=messages,
        )

    def send_message_back(self, message: ReceivedMessage, delay_level: int = 0) -> Task[bool]:
        """Send a message back, to be tried again; return whether a broker has it."""
        self._require_running()
        require_sent_back(message, delay_level)
        return (yield from self._sending_back.send_back(message, delay_level))

    # -- offsets --------------------------------------------------------------

    def update_consume_offset(self, queue: MessageQueue, offset: int) -> None:
        """Commit an offset: it is stored within 5 s.

        Differs: Java forgets the offset of a queue that this member does not have now, such as one
        of a topic that is not registered.
        """
        self._require_running()
        queue = self._named(queue)
        self._offsets.update(queue, queue_offset(offset), increase_only=False)
        if queue not in self._owned:
            self._updated[queue] = None

    def fetch_consume_offset(
        self, queue: MessageQueue, *, from_store: bool = False
    ) -> Task[int | None]:
        """Return the committed offset; None if there is none.

        With ``from_store`` it is what the broker, or the file of BROADCASTING, has now. Raise
        MQBrokerError, MQClientError, RemotingError.
        """
        self._require_running()
        queue = self._named(queue)
        offset = None if from_store else self._offsets.in_memory(queue)
        return (yield from self._offsets.read(queue)) if offset is None else offset

    def max_offset(self, queue: MessageQueue) -> Task[int]:
        """Return one more than the offset of the last message."""
        self._require_running()
        return (yield from self._admin.max_offset(self._named(queue)))

    def min_offset(self, queue: MessageQueue) -> Task[int]:
        """Return the first offset that is still stored."""
        self._require_running()
        return (yield from self._admin.min_offset(self._named(queue)))

    def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> Task[int]:
        """Return the offset of the first message stored at or after a broker's time."""
        self._require_running()
        return (yield from self._admin.search_offset(self._named(queue), timestamp_ms))

    # -- as a member of its client, and the owner of queues -------------------

    def topics(self) -> Sequence[str]:
        """Return the topics whose routes are kept fresh, and whose queues are divided."""
        return list(dict.fromkeys([*self._registered, *self._pulled]))

    def consumer_data(self) -> ConsumerData:
        """Return its part of the heartbeat; the registered topics with all their messages."""
        return ConsumerData(
            group_name=self.group,
            consume_type="CONSUME_ACTIVELY",
            message_model=self.settings.message_model,
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
            subscription_data_set=[built_subscription(one, SUB_ALL) for one in self._registered],
            unit_mode=self.settings.unit_mode,
        )

    def rebalance(self) -> Task[None]:
        """Divide the queues of its topics anew."""
        if self.is_running:
            yield from self._rebalancer.rebalance(self.topics(), ordered=False)

    def persist_offsets(self) -> Task[None]:
        """Store the offsets of its queues."""
        if self.is_running:
            yield from self._offsets.persist_all({*self._owned, *self._updated})

    def running_info(self) -> Task[ConsumerRunningInfo]:
        """Return what an admin tool shows of this consumer."""
        yield from ()
        return pull_running_info(
            self.services.instance,
            self.settings,
            self.group,
            self.consumer_data().subscription_data_set,
            self._started_ms,
        )

    def consumed_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """Return the offsets of a topic's queues, for an admin tool."""
        return self._offsets.of_topic(topic)

    def owned(self, topic: str) -> list[MessageQueue]:
        return [queue for queue in self._owned if queue.topic == topic]

    def is_stuck(self, queue: MessageQueue) -> bool:
        return False

    def drop(self, queue: MessageQueue) -> Task[bool]:
        """Source: client/impl/consumer/RebalancePullImpl.java (4.9.7)"""
        self._owned.pop(queue, None)
        yield from self._offsets.persist(queue)
        self._offsets.remove(queue)
        return True

    def take(self, queue: MessageQueue) -> Task[bool]:
        if queue in self._updated:
            del self._updated[queue]
            yield from self._offsets.persist(queue)
        self._offsets.remove(queue)
        self._owned[queue] = None
        return True

    def divided(
        self, topic: str, all_queues: Sequence[MessageQueue], mine: Sequence[MessageQueue]
    ) -> Task[None]:
        if self.on_divided is not None:
            self.on_divided(topic, all_queues, mine)
        listener = self._registered.get(topic)
        if listener is None:
            return
        shown = [[self._shown(queue) for queue in queues] for queues in (all_queues, mine)]
        try:
            yield Perform(listener, (unwrap(topic, self.settings.namespace), *shown))
        except Exception:
            _log.exception("messageQueueChanged exception")
