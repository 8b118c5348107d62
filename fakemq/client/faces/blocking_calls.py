"""Calls of functions of the user in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

from fakemq.client.consuming.received import ConsumeResult, ReceivedMessage
from fakemq.client.faces.handlers import Handlers, outcome
from fakemq.client.faces.user_threads import UserThreads


class Calls:
    """The listener that calls functions of the user."""

    def __init__(self, handlers: Handlers, user_threads: UserThreads) -> None:
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
