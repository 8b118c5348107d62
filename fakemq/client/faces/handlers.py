"""Which function of the user consumes the messages of which topic, and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from inspect import isawaitable, iscoroutine, isgenerator
from typing import Any, TypeAlias

from fakemq.client.arguments import are_several, topic_name
from fakemq.client.consuming.context import is_coroutine_function
from fakemq.client.consuming.received import ConsumeResult, ConsumeStatus, ReceivedMessage
from fakemq.client.consuming.settings import Selector
from fakemq.client.consuming.subscriptions import require_subscription
from fakemq.client.errors import MQClientError
from fakemq.client.faces.functions import Kind, require_function
from fakemq.errors import ArgumentError

OnMessage: TypeAlias = Callable[[ReceivedMessage], object]
"""Consumes one message. Returning acknowledges it, raising sends it back."""

OnMessages: TypeAlias = Callable[[Sequence[ReceivedMessage]], object]
"""Consumes a batch of messages of one queue. Returning acknowledges those that it has not marked
by `ReceivedMessage.retry_later`, raising sends all of them back."""

Subscribe: TypeAlias = Mapping[str, str | Selector] | Sequence[str] | str
"""What a consumer wants: by topic its tags or a `Selector`; or only topics, for all messages."""

_FAILURES_OF_OTHERS = frozenset(
    {"RECONSUME_LATER", "ROLLBACK", "SUSPEND_CURRENT_QUEUE_A_MOMENT", "FAILURE"}
)
"""The results of a function at other clients that let a message come again.

Source: client/consumer/listener/ConsumeConcurrentlyStatus.java, ConsumeOrderlyStatus.java (4.9.7),
and ConsumeResult of RocketMQ 5's clients
"""


class ConsumerFunctions:
    """The functions of one consumer, by topic, and its subscriptions."""

    def __init__(
        self,
        face: str,
        subscribe: Subscribe | None,
        on_message: OnMessage | None,
        on_messages: OnMessages | None,
        *,
        kind: Kind,
        wrap: Callable[[OnMessage], OnMessage],
    ) -> None:
        self._face = face
        self._kind = kind
        self._wrap = wrap
        self.subscriptions = subscriptions(subscribe)
        if on_message is not None:
            self._check("on_message", on_message)
            on_message = wrap(on_message)
        if on_messages is not None:
            self._check("on_messages", on_messages, "messages")
        if on_message is not None and on_messages is not None:
            raise ArgumentError("on_message and on_messages: expected one of them")
        self._on_message = on_message
        self.on_messages = on_messages
        self._by_topic: dict[str, OnMessage] = {}
        self.for_all = on_message
        """The function of every message, if no topic has one of its own."""

    @property
    def are_given(self) -> bool:
        """Whether there is a function; otherwise messages are for loops over the consumer."""
        return bool(self._on_message or self.on_messages or self._by_topic)

    def add(
        self,
        topic: str,
        function: OnMessage,
        expression: str | Selector,
    ) -> None:
        """Consume a topic by a function of its own."""
        require_subscription(topic, expression)
        self._check(f"on({topic!r})", function)
        if self.on_messages is not None:
            raise ArgumentError(f"on({topic!r}) beside on_messages, which consumes all topics")
        if topic in self._by_topic:
            raise MQClientError(f"{topic} is consumed by {self._by_topic[topic]!r} already")
        self._by_topic[topic] = self._wrap(function)
        self.for_all = None
        self.subscriptions[topic] = expression

    def subscribe(self, topic: str, expression: str | Selector) -> None:
        """Want messages of a topic."""
        require_subscription(topic, expression)
        self.subscriptions[topic] = expression

    def require_all(self) -> None:
        """Raise MQClientError unless each topic has a function, or none has one."""
        if self.on_messages is not None or self._on_message is not None or not self.are_given:
            return
        missing = [topic for topic in self.subscriptions if topic not in self._by_topic]
        if missing:
            raise MQClientError(
                f"no function consumes {', '.join(missing)}: pass on_message=…, or decorate one"
                f" with @consumer.on({missing[0]!r})"
            )

    @property
    def are_awaited(self) -> bool:
        """Whether one of the functions is async."""
        functions = (self._on_message, self.on_messages, *self._by_topic.values())
        return any(one is not None and is_coroutine_function(one) for one in functions)

    def chosen(
        self, messages: Sequence[ReceivedMessage]
    ) -> tuple[Callable[[Any], object], ReceivedMessage | Sequence[ReceivedMessage]]:
        """Return the function that consumes these messages, and what to call it with."""
        if self.on_messages is not None:
            return self.on_messages, messages
        (message,) = messages
        function = self._by_topic.get(message.topic, self._on_message)
        if function is None:
            raise MQClientError(f"no function consumes {message.topic}")
        return function, message

    def _check(self, name: str, function: object, argument: str = "message") -> None:
        require_function(name, function, (argument,), self._kind, self._face)


def subscriptions(subscribe: Subscribe | None) -> dict[str, str | Selector]:
    """Return what is wanted by topic; raise TypeError for what cannot be read so."""
    if subscribe is None:
        return {}
    if isinstance(subscribe, str):
        subscribe = (subscribe,)
    if not are_several(subscribe):
        raise ArgumentError(f"subscribe={subscribe!r}: {_EXPECTED_SUBSCRIBE}")
    given = subscribe if isinstance(subscribe, Mapping) else dict.fromkeys(subscribe, "*")
    for topic, expression in given.items():
        require_subscription(topic, expression)
    return dict(given)


_EXPECTED_SUBSCRIBE = (
    'expected {topic: tags}, such as {"orders": "paid || shipped"}, {"orders": "*"} or'
    ' {"orders": SQL("amount > 100")}; or a topic, or several'
)


def topic_of_decorator(topic: object, example: str) -> str:
    """Return the topic of ``@face.on(topic)``; raise TypeError if it has no parentheses."""
    if callable(topic):
        raise ArgumentError(f'on: expected a topic, as in {example}("orders")')
    return topic_name("topic", topic)


def outcome(returned: object) -> ConsumeResult | None:
    """Return the result of consuming, of what a function of the user returned.

    Only a `ConsumeResult` or `ConsumeStatus` has a meaning; anything else acknowledges. Raise
    TypeError for an awaitable or generator, which would not run, and for a status by which another
    client gets the message again: here it would be acknowledged.
    """
    if returned is None:
        return None
    if isinstance(returned, ConsumeResult):
        return returned
    if isinstance(returned, ConsumeStatus):
        return ConsumeResult(returned)
    if isawaitable(returned) or isgenerator(returned):
        if iscoroutine(returned):
            returned.close()
        raise ArgumentError(
            f"the function returned {returned!r} instead of a result, so that it has not run: only"
            " an async consumer awaits it, and only of a function that is written with async def"
        )
    name = returned.name if isinstance(returned, Enum) else returned
    if isinstance(name, str) and name in _FAILURES_OF_OTHERS:
        raise ArgumentError(
            f"the function returned {returned!r}, which has no meaning here: to get the message"
            " again, raise an error, or call message.retry_later()"
        )
    return None
