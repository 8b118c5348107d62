"""Loops over the messages of a push consumer: ``for message in consumer``, in any threads.

A message is acknowledged when its loop asks for the next one. If the loop ends before (by break,
return or an error), or the message has called `retry_later`, it is sent back.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Self

from fakemq.client.consuming.received import (
    RECONSUME_LATER,
    SUCCESS,
    ConsumeResult,
    NotConsumedError,
    ReceivedMessage,
)
from fakemq.client.faces.user_threads import UserThreads


class LoopDelivery:
    """A message on its way to a loop, in it, or behind it."""

    __slots__ = ("_finished", "_result", "message")

    def __init__(self, message: ReceivedMessage) -> None:
        self.message = message
        self._result: ConsumeResult | None = None
        self._finished = threading.Event()

    def finish(self, result: ConsumeResult | None) -> None:
        """Let the consumer have the result; None if no loop has taken the message.

        Only the first result counts. A call that Ctrl-C has interrupted is done again by the next.
        """
        if not self._finished.is_set():
            self._result = result
        self._finished.set()

    def wait(self) -> ConsumeResult:
        """Wait for the result; raise NotConsumedError if there is none."""
        self._finished.wait()
        if self._result is None:
            raise NotConsumedError
        return self._result


class Handover:
    """Where the consumer's threads leave messages, and loops take them."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        # Guarded by its lock.
        self._waiting: deque[LoopDelivery] = deque()
        self._closed = False
        self.loops: dict[int, weakref.ref[MessageLoop]] = {}
        """The loops that have not ended, by their id. Without a lock: the end of a loop may be a
        garbage collection, in any thread."""

    def room(self) -> int:
        """Return how many messages loops can have at once. One more would wait for them, and its
        time to be consumed would pass."""
        return len(self.loops)

    def listen(self, messages: Sequence[ReceivedMessage]) -> ConsumeResult:
        """Hand over one message, and wait until its loop is done with it.

        Raise NotConsumedError if the consumer ends before a loop takes it.
        """
        (message,) = messages
        delivery = LoopDelivery(message)
        with self._changed:
            if self._closed:
                raise NotConsumedError
            self._waiting.append(delivery)
            self._changed.notify()
        return delivery.wait()

    def take(self, loop: MessageLoop) -> None:
        """Wait for the next message, and make it the loop's; it has none when the consumer ends.

        Ctrl-C may come between any two steps, and so a message is with its loop before it leaves
        the others: see `put_back`.
        """
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._waiting:
                loop.current = self._waiting[0]
                self._waiting.popleft()

    def put_back(self, loop: MessageLoop) -> None:
        """Let another loop take a message that has not reached its loop's body."""
        delivery, loop.current = loop.current, None
        with self._changed:
            if delivery is not None and delivery not in self._waiting:
                if self._closed:
                    delivery.finish(None)
                else:
                    self._waiting.appendleft(delivery)
            self._changed.notify()  # the loop may have been woken for one that it does not take

    def end_loops_here(self) -> None:
        """End the loops by which this thread has messages; these are sent back."""
        for reference in list(self.loops.values()):
            loop = reference()
            if loop is not None and loop.is_here:
                loop.close()

    def close(self) -> None:
        """End all loops; messages that none has taken are left to other members."""
        with self._changed:
            self._closed = True
            left = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for delivery in left:
            delivery.finish(None)


class MessageLoop:
    """One loop over a consumer's messages."""

    def __init__(self, handover: Handover, consumer: object, user_threads: UserThreads) -> None:
        self._handover = handover
        self._consumer = consumer  # a consumer that is looped over is not dropped
        self._user_threads = user_threads
        self.current: LoopDelivery | None = None
        """What its body consumes."""
        handover.loops[id(self)] = weakref.ref(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ReceivedMessage:
        self._finish(SUCCESS)
        try:
            self._handover.take(self)
            if self.current is not None:
                # A shutdown in the loop's body must not wait for the body.
                self._user_threads.enter(id(self))
                return self.current.message
        except BaseException:  # Ctrl-C
            self._user_threads.leave(id(self))
            self._handover.put_back(self)
            raise
        raise StopIteration

    @property
    def is_here(self) -> bool:
        """Whether this thread has a message by it."""
        return self._user_threads.has_here(id(self))

    def close(self) -> None:
        """End the loop; its message is sent back, to be tried again."""
        self._handover.loops.pop(id(self), None)
        self._finish(RECONSUME_LATER)

    def _finish(self, result: ConsumeResult) -> None:
        if self.current is not None:
            self.current.finish(result)
            self._user_threads.leave(id(self))
            self.current = None  # at last: after Ctrl-C before, the end of the loop does the rest

    def __del__(self) -> None:
        # A loop that is left by break, return or an error drops its iterator.
        self.close()
