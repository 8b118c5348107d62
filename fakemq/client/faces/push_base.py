"""What both push consumers have in common: their settings, subscriptions and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, Unpack

import msgspec

from fakemq.client.arguments import topic_name
from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.settings import PushSettings, Selector
from fakemq.client.errors import MQClientError
from fakemq.client.faces.base import AWAIT_TERMINATION_MS, Face
from fakemq.client.faces.functions import Kind
from fakemq.client.faces.handlers import (
    ConsumerFunctions,
    OnMessage,
    OnMessages,
    Subscribe,
    topic_of_decorator,
)
from fakemq.client.faces.options import PushOptions
from fakemq.client.faces.settings import settled, settled_client
from fakemq.config.checked import whole
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled

F = TypeVar("F", bound=OnMessage)


class PushParts:
    """The checked arguments of a push consumer."""

    def __init__(
        self,
        face: str,
        namesrv_addr: str | None,
        group: str,
        subscribe: Subscribe | None,
        on_message: OnMessage | None,
        on_messages: OnMessages | None,
        wait_ms: int,
        options: Mapping[str, object],
        *,
        kind: Kind,
        wrap: Callable[[OnMessage], OnMessage],
    ) -> None:
        chosen = dict(options)
        self.wait_ms = whole("await_termination_ms_when_shutdown", wait_ms, 0, INT_MAX)
        arguments = ("subscribe", "on_message", "on_messages", "await_termination_ms_when_shutdown")
        self.settings = settled(face, PushSettings, chosen, arguments, group=group)
        self.client: Settled = settled_client(namesrv_addr, chosen)
        self.handlers = ConsumerFunctions(
            face, subscribe, on_message, on_messages, kind=kind, wrap=wrap
        )
        if self.settings.consume_message_batch_max_size > 1 and on_messages is None:
            raise TypeError(
                "consume_message_batch_max_size is for on_messages, which takes a batch: pass"
                " on_messages=…, or leave the size at 1"
            )

    def settings_to_start(self) -> PushSettings:
        """Return the settings with all subscriptions; raise MQClientError if there are none."""
        handlers = self.handlers
        handlers.require_all()
        if not handlers.subscriptions:
            raise MQClientError(
                'no subscription: pass subscribe={"topic": "*"}, or decorate a function with'
                ' @consumer.on("topic")'
            )
        return msgspec.structs.replace(self.settings, subscribe=dict(handlers.subscriptions))


def expression_of(tags: str, sql: str | None) -> str | Selector:
    """Return what a decorator's arguments want; raise TypeError for both."""
    if sql is None:
        return tags
    if tags != "*":
        raise TypeError("tags and sql: expected one of them")
    return Selector.by_sql(sql)


class PushFace(Face[PushConsumerCore]):
    """What both push consumers do without waiting."""

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        subscribe: Subscribe | None = None,
        on_message: OnMessage | None = None,
        on_messages: OnMessages | None = None,
        await_termination_ms_when_shutdown: int = AWAIT_TERMINATION_MS,
        **options: Unpack[PushOptions],
    ) -> None:
        self._parts = parts = PushParts(
            *(self._made_by, namesrv_addr, group, subscribe, on_message, on_messages),
            await_termination_ms_when_shutdown,
            options,
            kind=self._FUNCTIONS,
            wrap=self._wrapper(),
        )
        super().__init__(parts.client, group, threads=parts.settings.consume_threads)

    @property
    def settings(self) -> PushSettings:
        """What it was made with."""
        return self._parts.settings

    def _wrapper(self) -> Callable[[OnMessage], OnMessage]:
        """Return what makes of a function of the user the one that is called; it must not refer to
        the face."""
        return lambda function: function

    # -- functions and subscriptions ----------------------------------------------

    def on(self, topic: str, *, tags: str = "*", sql: str | None = None) -> Callable[[F], F]:
        """Decorate the function that consumes a topic, and subscribe to it.

            @consumer.on("orders", tags="paid || shipped")
            def charge(message: ReceivedMessage) -> None: ...

            @consumer.on("refunds", sql="amount > 100")
            def review(message: ReceivedMessage) -> None: ...

        An asynchronous consumer takes async functions, too. Raise MQClientError for a topic that
        has a function already.
        """
        topic, expression = topic_of_decorator(topic, "@consumer.on"), expression_of(tags, sql)

        def register(function: F) -> F:
            self._require_addable(topic, function)
            self._parts.handlers.add(topic, function, expression)
            self._subscribe(topic, expression)
            return function

        return register

    def _require_addable(self, topic: str, function: OnMessage) -> None:
        """Raise MQClientError for a function that comes too late."""

    def subscribe(self, topic: str, expression: str | Selector = "*") -> None:
        """Consume one more topic, or other messages of it; also while it runs."""
        self._parts.handlers.subscribe(topic, expression)
        self._subscribe(topic, expression)

    def _subscribe(self, topic: str, expression: str | Selector) -> None:
        if self._is_started:
            core = self._running_core()
            self._call(lambda: core.subscribe(topic, expression))

    def unsubscribe(self, topic: str) -> None:
        """Consume a topic no longer."""
        self._parts.handlers.subscriptions.pop(topic_name("topic", topic), None)
        if self._is_started:
            core = self._running_core()
            self._call(lambda: core.unsubscribe(topic))

    # -- running --------------------------------------------------------------------

    def suspend(self) -> None:
        """Begin no pull until `resume`; one that a broker holds may still bring messages."""
        self._call(self._running_core().suspend)

    def resume(self) -> None:
        """Pull again."""
        self._call(self._running_core().resume)
