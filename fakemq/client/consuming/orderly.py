"""Consumes each queue in order, and different queues at the same time.

Source: client/impl/consumer/ConsumeMessageOrderlyService.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakemq.client.consuming.batch import SLICE_MS, ListenerBatch
from fakemq.client.consuming.directly import consume_directly
from fakemq.client.consuming.locks import FIRST_LOCK_MS, LOCK_INTERVAL_MS, QueueLocks
from fakemq.client.consuming.received import DEAD_LETTER, ConsumeStatus
from fakemq.client.tasks import Signal, Sleep, Task, Wait

if TYPE_CHECKING:
    from fakemq.client.consuming.context import ConsumerContext
    from fakemq.client.consuming.process_queue import ProcessQueue
    from fakemq.client.consuming.received import ReceivedMessage
    from fakemq.client.consuming.send_back import SendingBack
    from fakemq.protocol.bodies.consumer import ConsumeMessageDirectlyResult

_log = logging.getLogger("fakemq.client")

CONTINUOUSLY_MS = 60_000
"""How long one queue is consumed while others wait for a runner."""

SUSPEND_MIN_MS, SUSPEND_MAX_MS = 10, 30_000
DROP_WAIT_MS = 1_000
LOCK_AGAIN_FIRST_MS, LOCK_AGAIN_MS, NOT_LOCKED_MS = 100, 10, 3_000

SLICE_BATCHES = 32


class OrderlyService:
    """Process queues with messages wait in one list, each at most once. Up to ``consume_threads``
    runners, a number of the context, take from it, and each consumes the whole of its queue.

    A worker may run on another thread of the carrier. It reads the state of its process queue, and
    writes nothing but its slice.
    """

    def __init__(
        self, context: ConsumerContext, sending_back: SendingBack, locks: QueueLocks
    ) -> None:
        self._context = context
        self._sending_back = sending_back
        self._locks = locks
        self._carrier = context.services.carrier
        self._tasks = context.tasks
        self._waiting: deque[ProcessQueue] = deque()
        self._slices: dict[ProcessQueue, _Slice] = {}
        self._runners = 0
        self._stopped = False
        self._all_ended = Signal()
        self._all_ended.set()

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._runners)

    def start(self) -> None:
        if self._context.is_clustering:
            self._tasks.start(self._locking(), "lock queues")

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        if not process_queue.is_dispatched and messages:
            process_queue.is_dispatched = True
            self._continue(process_queue)

    def consume_more(self) -> None:
        for _ in range(len(self._waiting)):
            self._start_runner()

    def stop(self, wait_ms: int) -> Task[None]:
        self._stopped = True
        self._waiting.clear()
        if self._runners and wait_ms:
            yield Wait(self._all_ended, wait_ms, "client_consume")
        self.collect()

    def released(self, process_queue: ProcessQueue) -> Task[bool]:
        """Wait up to a second until the listener has ended; unlock the queue.

        With messages left the queue is unlocked in 20 s by its owner.

        Source: RebalancePushImpl.java#removeUnnecessaryMessageQueue (4.9.7)
        """
        if (yield Wait(process_queue.not_performing, DROP_WAIT_MS, "client_consume")):
            return True
        _log.warning("mq is consuming, so can not unlock it, %s", process_queue.queue)
        process_queue.try_unlock_times += 1
        return False

    def consume_directly(self, message: ReceivedMessage) -> Task[ConsumeMessageDirectlyResult]:
        return consume_directly(self._context, message)

    # -- locks ----------------------------------------------------------------

    def _locking(self) -> Task[None]:
        yield Sleep(FIRST_LOCK_MS, "client_lock")
        while not self._stopped:
            yield from self._locks.lock_all()
            yield Sleep(LOCK_INTERVAL_MS, "client_lock")

    def _has_lock(self, process_queue: ProcessQueue) -> bool:
        return not self._context.is_clustering or (
            process_queue.locked and not process_queue.is_lock_expired(self._carrier.elapsed_ms())
        )

    def _lock_and_continue(self, process_queue: ProcessQueue, delay_ms: int) -> Task[None]:
        """Source: ConsumeMessageOrderlyService.java#tryLockLaterAndReconsume (4.9.7)"""
        yield Sleep(delay_ms, "client_lock")
        has_lock = False
        if not self._stopped and not process_queue.dropped:
            has_lock = yield from self._locks.lock(process_queue)
        yield from self._continue_later(process_queue, LOCK_AGAIN_MS if has_lock else NOT_LOCKED_MS)

    # -- runners --------------------------------------------------------------

    def _continue(self, process_queue: ProcessQueue) -> None:
        """Consume a queue as soon as a runner is free."""
        if self._stopped or process_queue.dropped:
            return
        self._waiting.append(process_queue)
        self._start_runner()

    def _start_runner(self) -> None:
        if self._waiting and self._runners < self._context.consume_threads:
            self._runners += 1
            self._all_ended.clear()
            self._tasks.start(self._run(), "consume in order", self._runner_ended)

    def _continue_later(self, process_queue: ProcessQueue, delay_ms: int) -> Task[None]:
        yield Sleep(max(SUSPEND_MIN_MS, min(delay_ms, SUSPEND_MAX_MS)), "client_consume")
        self._continue(process_queue)

    def _later(self, process_queue: ProcessQueue, delay_ms: int) -> None:
        self._tasks.start(self._continue_later(process_queue, delay_ms), "continue a queue")

    def _runner_ended(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            _log.error("consuming of %s failed", self._context.group, exc_info=error)
            self._carrier.soon(self._start_runner)  # not within the end of this one

    def _run(self) -> Task[None]:
        try:
            while self._waiting and not self._stopped and self._context.has_room_for(self._runners):
                process_queue = self._waiting.popleft()
                try:
                    yield from self._consume(process_queue)
                except GeneratorExit:
                    raise
                except BaseException:
                    self._later(process_queue, self._context.settings.suspend_current_queue_time_ms)
                    raise
        finally:
            self._runners -= 1
            if not self._runners:
                self._all_ended.set()

    def _consume(self, process_queue: ProcessQueue) -> Task[None]:
        """Consume a queue until it is empty, fails, or has to wait.

        Source: ConsumeMessageOrderlyService.java#ConsumeRequest.run (4.9.7)
        """
        began_ms = self._carrier.elapsed_ms()
        lock_delay_ms = LOCK_AGAIN_FIRST_MS
        while not (self._stopped or process_queue.dropped):
            # 1. Another client may have the queue by now: no message without the lock.
            if not self._has_lock(process_queue):
                _log.warning("the message queue not locked, so consume later, %s", process_queue)
                self._tasks.start(
                    self._lock_and_continue(process_queue, lock_delay_ms), "lock a queue"
                )
                return
            lock_delay_ms = LOCK_AGAIN_MS
            # 2. It has had its share of a runner: others may go first.
            if self._carrier.elapsed_ms() - began_ms > CONTINUOUSLY_MS:
                self._later(process_queue, SUSPEND_MIN_MS)
                return
            current = self._next_slice(process_queue)
            # 3. It is empty: the next pull submits it again.
            if not current.batches:
                process_queue.is_dispatched = False
                return
            yield from self._perform(process_queue, current)
            if not (yield from self._apply_all(process_queue, current)):
                return

    def _next_slice(self, process_queue: ProcessQueue) -> _Slice:
        size = self._context.settings.consume_message_batch_max_size
        count = 1 if self._context.is_performed_one_by_one else SLICE_BATCHES
        messages = process_queue.peek(size * count)
        starts = range(0, len(messages), size)
        return _Slice(
            self, [ListenerBatch(process_queue, messages[at : at + size]) for at in starts]
        )

    def _perform(self, process_queue: ProcessQueue, current: _Slice) -> Task[None]:
        process_queue.not_performing.clear()
        self._slices[process_queue] = current
        try:
            if self._context.is_performed_one_by_one:
                batch = current.next()
                if batch is not None:
                    yield from self._context.perform(batch)
            else:
                yield from self._context.perform_slice(current)
        finally:
            self._apply_successes(process_queue, current)
            del self._slices[process_queue]
            process_queue.not_performing.set()

    def may_continue(self, process_queue: ProcessQueue) -> bool:
        """Return whether the listener may be called with the queue's next batch."""
        return not (process_queue.dropped or self._stopped) and self._has_lock(process_queue)

    # -- results --------------------------------------------------------------

    def collect(self) -> None:
        """Take the results of batches that succeeded before the one that is consumed now."""
        for process_queue, current in self._slices.items():
            self._apply_successes(process_queue, current)

    def _apply_successes(self, process_queue: ProcessQueue, current: _Slice) -> None:
        while current.applied < len(current.batches):
            batch = current.batches[current.applied]
            if process_queue.dropped or not (batch.has_ended and _succeeded(batch)):
                return
            current.applied += 1
            self._take(batch)
            if batch.result.auto_commit:
                self._commit(process_queue)

    def _apply_all(self, process_queue: ProcessQueue, current: _Slice) -> Task[bool]:
        """Take the last result of a slice; return whether the queue is consumed further now."""
        if current.applied == len(current.batches) or process_queue.dropped:
            return True
        batch = current.batches[current.applied]
        if not batch.has_ended:
            # The worker had no time for it; or the listener did not begin, as its consumer ends.
            return current.begun == current.applied
        current.applied += 1
        self._take(batch)
        return (yield from self._apply(process_queue, batch))

    def _take(self, batch: ListenerBatch) -> None:
        well = _succeeded(batch)
        count = len(batch.messages)
        self._context.statistics.consumed(
            batch.process_queue.queue.topic or "",
            ok=count if well else 0,
            failed=0 if well else count,
            took_ms=batch.ended_ms - batch.began_ms,
        )
        batch.process_queue.take(batch.messages, self._carrier.elapsed_ms())

    def _commit(self, process_queue: ProcessQueue) -> None:
        offset = process_queue.commit()
        if offset is not None and not process_queue.dropped:
            self._context.offsets.update(process_queue.queue, offset, increase_only=False)

    def _apply(self, process_queue: ProcessQueue, batch: ListenerBatch) -> Task[bool]:
        """Take the result of a batch that has not simply succeeded.

        Source: ConsumeMessageOrderlyService.java#processConsumeResult (4.9.7)
        """
        result = batch.result
        status = ConsumeStatus.RECONSUME_LATER if _failed(batch) else result.status
        batch.error = None  # its frames refer to the batch
        suspend_ms = result.suspend_ms
        if suspend_ms is None:
            suspend_ms = self._context.settings.suspend_current_queue_time_ms
        # 1. ROLLBACK: all that was taken since the last commit comes again.
        if status is ConsumeStatus.ROLLBACK and not result.auto_commit:
            process_queue.rollback()
            self._later(process_queue, suspend_ms)
            return False
        if status is not ConsumeStatus.RECONSUME_LATER:
            # 2. COMMIT; or with auto_commit COMMIT or ROLLBACK, which Java takes for a success.
            self._commit(process_queue)
            return True
        # 3. RECONSUME_LATER: the batch comes again, without those that have become dead letters.
        remaining = yield from self._to_consume_again(batch.messages)
        if process_queue.dropped:
            return True
        if remaining:
            process_queue.consume_again(remaining)
            self._later(process_queue, suspend_ms)
            return False
        # All of them have: nothing holds the queue back.
        if result.auto_commit:
            self._commit(process_queue)
        return True

    def _to_consume_again(self, messages: Sequence[ReceivedMessage]) -> Task[list[ReceivedMessage]]:
        """Make dead letters of messages that shall be one, or were tried as often as allowed;
        return the others.

        Differs: in a batch Java consumes again also those that it has sent. In Java no message of
        an ordered queue becomes a dead letter at once; here one does in CLUSTERING.

        Source: ConsumeMessageOrderlyService.java#checkReconsumeTimes (4.9.7)
        """
        remaining = []
        for message in messages:
            times, is_gone = message.reconsume_times, False
            if message.retry_level == DEAD_LETTER and self._context.is_clustering:
                is_gone = yield from self._sending_back.to_dead_letters(message)
            elif times >= self._context.max_reconsume_times:
                is_gone = yield from self._sending_back.to_retry_topic(message, times)
            if not is_gone:
                message.reconsume_times += 1
                remaining.append(message)
        return remaining


def _failed(batch: ListenerBatch) -> bool:
    return (
        batch.error is not None
        or batch.result.status is ConsumeStatus.RECONSUME_LATER
        or any(one.retry_level is not None for one in batch.messages)
    )


def _succeeded(batch: ListenerBatch) -> bool:
    return batch.result.status is ConsumeStatus.SUCCESS and not _failed(batch)


class _Slice:
    """Batches of one queue, in order, that a worker consumes while all is well."""

    __slots__ = ("_began_ms", "_over", "_service", "applied", "batches", "begun")

    def __init__(self, service: OrderlyService, batches: list[ListenerBatch]) -> None:
        self._service = service
        self.batches = batches
        self._began_ms = 0
        self._over = False
        self.begun = 0
        """How many of them the listener was called with."""
        self.applied = 0
        """How many of their results were taken."""

    def next(self) -> ListenerBatch | None:
        if self._over or self.begun == len(self.batches):
            return None
        batch = self.batches[self.begun]
        if not self._service.may_continue(batch.process_queue):
            return None
        self.begun += 1
        return batch

    def ended(self, batch: ListenerBatch) -> None:
        if self.begun == 1:
            self._began_ms = batch.began_ms
        self._over = (
            batch.ended_ms - self._began_ms >= SLICE_MS
            or not batch.has_ended
            or not _succeeded(batch)
        )
