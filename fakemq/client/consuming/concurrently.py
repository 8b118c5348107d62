"""Consumes messages at the same time, in any order.

Source: client/impl/consumer/ConsumeMessageConcurrentlyService.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakemq.client.consuming.batch import SLICE_CALLS, SLICE_MS, ListenerBatch
from fakemq.client.consuming.directly import consume_directly
from fakemq.client.tasks import Signal, Sleep, Task, Wait

if TYPE_CHECKING:
    from fakemq.client.carrier import Cancellable
    from fakemq.client.consuming.context import ConsumerContext
    from fakemq.client.consuming.process_queue import ProcessQueue
    from fakemq.client.consuming.received import ReceivedMessage
    from fakemq.client.consuming.send_back import SendingBack
    from fakemq.protocol.bodies.consumer import ConsumeMessageDirectlyResult

_log = logging.getLogger("fakemq.client")

REST_MS = 1_000
"""How long no runner begins after one that failed: what failed, such as the start of a thread,
would fail again at once."""

CONSUME_AGAIN_MS = 5_000
"""When messages that no broker took back are consumed again, here."""

EXPIRED_LEVEL = 3
"""The delay level of messages whose time to be consumed is over."""

EXPIRED_AT_MOST = 16
"""How many expired messages of a queue are sent back at once."""

WATCH_MS = 5
SLOW_MS = 0.5
"""A listener that takes longer is called by as many runners as the settings allow at once. With a
shorter one, one runner is faster: each further thread only takes the interpreter from it."""


class ConcurrentService:
    """Batches wait in one list. Up to ``consume_threads`` runners, a number of the context, take
    from it: each is a task that has a worker make calls of the listener, and then takes their
    results.

    A worker may run on another thread of the carrier. It shares with this object only its slice:
    the two deques, whose ``append`` and ``popleft`` are atomic, and a batch at a time.
    """

    def __init__(self, context: ConsumerContext, sending_back: SendingBack) -> None:
        self._context = context
        self._sending_back = sending_back
        self._carrier = context.services.carrier
        self._waiting: deque[ListenerBatch] = deque()
        self._finished: deque[ListenerBatch] = deque()
        self._failed: deque[ListenerBatch] = deque()
        self._runners = 0
        self._rests = False
        self._stopped = False
        self._all_ended = Signal()
        self._all_ended.set()
        self._watch: Cancellable | None = None
        self._waiting_at_watch: ListenerBatch | None = None
        self._call_ms = 0.0

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._finished or self._failed or self._runners)

    def start(self) -> None:
        self._context.tasks.start(self._cleaning(), "clean expired messages")

    def submit(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        if self._stopped:
            return
        size = self._context.settings.consume_message_batch_max_size
        if size == 1:
            self._waiting.extend([ListenerBatch(process_queue, [message]) for message in messages])
        else:
            for at in range(0, len(messages), size):
                self._waiting.append(ListenerBatch(process_queue, list(messages[at : at + size])))
        # A quick listener gains nothing from more runners: see `SLOW_MS`.
        takes_long = self._context.is_performed_one_by_one or self._call_ms >= SLOW_MS
        self._dispatch(self._runners + len(self._waiting) if takes_long else 1)

    def consume_more(self) -> None:
        self._dispatch(self._runners + len(self._waiting))

    def stop(self, wait_ms: int) -> Task[None]:
        """Differs: messages that have not begun are left to another member, where Java consumes
        them for as long as it waits."""
        self._stopped = True
        self._waiting.clear()
        self._end_watch()
        if self._runners and wait_ms:
            yield Wait(self._all_ended, wait_ms, "client_consume")
        self.collect()

    def released(self, process_queue: ProcessQueue) -> Task[bool]:
        yield from ()
        return True

    def consume_directly(self, message: ReceivedMessage) -> Task[ConsumeMessageDirectlyResult]:
        return consume_directly(self._context, message)

    # -- runners --------------------------------------------------------------

    def _dispatch(self, wanted: int) -> None:
        """Start runners until ``wanted`` of them run; watch whether they suffice."""
        threads = self._context.consume_threads
        wanted = min(wanted, threads)
        has_more = len(self._waiting) > max(0, wanted - self._runners)
        if has_more and self._watch is None and wanted < threads and not self._stopped:
            self._waiting_at_watch = self._first_waiting()
            self._watch = self._carrier.call_later(WATCH_MS, self._watched, kind="client_consume")
        while self._runners < wanted and not (self._stopped or self._rests):
            if not (self._waiting or self._failed):
                return
            self._runners += 1
            self._all_ended.clear()
            self._context.tasks.start(self._run(), "consume", self._runner_ended)

    def _watched(self) -> None:
        """Start all runners if those that run have taken no batch since the last look."""
        self._watch = None
        has_stopped = self._first_waiting() is self._waiting_at_watch
        self._waiting_at_watch = None
        self._dispatch(self._runners + len(self._waiting) if has_stopped else self._runners)

    def _first_waiting(self) -> ListenerBatch | None:
        try:
            return self._waiting[0]
        except IndexError:  # perhaps a worker has just taken it
            return None

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _runner_ended(self, _: None, error: BaseException | None) -> None:
        if error is not None:
            _log.error("consuming of %s failed", self._context.group, exc_info=error)
            if self._failed:  # it has made a call: the error is of that, such as a cancellation
                self._dispatch(1)
            elif not self._rests:
                self._rests = True
                self._context.tasks.start(self._rest(), "rest")

    def _rest(self) -> Task[None]:
        try:
            yield Sleep(REST_MS, "client_consume")
        finally:
            self._rests = False
        self._dispatch(1)

    def _run(self) -> Task[None]:
        """Have batches consumed until none waits."""
        one_by_one = self._context.is_performed_one_by_one
        perform = self._perform_one if one_by_one else self._perform_some
        try:
            while self._failed or (
                self._waiting and not self._stopped and self._context.has_room_for(self._runners)
            ):
                if self._failed:
                    yield from self._send_back(self._failed.popleft())
                    continue
                try:
                    yield from perform()
                finally:
                    self.collect()
        finally:
            self._runners -= 1
            if not self._waiting:
                self._end_watch()
            if not self._runners:
                self._all_ended.set()

    def _perform_some(self) -> Task[None]:
        work = _Slice(self._waiting, self._finished)
        yield from self._context.perform_slice(work)
        if work.calls:
            # A moving mean, as a listener may become slow or quick.
            self._call_ms += (work.took_ms / work.calls - self._call_ms) / 4

    def _perform_one(self) -> Task[None]:
        """Call the listener with one batch: if it is a generator function, or has traces."""
        batch = self._waiting.popleft()
        if batch.process_queue.dropped:
            return
        try:
            yield from self._context.perform(batch)
        finally:
            if batch.has_ended:
                self._finished.append(batch)

    # -- results --------------------------------------------------------------

    def collect(self) -> None:
        """Source: ConsumeMessageConcurrentlyService.java#processConsumeResult (4.9.7)"""
        finished, statistics = self._finished, self._context.statistics
        by_queue: dict[ProcessQueue, list[ReceivedMessage]] = {}
        calls: dict[str, list[int]] = {}
        while finished:
            batch = finished.popleft()
            if not batch.is_well:
                self._failed.append(batch)
                continue
            process_queue = batch.process_queue
            by_queue.setdefault(process_queue, []).extend(batch.messages)
            counted = calls.setdefault(process_queue.queue.topic or "", [0, 0])
            counted[0] += 1
            counted[1] += batch.ended_ms - batch.began_ms
        for process_queue, messages in by_queue.items():
            topic = process_queue.queue.topic or ""
            number, took_ms = calls.pop(topic, (0, 0))
            statistics.consumed(topic, ok=len(messages), failed=0, took_ms=took_ms, calls=number)
            self._remove(process_queue, messages)

    def _remove(self, process_queue: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        """Remove finished messages, and remember the offset to commit."""
        if process_queue.dropped:
            return  # its next owner consumes these messages, too
        offset = process_queue.remove(messages, self._carrier.elapsed_ms())
        if offset is not None:
            self._context.offsets.update(process_queue.queue, offset, increase_only=True)

    def _send_back(self, batch: ListenerBatch) -> Task[None]:
        """Send back those messages of a batch that were not consumed."""
        context, process_queue = self._context, batch.process_queue
        failed = batch.to_send_back(context.settings.delay_level_when_next_consume)
        batch.error = None  # its frames refer to the batch
        if process_queue.dropped:
            _log.warning("%s is dropped: the result of %s is lost", process_queue, batch.messages)
            return
        context.statistics.consumed(
            process_queue.queue.topic or "",
            ok=len(batch.messages) - len(failed),
            failed=len(failed),
            took_ms=batch.ended_ms - batch.began_ms,
        )
        still_here: list[ReceivedMessage] = []
        for message, level in failed:
            if not context.is_clustering:
                _log.warning("BROADCASTING, the message consume failed, drop it, %s", message)
            elif not (yield from self._sending_back.send_back(message, level)):
                message.reconsume_times += 1
                still_here.append(message)
        if still_here:
            self._context.tasks.start(
                self._consume_again(process_queue, still_here), "consume again"
            )
        self._remove(process_queue, [one for one in batch.messages if one not in still_here])

    def _consume_again(
        self, process_queue: ProcessQueue, messages: list[ReceivedMessage]
    ) -> Task[None]:
        yield Sleep(CONSUME_AGAIN_MS, "client_consume")
        self.submit(process_queue, messages)

    # -- messages that are consumed for too long ------------------------------

    def _cleaning(self) -> Task[None]:
        timeout_ms = self._context.settings.consume_timeout_ms
        while True:
            yield Sleep(timeout_ms, "client_consume")
            for process_queue in list(self._context.queues.values()):
                try:
                    yield from self._clean(process_queue)
                except Exception:
                    _log.exception("send expired msg exception")

    def _clean(self, process_queue: ProcessQueue) -> Task[None]:
        """Send back the first messages whose time is over, so that the queue's offset moves.

        Differs: the offset is remembered at once, not with the next message that is consumed.

        Source: client/impl/consumer/ProcessQueue.java#cleanExpiredMsg (4.9.7)
        """
        self.collect()
        timeout_ms = self._context.settings.consume_timeout_ms
        for _ in range(EXPIRED_AT_MOST):
            message = None if process_queue.dropped else process_queue.first()
            if message is None or message.consume_started_ms is None:
                return
            if self._carrier.elapsed_ms() - message.consume_started_ms <= timeout_ms:
                return
            if not (yield from self._sending_back.send_back(message, EXPIRED_LEVEL)):
                return
            _log.info("send expire msg back: %s", message)
            if process_queue.first() is message:
                self._remove(process_queue, [message])


class _Slice:
    """Takes waiting batches for `SLICE_MS`, or until one fails."""

    __slots__ = ("_began_ms", "_finished", "_over", "_waiting", "calls", "took_ms")

    def __init__(self, waiting: deque[ListenerBatch], finished: deque[ListenerBatch]) -> None:
        self._waiting = waiting
        self._finished = finished
        self._began_ms = self.calls = self.took_ms = 0
        self._over = False

    def next(self) -> ListenerBatch | None:
        while self._waiting and not self._over:
            try:
                batch = self._waiting.popleft()
            except IndexError:  # another worker was faster
                return None
            if not batch.process_queue.dropped:
                self.calls += 1
                return batch
        return None

    def ended(self, batch: ListenerBatch) -> None:
        if not batch.has_ended:
            self._over = True
            return
        if self.calls == 1:
            self._began_ms = batch.began_ms
        self.took_ms = took_ms = batch.ended_ms - self._began_ms
        # What failed is sent back at once, not when the slice is over.
        self._over = took_ms >= SLICE_MS or self.calls >= SLICE_CALLS or not batch.is_well
        self._finished.append(batch)
