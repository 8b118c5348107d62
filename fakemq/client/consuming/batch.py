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


class Batch:
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

    def call(
        self, listener: Listener, elapsed_ms: Callable[[], int], now_ms: int | None = None
    ) -> None:
        """Call the listener, and keep its result or error; ``now_ms`` is the time, if it is known.

        Like a Throwable of Java, also a SystemExit only sends its messages back.
        """
        self.begin(elapsed_ms() if now_ms is None else now_ms)
        try:
            self.returned(listener(self.messages), elapsed_ms())
        except BaseException as error:
            self.raised(error, elapsed_ms())

    def returned(self, result: object, now_ms: int) -> None:
        """Note what the listener returned; anything but a ConsumeResult is a SUCCESS."""
        self.ended_ms = now_ms
        if isinstance(result, ConsumeResult):
            self.result = result
        self.is_well = self._is_well()
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

    def _is_well(self) -> bool:
        if self.result is not SUCCESS and (
            self.result.status in (ConsumeStatus.RECONSUME_LATER, ConsumeStatus.ROLLBACK)
            or self.result.ack_index < len(self.messages) - 1
        ):
            return False
        # Not `all`: its generator costs more than the rest of this method.
        for message in self.messages:  # noqa: SIM110
            if message.retry_level is not None:
                return False
        return True

    def to_send_back(self, default_level: int) -> list[tuple[ReceivedMessage, int]]:
        """Return the messages that were not consumed, each with its delay level.

        Source: ConsumeMessageConcurrentlyService.java#processConsumeResult (4.9.7)
        """
        result = self.result
        level = default_level if result.delay_level is None else result.delay_level
        all_failed = self.error is not None or result.status in (
            ConsumeStatus.RECONSUME_LATER,
            ConsumeStatus.ROLLBACK,
        )
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

    def next(self) -> Batch | None:
        """Return a batch; None if the worker has made enough calls, or nothing is left."""

    def ended(self, batch: Batch) -> None:
        """Take a batch whose call is over; it has not ended if the listener did not begin."""


def call_in_row(work: Slice, listener: Listener, elapsed_ms: Callable[[], int]) -> None:
    """Call the listener with one batch after the other: a worker, perhaps on a thread of its own.

    The worker for coroutine functions is `fakemq.client.carriers.awaiting.await_in_row`.
    """
    now_ms: int | None = None
    while (batch := work.next()) is not None:
        try:
            batch.call(listener, elapsed_ms, now_ms)
        finally:
            work.ended(batch)
        now_ms = batch.ended_ms
