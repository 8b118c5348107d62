"""Calls of functions of the user in threads."""

from __future__ import annotations

from collections.abc import Sequence

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
        function, argument = self._handlers.chosen(messages)
        with self._user_threads:
            return outcome(function(argument))
