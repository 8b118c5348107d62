"""What the parts of one push consumer share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fakemq.client.carriers.awaiting import await_in_row
from fakemq.client.consuming.batch import ListenerBatch, Slice, call_in_row
from fakemq.client.consuming.offsets import OffsetStore
from fakemq.client.consuming.process_queue import ProcessQueue
from fakemq.client.consuming.received import Listener, ReceivedMessage
from fakemq.client.consuming.settings import PushSettings
from fakemq.client.consuming.statistics import ConsumeStatistics
from fakemq.client.producing.trace import TraceDispatcher, TraceKind
from fakemq.client.producing.trace_records import ConsumeReturnType, Consuming
from fakemq.client.tasks import Perform, Task
from fakemq.protocol.bodies.consumer import ConsumeMessageDirectlyResult
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.client.running_task import RunningTask, Tasks
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

T = TypeVar("T")

CONCURRENT_MAX_RECONSUME_TIMES = 16
ORDERED_MAX_RECONSUME_TIMES = INT_MAX


class OwnTasks:
    """The tasks of one consumer among those of its client: they end with the consumer."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._running: dict[RunningTask[Any], None] = {}

    def start(
        self,
        task: Task[T],
        name: str,
        done: Callable[[T | None, BaseException | None], None] | None = None,
    ) -> RunningTask[T]:
        """Run a task, as `Tasks.start` does."""

        def on_end(value: T | None, error: BaseException | None) -> None:
            ended.append(True)
            for one in running:
                self._running.pop(one, None)
            if done is not None:
                done(value, error)
            elif error is not None:
                _log.error("the task %s failed", name, exc_info=error)

        ended: list[bool] = []
        running: list[RunningTask[T]] = []
        running.append(self._tasks.start(task, name, on_end))
        if not ended:
            self._running[running[0]] = None
        return running[0]

    def cancel(self, running: RunningTask[Any]) -> None:
        """Cancel one task."""
        self._running.pop(running, None)
        self._tasks.cancel(running)

    def cancel_all(self) -> None:
        """Cancel every task, the oldest first."""
        while self._running:
            self.cancel(next(iter(self._running)))


class ConsumerContext:
    """The settings, queues and offsets of one push consumer. ``group`` is in its namespace."""

    def __init__(
        self,
        services: ClientServices,
        settings: PushSettings,
        group: str,
        listener: Listener,
        offsets: OffsetStore,
        room: Callable[[], int] | None = None,
    ) -> None:
        self.services = services
        self.tasks = OwnTasks(services.tasks)
        self.settings = settings
        self.group = group
        self.listener = listener
        self._room = room
        self.offsets = offsets
        self.queues: dict[MessageQueue, ProcessQueue] = {}
        self.statistics = ConsumeStatistics(services.carrier.elapsed_ms)
        self.is_clustering = settings.message_model == "CLUSTERING"
        self.tracer: TraceDispatcher | None = None
        if settings.trace:
            topic = settings.trace_topic
            self.tracer = TraceDispatcher(services, group, TraceKind.CONSUME, topic=topic)
        self._worker = await_in_row if is_coroutine_function(listener) else call_in_row
        self.is_performed_one_by_one = settings.trace or _is(isgeneratorfunction, listener)
        """Whether each call of the listener is a `Perform` of its own: its calls have traces, or
        its carrier runs it in parts, as a generator."""

    @property
    def consume_threads(self) -> int:
        """How many calls of the listener may be under way now; at least one."""
        threads = self.settings.consume_threads
        return threads if self._room is None else max(1, min(threads, self._room()))

    def has_room_for(self, runners: int) -> bool:
        """Return whether that number of runners may continue: the most may have become less."""
        return runners <= self.consume_threads

    @property
    def is_locking(self) -> bool:
        """Whether queues are locked: they are ordered, and each has one member.

        Differs: Java locks ordered queues with BROADCASTING, too, so that one member gets them.
        """
        return self.settings.ordered and self.is_clustering

    @property
    def max_reconsume_times(self) -> int:
        """Return the limit of the settings; -1 means 16, and no limit for ordered queues.

        Source: DefaultMQPushConsumerImpl.java#getMaxReconsumeTimes,
        ConsumeMessageOrderlyService.java#getMaxReconsumeTimes (4.9.7)
        """
        given = self.settings.max_reconsume_times
        if given != -1:
            return given
        ordered = self.settings.ordered
        return ORDERED_MAX_RECONSUME_TIMES if ordered else CONCURRENT_MAX_RECONSUME_TIMES

    def perform_slice(self, work: Slice) -> Task[None]:
        """Have the listener called with one batch after the other, by a worker."""
        elapsed_ms = self.services.carrier.elapsed_ms
        yield Perform(self._worker, (work, self.listener, elapsed_ms))

    def perform(self, batch: ListenerBatch) -> Task[None]:
        """Have the listener called with a batch, by itself; its result or error is in the batch."""
        elapsed_ms = self.services.carrier.elapsed_ms
        traced: Consuming | None = None
        if self.tracer is not None:
            traced = self.tracer.before_consume([one.stored for one in batch.messages])
        batch.begin(elapsed_ms())
        try:
            result = yield Perform(self.listener, (batch.messages,))
        except GeneratorExit:  # the task is cancelled
            raise
        except BaseException as error:
            batch.raised(error, elapsed_ms())
        else:
            batch.returned(result, elapsed_ms())
        if self.tracer is not None and traced is not None and batch.has_ended:
            self.tracer.after_consume(
                traced, success=batch.is_well, return_type=self._return_type(batch)
            )

    def _return_type(self, batch: ListenerBatch) -> ConsumeReturnType:
        """Source: ConsumeMessageConcurrentlyService.java#ConsumeRequest.run (4.9.7)"""
        if batch.error is not None:
            return ConsumeReturnType.EXCEPTION
        if batch.ended_ms - batch.began_ms >= self.settings.consume_timeout_ms:
            return ConsumeReturnType.TIME_OUT
        return ConsumeReturnType.SUCCESS if batch.is_well else ConsumeReturnType.FAILED


class ConsumeService(Protocol):
    """Passes messages to the listener: at the same time, or each queue in order.

    Source: client/impl/consumer/ConsumeMessageService.java (4.9.7)
    """

    @property
    def is_idle(self) -> bool:
        """Whether no message is being consumed or waits for it now."""

    def start(self) -> None:
        """Start the loops."""

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        """Consume messages that were added to their process queue."""

    def consume_more(self) -> None:
        """Begin with messages that wait: more calls may be under way than before."""

    def collect(self) -> None:
        """Take the results of messages whose neighbours are still being consumed."""

    def released(self, process_queue: ProcessQueue) -> Task[bool]:
        """Return whether a dropped queue may be given to another member now."""

    def stop(self, wait_ms: int) -> Task[None]:
        """Begin no further message; wait up to ``wait_ms`` for those that are under way."""

    def consume_directly(self, message: ReceivedMessage) -> Task[ConsumeMessageDirectlyResult]:
        """Consume one message now, for an admin tool; its result has no other effect."""


def is_coroutine_function(function: Callable[..., object]) -> bool:
    """Return whether a function, or an object that is called, is to be awaited."""
    return _is(iscoroutinefunction, function)


def _is(kind: Callable[[object], bool], function: Callable[..., object]) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  # of an object of the user's class
    return kind(function) or kind(call)
