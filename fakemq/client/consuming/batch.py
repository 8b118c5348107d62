"""A call of a listener and its result, and workers that make such calls in a row."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fakemq.client.consuming.received import (
    SUCCESS,
    ConsumeResult,
    ConsumeStatus,
    Listener,
    NotConsumedError,
    ReceivedMessage,
)

if TYPE_CHECKING:
    from fakemq.client.consuming.process_queue import ProcessQueue

_log = logging.getLogger("fakemq.client")

SLICE_MS = 5
"""How long a worker makes calls before their results are taken. A carrier needs tens of
microseconds to begin a call on another thread and to take its result, a short listener a few."""

SLICE_CALLS = 256

_FAILED = (ConsumeStatus.RECONSUME_LATER, ConsumeStatus.ROLLBACK)


class ListenerBatch:
    """The messages of one call of the listener, and how it ended."""

    __slots__ = (
        "began_ms",
        "ended_ms",
        "error",
        "has_ended",
        "is_well",
        "messages",
        "process_queue",
        "result",
    )

    def __init__(self, process_queue: ProcessQueue, messages: list[ReceivedMessage]) -> None:
        self.process_queue = process_queue
        self.messages = messages
        self.result: ConsumeResult = SUCCESS
        self.error: BaseException | None = None
        self.began_ms = self.ended_ms = 0
        self.has_ended = False
        self.is_well = False
        """Whether the listener has consumed every message successfully."""

    def begin(self, now_ms: int) -> None:
        """Note that the listener is called now."""
        self.began_ms = now_ms
        for message in self.messages:
            message.consume_started_ms = now_ms
            message.retry_level = None

    def returned(self, result: object, now_ms: int) -> None:
        """Note what the listener returned; anything but a ConsumeResult is a SUCCESS."""
        self.ended_ms = now_ms
        is_well = True
        if isinstance(result, ConsumeResult):
            self.result = result
            is_well = result.status not in _FAILED and result.ack_index >= len(self.messages) - 1
        for message in self.messages:
            if message.retry_level is not None:
                is_well = False
        self.is_well = is_well
        self.has_ended = True  # at last: another thread may look

    def raised(self, error: BaseException, now_ms: int, *, quietly: bool = False) -> None:
        """Note that the listener raised; ``quietly`` without a line in the log. After
        NotConsumedError it has not ended."""
        self.ended_ms = now_ms
        if isinstance(error, NotConsumedError):
            return
        self.error = error
        self.has_ended = True
        if not quietly:
            _log.warning(
                "consumeMessage exception: %r Msgs: %s MQ: %s",
                error,
                self.messages,
                self.process_queue.queue,
                exc_info=error,
            )

    def to_send_back(self, default_level: int) -> list[tuple[ReceivedMessage, int]]:
        """Return the messages that were not consumed, each with its delay level.

        Source: ConsumeMessageConcurrentlyService.java#processConsumeResult (4.9.7)
        """
        result = self.result
        level = default_level if result.delay_level is None else result.delay_level
        all_failed = self.error is not None or result.status in _FAILED
        found = []
        for index, message in enumerate(self.messages):
            if message.retry_level is not None:
                found.append((message, message.retry_level))
            elif all_failed or index > result.ack_index:
                found.append((message, level))
        return found


def ends_from_outside(error: BaseException) -> bool:
    """Return whether an error ends a function that has not failed: its task is cancelled, or its
    generator is closed.

    By its name: this knows no event loop. An Exception of the same name is an ordinary one.
    """
    names = ("GeneratorExit", "CancelledError", "Cancelled")
    return not isinstance(error, Exception) and type(error).__name__ in names


class Slice(Protocol):
    """The batches of one worker: what it calls the listener with next."""

    def next(self) -> ListenerBatch | None:
        """Return a batch; None if the worker has made enough calls, or nothing is left."""

    def ended(self, batch: ListenerBatch) -> None:
        """Take a batch whose call is over; it has not ended if the listener did not begin."""


def call_in_row(work: Slice, listener: Listener, elapsed_ms: Callable[[], int]) -> None:
    """Call the listener with one batch after the other: a worker, perhaps on a thread of its own.

    Like a Throwable of Java, also a SystemExit only sends its messages back. The worker for
    coroutine functions is `fakemq.client.carriers.awaiting.await_in_row`.
    """
    now_ms = elapsed_ms()
    while (batch := work.next()) is not None:
        batch.begin(now_ms)
        try:
            result = listener(batch.messages)
        except BaseException as error:
            now_ms = elapsed_ms()
            batch.raised(error, now_ms)
        else:
            now_ms = elapsed_ms()
            batch.returned(result, now_ms)
        work.ended(batch)
