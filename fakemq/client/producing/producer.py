"""One producer: its start-up state machine, and sending in every way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from fakemq.client import queue_choice
from fakemq.client.errors import RemotingTooMuchRequestError
from fakemq.client.messages import Message, SendResult
from fakemq.client.producing import namespace
from fakemq.client.producing.check_listener import CheckListener, TransactionEnd
from fakemq.client.producing.checks import listen_for_checks
from fakemq.client.producing.group_names import require_producer_group, require_topic_to_send
from fakemq.client.producing.latency import ByLatency, LatencyFaultTolerance
from fakemq.client.producing.request_reply import Requests
from fakemq.client.producing.send_commands import split
from fakemq.client.producing.settings import AsyncExecute, ProducerSettings, Selection
from fakemq.client.producing.trace import TraceDispatcher, TraceKind
from fakemq.client.queue_choice import InTurn, QueueChoice, QueueChooser
from fakemq.client.send_operations import SendOperations
from fakemq.client.service_state import ServiceState
from fakemq.client.services import ClientServices
from fakemq.client.tasks import Task
from fakemq.client.transaction_operations import TransactionOperations, TransactionSendResult
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message import MessageExt

_log = logging.getLogger("fakemq.client")
_RUNNING = ServiceState.RUNNING


class ProducerCore:
    """A producer of one group, over the services of a client; its methods are tasks.

    Every way to send raises MQClientError, MQBrokerError or RemotingError, and MQClientError
    unless the producer runs. Several producers may share the services of one client; the shell
    shuts these down after its last producer and consumer.

    Source: client/producer/DefaultMQProducer.java, client/impl/producer/DefaultMQProducerImpl.java
    (4.9.7)
    """

    def __init__(self, services: ClientServices, settings: ProducerSettings) -> None:
        self.services = services
        self.settings = settings
        self.state = ServiceState.CREATE_JUST
        self.group = namespace.wrap(settings.namespace, settings.group)
        """In its namespace, as brokers know it."""
        self._topics: dict[str, None] = {settings.create_topic_key: None}
        instance = services.instance
        self._sends = SendOperations(
            instance,
            settings=settings,
            chooser=self._chooser(),
            before=self._check,
            kept_by_services=True,
        )
        self._transactions = TransactionOperations(instance, sends=self._sends)
        self._requests = Requests(instance, self._start_beside, services.heartbeat)
        self._trace: TraceDispatcher | None = None

    def _chooser(self) -> QueueChooser:
        settings, instance = self.settings, self.services.instance
        in_turn = InTurn(instance.random)
        if not settings.send_latency_fault_enable:
            return in_turn
        tolerance = LatencyFaultTolerance(
            instance.time.elapsed_ms, QueueChoice(instance.random.getrandbits(31))
        )
        return ByLatency(
            in_turn, tolerance, settings.latency_max_ms, settings.not_available_duration_ms
        )

    # -- life -----------------------------------------------------------------

    def topics(self) -> Iterable[str]:
        """Return the topics that it has sent to, and the key for new topics."""
        return tuple(self._topics)

    def start(self) -> Task[None]:
        """Check the settings, register the group, and send a heartbeat to the known brokers.

        Raise MQClientError for settings that cannot be, which leaves START_FAILED; for a group
        that this client has already, after which it may be started again; and if it was started
        before.

        Source: client/impl/producer/DefaultMQProducerImpl.java#start (4.9.7)
        """
        self.state.require_startable("producer")
        self.state = ServiceState.START_FAILED
        require_producer_group(self.group)
        try:
            self.services.register_producer(self)
        except Exception:
            self.state = ServiceState.CREATE_JUST
            raise
        with ExitStack() as undoing:
            undoing.callback(self.services.forget_producer, self.group)
            if self.settings.trace:
                undoing.callback(self.services.forget_producer, self._start_trace())
            if self.settings.check is not None:
                instance = self.services.instance
                listener = CheckListener(
                    self.settings.check,
                    tenant=self.settings.namespace,
                    hold_max=self.settings.check_request_hold_max,
                    on_end=self._transactions.on_end,
                )
                listen_for_checks(instance, self.group, listener)
                undoing.callback(instance.check_listeners.pop, self.group)
            self.services.start()
            undoing.pop_all()
        self.state = ServiceState.RUNNING
        yield from self.services.heartbeat()

    def _start_trace(self) -> str:
        """Return the group of the traces."""
        trace = TraceDispatcher(
            self.services, self.group, TraceKind.PRODUCE, topic=self.settings.trace_topic
        )
        trace.start()

        def ended(end: TransactionEnd) -> None:
            trace.transaction_ended(
                end.message, end.msg_id, end.addr, end.state, from_check=end.from_check
            )

        self._trace = trace
        self._sends.on_sent = trace.sent
        self._transactions.on_end = ended
        return trace.group

    def shutdown(self) -> Task[None]:
        """Leave the group at the brokers, and send the last traces; do nothing unless it runs.

        Source: client/impl/producer/DefaultMQProducerImpl.java#shutdown (4.9.7)
        """
        if self.state is not ServiceState.RUNNING:
            return
        self.state = ServiceState.SHUTDOWN_ALREADY
        self.services.instance.check_listeners.pop(self.group, None)
        yield from self.services.unregister_producer(self.group)
        if self._trace is not None:
            yield from self._trace.shutdown()

    # -- sending --------------------------------------------------------------

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selection | None = None,
        sharding_key: str | int | None = None,
        timeout_ms: int | None = None,
    ) -> Task[SendResult]:
        """Send a message and return where it was stored.

        Without a choice of the queue the producer takes the queues in turn, and tries another
        broker after a failure, all within ``timeout_ms``. With a queue there is one attempt.
        ``queue`` is one of the topic's, ``selector`` a function that chooses one or ``"random"``,
        and ``sharding_key`` keeps the messages with equal keys in one queue, in their order.
        """
        if selector is None and sharding_key is None:
            # Not a generator around a generator: it would be resumed twice for each send.
            return self._sends.send(message, queue=queue, timeout_ms=timeout_ms)
        return self._send_selected(message, selector, sharding_key, timeout_ms)

    def _send_selected(
        self,
        message: Message,
        selector: Selection | None,
        sharding_key: str | int | None,
        timeout_ms: int | None,
    ) -> Task[SendResult]:
        begin_ms = self.services.instance.time.elapsed_ms()
        chosen = yield from self._select(message, selector, sharding_key)
        left_ms = self._left_ms(begin_ms, timeout_ms)
        return (yield from self._sends.send(message, queue=chosen, timeout_ms=left_ms))

    def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: Selection | None = None,
        sharding_key: str | int | None = None,
    ) -> Task[None]:
        """Send a message without waiting for an answer; a lost message is not reported."""
        if selector is not None or sharding_key is not None:
            queue = yield from self._select(message, selector, sharding_key)
        yield from self._sends.send_oneway(message, queue=queue)

    def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Task[SendResult]:
        """Send messages of one topic as one batch: all go to one queue, in their order.

        Raise MQClientError if they do not fit together, or are too large together.
        """
        return (yield from self._sends.send_batch(messages, queue=queue, timeout_ms=timeout_ms))

    def send_batches(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Task[list[SendResult]]:
        """Send messages of one topic in as few batches as their size allows, one after another.

        A batch takes at most ``max_message_bytes`` of a broker's log. ``timeout_ms`` is for each
        batch. If one fails the ones before it are stored; its error is raised.

        Source: example/batch/SplitBatchProducer.java (4.9.7)
        """
        results = []
        for batch in split(messages, self.settings.max_message_bytes):
            result = yield from self.send_batch(batch, queue=queue, timeout_ms=timeout_ms)
            results.append(result)
        return results

    def send_in_transaction(
        self,
        message: Message,
        execute: AsyncExecute,
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Task[TransactionSendResult]:
        """Send a half message, perform the local transaction, and send the broker its result.

        ``execute`` returns a `LocalTransactionState`; None is UNKNOW. What it raises is raised
        here, after the broker got UNKNOW. The broker asks ``check`` of the settings about a half
        message without an end.
        """
        return (
            yield from self._transactions.send_in_transaction(
                message, execute, queue=queue, timeout_ms=timeout_ms
            )
        )

    def request(
        self,
        message: Message,
        timeout_ms: int,
        *,
        queue: MessageQueue | None = None,
        selector: Selection | None = None,
        sharding_key: str | int | None = None,
    ) -> Task[MessageExt]:
        """Send a request and return the reply of its consumer.

        ``timeout_ms`` is for both. Raise RequestTimeoutError if no reply comes in time. A consumer
        answers with `create_reply_message`.
        """
        self._sends.check(message)

        def send(left_ms: int) -> Task[SendResult]:
            return self.send(
                message,
                queue=queue,
                selector=selector,
                sharding_key=sharding_key,
                timeout_ms=left_ms,
            )

        return (yield from self._requests.request(message, send, timeout_ms))

    def recall_message(self, topic: str, recall_handle: str) -> Task[str]:
        """Delete a timer message before it is delivered; return its unique id.

        Only a broker of 5.5.0 with recallMessageEnable does so, and in the moment of delivery it
        may be too late.
        """
        from fakemq.client.producing import recall  # few producers recall

        self.state.require_running("producer")
        return (
            yield from recall.recall_message(
                self.services.instance, self.settings, self.group, topic, recall_handle
            )
        )

    def queues(self, topic: str) -> Task[Sequence[MessageQueue]]:
        """Ask a name server for a topic's queues; raise MQClientError if there are none.

        Source: client/producer/DefaultMQProducer.java#fetchPublishMessageQueues (4.9.7)
        """
        self.state.require_running("producer")
        return self._shown((yield from self._sends.fetched_queues(topic)))

    def _shown(self, queues: Sequence[MessageQueue]) -> Sequence[MessageQueue]:
        space = self.settings.namespace
        return tuple(namespace.unwrap_queue(one, space) for one in queues) if space else queues

    # -- parts ----------------------------------------------------------------

    def _check(self, message: Message) -> None:
        """Raise MQClientError unless the producer runs and the message can be sent."""
        if self.state is not _RUNNING:
            self.state.require_running("producer")
        topic = message.topic
        if type(topic) is not str:
            message.require_valid()
        if self.settings.namespace:
            topic = namespace.wrap(self.settings.namespace, topic)
        if topic not in self._topics:
            require_topic_to_send(topic)
            self._topics[topic] = None

    def _select(
        self, message: Message, selector: Selection | None, sharding_key: str | int | None
    ) -> Task[MessageQueue]:
        """Return the chosen queue.

        Source: client/impl/producer/DefaultMQProducerImpl.java#sendSelectImpl (4.9.7)
        """
        self._sends.check(message)
        self._topics[namespace.wrap(self.settings.namespace, message.topic)] = None
        queues = self._shown((yield from self._sends.queues(message.topic)))
        if sharding_key is not None:
            return queue_choice.by_hash(queues, sharding_key)
        if selector == "random":
            return self.services.instance.random.choice(queues)
        assert callable(selector)
        return (yield from queue_choice.by_function(selector, queues, message))

    def _left_ms(self, begin_ms: int, timeout_ms: int | None) -> int:
        limit_ms = self.settings.send_timeout_ms if timeout_ms is None else timeout_ms
        left_ms = begin_ms + limit_ms - self.services.instance.time.elapsed_ms()
        if left_ms < 0:
            raise RemotingTooMuchRequestError("sendSelectImpl call timeout")
        return left_ms

    def _start_beside(
        self, task: Task[SendResult], done: Callable[[BaseException | None], None]
    ) -> Callable[[], None]:
        tasks = self.services.tasks
        running = tasks.start(task, "request", lambda _, error: done(error))
        return lambda: tasks.cancel(running)
