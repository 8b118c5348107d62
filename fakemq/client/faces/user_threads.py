"""Which threads run functions of the user now."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from fakemq.client.consuming.received import ConsumeResult, ReceivedMessage
from fakemq.client.faces.handlers import ConsumerFunctions, outcome


class UserThreads:
    """The threads that run functions or loops of the user now, for whose end a shutdown waits."""

    def __init__(self) -> None:
        self.running: dict[object, int] = {}
        """The ident of the thread of each function call and each loop with a message. A thread may
        have several: a loop within a loop, a call within a call."""

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Be around a call of such a function."""
        call = object()
        self.running[call] = threading.get_ident()
        try:
            yield
        finally:
            del self.running[call]

    def enter(self, loop: int) -> None:
        """Note that a loop has a message in the calling thread."""
        self.running[loop] = threading.get_ident()

    def leave(self, loop: int) -> None:
        """Note that a loop is done with its message; any thread may say it, also twice."""
        self.running.pop(loop, None)

    def has_here(self, loop: int) -> bool:
        """Whether the loop has a message in the calling thread."""
        return self.running.get(loop) == threading.get_ident()

    @property
    def has_this(self) -> bool:
        """Whether the calling thread is one of them."""
        return threading.get_ident() in list(self.running.values())


# Calls of functions of the user in threads.
class Calls:
    """The listener that calls functions of the user."""

    def __init__(self, handlers: ConsumerFunctions, user_threads: UserThreads) -> None:
        self._handlers = handlers
        self._user_threads = user_threads

    def __call__(self, messages: Sequence[ReceivedMessage]) -> ConsumeResult | None:
        """Consume messages in the calling thread."""
        function: Callable[[Any], object] | None = self._handlers.for_all
        argument: ReceivedMessage | Sequence[ReceivedMessage] = messages[0]
        if function is None:
            function, argument = self._handlers.chosen(messages)
        # Written out: this is called for each message, and a with block is two calls more.
        running, call = self._user_threads.running, object()
        running[call] = get_ident()
        try:
            returned = function(argument)
        finally:
            del running[call]
        return None if returned is None else outcome(returned)
