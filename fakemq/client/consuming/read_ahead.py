"""Reading ahead: a task for each queue pulls messages before they are polled.

Source: client/impl/consumer/DefaultLitePullConsumerImpl.java#PullTaskImpl (4.9.7)
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.process_queue import ProcessQueue
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.errors import MQBrokerError
from fakemq.client.messages import PullResult, PullStatus
from fakemq.client.producing.namespace import unwrap
from fakemq.client.producing.trace import TraceDispatcher, TraceKind
from fakemq.client.pull_operations import PullOperations
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Signal, Sleep, Task, Wait
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.subscription import is_tag_type

if TYPE_CHECKING:
    from fakemq.client.carrier import Carrier
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

AFTER_OFFSET_ERROR_MS = 3_000
AFTER_BROKER_FLOW_CONTROL_MS = 20
AFTER_NOTHING_MS = 50
_AT_ONCE_MS = 10
_MIB = 1 << 20
_LOG_EVERY = 1_000


class PolledBatch(NamedTuple):
    """What one pull found, in order; ``cleared`` is the count of its queue at that time."""

    assigned: AssignedQueue
    messages: list[ReceivedMessage]
    cleared: int

    @property
    def is_valid(self) -> bool:
        """Whether its queue is still read, and was not sought meanwhile."""
        return not self.assigned.dropped and self.cleared == self.assigned.cleared


class ReadAhead:
    """The pull tasks of one lite pull consumer, and what they have found.

    A queue is not pulled from while too many messages wait for a poll, in it or in all queues.
    Java checks again every 50 ms; here, the poll that makes room wakes the task.
    """

    def __init__(
        self,
        services: ClientServices,
        operations: PullOperations,
        settings: LitePullSettings,
        subscription_of: Callable[[MessageQueue], SubscriptionData],
        offset_of: Callable[[MessageQueue], Task[int]],
    ) -> None:
        self._services = services
        self._operations = operations
        self._settings = settings
        self._subscription_of = subscription_of
        self._offset_of = offset_of
        self._found: deque[PolledBatch] = deque()
        self.arrived = Signal()
        """Set when messages have come; a poll clears it before it waits."""
        self.is_over = False
        """Whether nothing more will come."""
        self._room = Signal()
        self._held_back = 0
        self._tracer: TraceDispatcher | None = None
        if settings.trace:
            self._tracer = TraceDispatcher(
                services, operations.group, TraceKind.CONSUME, topic=settings.trace_topic
            )

    def start(self) -> None:
        """Be ready for the first `begin`."""
        if self._tracer is not None:
            self._tracer.start()

    def stop(self) -> None:
        """Let polls that wait return nothing, when all queues are dropped."""
        self.is_over = True
        self.arrived.set()

    def finish(self) -> Task[None]:
        """Send the last traces."""
        if self._tracer is not None:
            yield from self._tracer.shutdown()

    # -- queues ---------------------------------------------------------------

    def begin(self, assigned: AssignedQueue) -> None:
        """Start the pull task of a queue; do nothing if it has one."""
        if assigned.pulling is None:
            name = f"pull {assigned.queue.topic} {assigned.queue.broker_name}"
            tasks = self._services.tasks
            assigned.pulling = tasks.start(self._pulling(assigned), name)

    def end(self, assigned: AssignedQueue) -> None:
        """End the pull task of a queue; the answer of a pull under way is ignored."""
        running, assigned.pulling = assigned.pulling, None
        if running is not None:
            self._services.tasks.cancel(running)

    def drop(self, assigned: AssignedQueue) -> None:
        """End the task, and forget the messages of a queue for ever."""
        assigned.process_queue.dropped = True
        self.end(assigned)
        self._operations.forget(assigned.queue)
        self.clear(assigned)

    def clear(self, assigned: AssignedQueue) -> None:
        """Forget the messages of a queue that wait."""
        assigned.process_queue.clear()
        assigned.cleared += 1
        if any(one.assigned is assigned for one in self._found):
            self._found = deque(one for one in self._found if one.assigned is not assigned)
        self._room.set()

    def take(self) -> PolledBatch | None:
        """Take the oldest batch that waits; None if none does."""
        if not self._found:
            return None
        batch = self._found.popleft()
        assigned = batch.assigned
        now_ms = self._services.carrier.elapsed_ms()
        assigned.consume_offset = assigned.process_queue.remove(batch.messages, now_ms)
        self._room.set()
        return batch

    def put_back(self, batch: PolledBatch) -> None:
        """Let the next `take` return a batch again, which has reached no caller."""
        if not batch.is_valid:
            return
        assigned = batch.assigned
        waiting = assigned.process_queue
        highest = waiting.queue_offset_max
        waiting.put(batch.messages)
        waiting.queue_offset_max = max(waiting.queue_offset_max, highest)
        first = batch.messages[0].queue_offset
        consumed = assigned.consume_offset
        assigned.consume_offset = first if consumed is None else min(first, consumed)
        self._found.appendleft(batch)
        self.arrived.set()

    # -- pulling --------------------------------------------------------------

    def _pulling(self, assigned: AssignedQueue) -> Task[None]:
        """Pull from one queue until it is dropped."""
        while not assigned.dropped:
            if not assigned.resumed.is_set:
                yield Wait(assigned.resumed)
            elif (reason := self._full(assigned)) is not None:
                self._log_flow_control(reason, assigned)
                self._room.clear()
                yield Wait(self._room)
            else:
                delay_ms = yield from self._pull(assigned)
                if delay_ms:
                    yield Sleep(delay_ms, "client_pull")

    def _pull(self, assigned: AssignedQueue) -> Task[int]:
        """Pull once; return how long to wait before the next pull."""
        queue, settings = assigned.queue, self._settings
        offset = assigned.pull_offset
        if offset is None:
            try:
                offset = assigned.pull_offset = yield from self._offset_of(queue)
            except FakemqError as error:
                _log.error("Failed to get next pull offset of %s: %s", queue, error)
                return AFTER_OFFSET_ERROR_MS
        subscription = self._subscription_of(queue)
        is_tags = is_tag_type(subscription.expression_type)
        began_ms = self._services.carrier.elapsed_ms()
        try:
            result = yield from self._operations.pull(
                queue,
                offset,
                max_messages=settings.pull_batch_size,
                expression=subscription.sub_string,
                expression_type=subscription.expression_type or "TAG",
                sub_version=0 if is_tags else subscription.sub_version,
                suspend_ms=settings.broker_suspend_max_time_ms,
                timeout_ms=settings.consumer_timeout_when_suspend_ms,
                lite=True,
            )
        except FakemqError as error:
            _log.error("An error occurred in pull message process of %s: %s", queue, error)
            busy = isinstance(error, MQBrokerError) and error.code == ResponseCode.FLOW_CONTROL
            return AFTER_BROKER_FLOW_CONTROL_MS if busy else settings.pull_delay_when_error_ms
        self._add(assigned, result)
        # A broker's offset below 0 cannot be pulled from: the next pull asks for one anew.
        following = result.next_begin_offset if result.next_begin_offset >= 0 else None
        assigned.pull_offset = following
        now_ms = self._services.carrier.elapsed_ms()
        assigned.process_queue.last_pull_ms = now_ms
        if following is not None and following > offset:
            return 0
        # Not in Java: a broker that neither holds a pull nor answers it with a higher offset would
        # be asked without a pause.
        return AFTER_NOTHING_MS if now_ms - began_ms < _AT_ONCE_MS else 0

    def _add(self, assigned: AssignedQueue, result: PullResult) -> None:
        """Add what a pull has found."""
        queue = assigned.queue
        if result.status is PullStatus.OFFSET_ILLEGAL:
            _log.warning(
                "The pull request offset illegal, %s: next %d, min %d, max %d",
                queue,
                result.next_begin_offset,
                result.min_offset,
                result.max_offset,
            )
        if result.status is not PullStatus.FOUND:
            return
        messages = assigned.process_queue.put(
            [
                ReceivedMessage(
                    one,
                    queue.broker_name or "",
                    topic=unwrap(one.topic, self._settings.namespace),
                    min_offset=result.min_offset,
                    max_offset=result.max_offset,
                )
                for one in result.messages
            ]
        )
        if not messages:
            return
        self._trace(messages)
        self._found.append(PolledBatch(assigned, messages, assigned.cleared))
        self.arrived.set()

    def _trace(self, messages: list[ReceivedMessage]) -> None:
        """Trace messages as consumed when they are pulled, as Java does.

        Source: DefaultLitePullConsumerImpl.java#pullSyncImpl (4.9.7)
        """
        if self._tracer is not None:
            traced = self._tracer.before_consume([one.stored for one in messages])
            if traced is not None:
                self._tracer.after_consume(traced, success=True, return_type=None)

    # -- flow control ---------------------------------------------------------

    def _full(self, assigned: AssignedQueue) -> str | None:
        """Return why a queue is not pulled from now; None if it is.

        Source: DefaultLitePullConsumerImpl.java#run (4.9.7)
        """
        settings, waiting = self._settings, assigned.process_queue
        if len(self._found) * settings.pull_batch_size > settings.pull_threshold_for_all:
            return f"The consume request count exceeds threshold {len(self._found)}"
        if len(waiting) > settings.pull_threshold_for_queue:
            threshold = settings.pull_threshold_for_queue
            return f"The cached message count exceeds the threshold {threshold}"
        if waiting.size_bytes // _MIB > settings.pull_threshold_size_mib_for_queue:
            threshold = settings.pull_threshold_size_mib_for_queue
            return f"The cached message size exceeds the threshold {threshold} MiB"
        if waiting.max_span() > settings.consume_max_span:
            return "The queue's messages, span too long"
        return None

    def _log_flow_control(self, reason: str, assigned: AssignedQueue) -> None:
        if self._held_back % _LOG_EVERY == 0:
            _log.warning("%s, so do flow control, %r", reason, assigned)
        self._held_back += 1


# One poll of a lite pull consumer, whose messages are not lost if its caller is cancelled.
class LitePoll:
    """One poll: carry `task`, and call `put_back` if its result has not reached the caller.

    A call can be cancelled in the moment in which its messages come. Without `put_back` they would
    count as consumed, and a later poll would commit them.
    """

    def __init__(
        self, reading: ReadAhead, carrier: Carrier, begin: Callable[[], None], timeout_ms: int
    ) -> None:
        """``begin`` is called first; it raises unless the consumer runs."""
        self._reading = reading
        self._carrier = carrier
        self._begin = begin
        self._timeout_ms = timeout_ms
        self._batch: PolledBatch | None = None

    def task(self) -> Task[list[ReceivedMessage]]:
        """Return the messages of one pull; wait for them, and return none after the time-out."""
        self._begin()
        reading, elapsed_ms = self._reading, self._carrier.elapsed_ms
        until_ms = elapsed_ms() + self._timeout_ms
        while (batch := reading.take()) is None:
            left_ms = until_ms - elapsed_ms()
            if left_ms <= 0 or reading.is_over:
                return []
            reading.arrived.clear()
            yield Wait(reading.arrived, left_ms, "client_poll")
        self._batch = batch
        return batch.messages

    @property
    def is_valid(self) -> bool:
        """Whether what it returned is still to be consumed here.

        It is not after a seek in its queue, nor when the consumer has lost the queue or ended.
        """
        return self._batch is None or self._batch.is_valid

    def put_back(self) -> None:
        """Let the next poll return the messages; do nothing if there are none, or twice.

        Call it on the thread of the carrier. A queue that was dropped meanwhile, or that reads at
        another offset after a seek, does not take them back.
        """
        batch, self._batch = self._batch, None
        if batch is not None:
            self._reading.put_back(batch)


# One queue of a lite pull consumer: its offsets, and the messages that wait for a poll.
class AssignedQueue:
    """A queue that is pulled from, until it is ``dropped``: then no poll returns its messages.

    Source: client/impl/consumer/AssignedMessageQueue.java (4.9.7)
    """

    __slots__ = (
        "cleared",
        "consume_offset",
        "process_queue",
        "pull_offset",
        "pulling",
        "queue",
        "resumed",
    )

    def __init__(self, queue: MessageQueue, pull_offset: int | None, now_ms: int) -> None:
        self.queue = queue
        self.process_queue = ProcessQueue(queue, 0 if pull_offset is None else pull_offset, now_ms)
        """The messages that wait."""
        self.pull_offset = pull_offset
        """Where the next pull begins; None if it is still to be asked for."""
        self.consume_offset: int | None = None
        """What `commit` commits: the first offset that no poll has returned. None before a poll."""
        self.cleared = 0
        """Counts how often its messages were forgotten, as by a seek."""
        self.pulling: RunningTask[None] | None = None
        self.resumed = Signal()
        """Set unless the queue is paused."""
        self.resumed.set()

    @property
    def dropped(self) -> bool:
        return self.process_queue.dropped

    def __repr__(self) -> str:
        return f"<assigned {self.queue}, pull from {self.pull_offset}, {self.process_queue!r}>"
