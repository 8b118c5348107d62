"""Loops over the messages of an asynchronous push consumer, and functions that are awaited."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import Self, cast

import anyio
import anyio.to_thread

from fakemq.client.carriers.loops import Loop
from fakemq.client.consuming.context import is_coroutine_function
from fakemq.client.consuming.received import (
    RECONSUME_LATER,
    SUCCESS,
    ConsumeResult,
    NotConsumedError,
    ReceivedMessage,
)
from fakemq.client.faces.async_base import UserTasks
from fakemq.client.faces.handlers import ConsumerFunctions, outcome


class AsyncDelivery:
    """A message on its way to a loop, in it, or behind it."""

    __slots__ = ("finished", "message", "result")

    def __init__(self, message: ReceivedMessage) -> None:
        self.message = message
        self.result: ConsumeResult | None = None
        self.finished = anyio.Event()

    def finish(self, result: ConsumeResult | None) -> None:
        """Let the consumer have the result; None if no loop is done with the message."""
        self.result = result
        self.finished.set()


class AsyncHandover:
    """Where the consumer leaves messages, and loops take them."""

    def __init__(self) -> None:
        self._waiting: deque[AsyncDelivery] = deque()
        self._open: set[AsyncDelivery] = set()
        self._takers: deque[anyio.Event] = deque()
        self._closed = False
        self.loops: dict[int, weakref.ref[AsyncMessageLoop]] = {}
        """The loops that have not ended, by their id. One may end in another thread, by a garbage
        collection."""

    def room(self) -> int:
        """Return how many messages loops can have at once. One more would wait for them, and its
        time to be consumed would pass."""
        return len(self.loops)

    async def listen(self, messages: Sequence[ReceivedMessage]) -> ConsumeResult:
        """Hand over one message, and wait until its loop is done with it.

        Raise NotConsumedError if the consumer ends before a loop takes it.
        """
        (message,) = messages
        if self._closed:
            raise NotConsumedError
        delivery = AsyncDelivery(message)
        self._open.add(delivery)
        self._waiting.append(delivery)
        self._wake_taker()
        try:
            await delivery.finished.wait()
        finally:
            self._open.discard(delivery)
        if delivery.result is None:
            raise NotConsumedError
        return delivery.result

    def _wake_taker(self) -> None:
        if self._takers:
            self._takers.popleft().set()

    async def take(self) -> AsyncDelivery | None:
        """Wait for the next message; return None when the consumer ends."""
        while not self._waiting:
            if self._closed:
                return None
            arrived = anyio.Event()
            self._takers.append(arrived)
            try:
                await arrived.wait()
            except BaseException:
                if arrived.is_set():
                    self._wake_taker()  # what it was woken for is another's
                else:
                    self._takers.remove(arrived)
                raise
        return self._waiting.popleft()

    def end_loops_here(self) -> None:
        """End the loops by which this task has messages; these are sent back."""
        for reference in list(self.loops.values()):
            loop = reference()
            if loop is not None and loop.is_here:
                loop.end()

    def close(self) -> None:
        """End all loops; messages that none has taken are left to other members."""
        self._closed = True
        while self._waiting:
            self._waiting.popleft().finish(None)
        while self._takers:
            self._wake_taker()

    def leave(self) -> None:
        """Leave the messages of loops that are being cancelled to other members, too."""
        for delivery in self._open:
            if delivery.result is not SUCCESS:
                delivery.finish(None)


class AsyncMessageLoop:
    """One loop over a consumer's messages."""

    def __init__(
        self,
        handover: AsyncHandover,
        consumer: object,
        user_tasks: UserTasks,
        loop: Loop,
    ) -> None:
        self._handover = handover
        self._consumer = consumer  # a consumer that is looped over is not dropped
        self._user_tasks = user_tasks
        self._loop = loop
        self._thread = threading.get_ident()
        self._current: AsyncDelivery | None = None
        self._task = 0
        handover.loops[id(self)] = weakref.ref(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ReceivedMessage:
        self._finish(SUCCESS)
        delivery = await self._handover.take()
        if delivery is None:
            raise StopAsyncIteration
        self._current = delivery
        # A shutdown in the loop's body must not wait for the body.
        self._task = self._user_tasks.enter()
        return delivery.message

    @property
    def is_here(self) -> bool:
        """Whether this task has a message by it."""
        return self._current is not None and self._task == anyio.get_current_task().id

    async def aclose(self) -> None:
        """End the loop; its message is sent back, to be tried again."""
        self.end()

    def end(self) -> None:
        """End the loop, as `aclose`."""
        self._handover.loops.pop(id(self), None)
        self._finish(RECONSUME_LATER)

    def _finish(self, result: ConsumeResult) -> None:
        delivery, self._current = self._current, None
        if delivery is not None:
            _finish(delivery, result, self._user_tasks, self._task)

    def __del__(self) -> None:
        # A loop that is left by break, return or an error drops its iterator.
        self._handover.loops.pop(id(self), None)
        if self._current is None:
            return
        if threading.get_ident() == self._thread:
            self._finish(RECONSUME_LATER)
        else:  # collected in another thread
            ended = (self._current, RECONSUME_LATER, self._user_tasks, self._task)
            with suppress(RuntimeError):  # the loop is over, and with it the consumer
                self._loop.call_threadsafe(partial(_finish, *ended))


def _finish(
    delivery: AsyncDelivery, result: ConsumeResult, user_tasks: UserTasks, task: int
) -> None:
    """Take the end of a loop's message, in the thread of its event loop."""
    user_tasks.leave(task)
    if delivery.result is None:
        delivery.finish(result)


class AsyncCalls:
    """The listener that awaits async functions of the user, and calls plain ones in threads."""

    def __init__(self, handlers: ConsumerFunctions, user_tasks: UserTasks, threads: int) -> None:
        self._handlers = handlers
        self._user_tasks = user_tasks
        self._limiter: anyio.CapacityLimiter | None = None
        self._threads = threads

    async def listen(self, messages: Sequence[ReceivedMessage]) -> ConsumeResult | None:
        """Consume messages. Raise NotConsumedError if they are left to other members, because
        `UserTasks.cancel` has ended the function."""
        with self._user_tasks.calling():
            return outcome(await self._called(messages))
        raise NotConsumedError

    async def _called(self, messages: Sequence[ReceivedMessage]) -> object:
        function, argument = self._handlers.chosen(messages)
        if is_coroutine_function(function):
            awaitable = cast("Awaitable[object]", function(argument))
            return await awaitable
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._threads)
        # In a list, because trio takes no coroutine for the result of a thread.
        (returned,) = await anyio.to_thread.run_sync(
            lambda: [function(argument)], abandon_on_cancel=True, limiter=self._limiter
        )
        return await returned if isawaitable(returned) else returned
