"""From the arguments of a send to its message, and to how its queue is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from fakemq.client.messages import Message
from fakemq.client.producing.settings import Selection
from fakemq.protocol.bodies.queue import MessageQueue

REQUEST_TIMEOUT_MS = 3_000
"""How long a request waits for its reply by default."""


class Choice(TypedDict, total=False):
    """Which queue a message is sent to; without any of these the queues are taken in turn.

    ``queue`` is one of the topic's. ``sharding_key`` sends messages with equal keys to one queue.
    ``selector`` is a function of all queues and the message that returns one of them, or
    ``"random"``.
    """

    queue: MessageQueue | None
    sharding_key: str | int | None
    selector: Selection | None


class Where(Choice, total=False):
    """Which queue a message is sent to, and how long all attempts together may take."""

    timeout_ms: int | None


class Parts(TypedDict, total=False):
    """What a message has beside its topic and body; see `fakemq.client.Message`."""

    tags: str
    keys: str | Iterable[str]
    delay_level: int
    flag: int
    properties: Mapping[str, str] | None


class SendOptions(Parts, Where, total=False):
    """The options of a send."""


class OnewayOptions(Parts, Choice, total=False):
    """The options of a send without an answer."""


class BatchOptions(TypedDict, total=False):
    """The queue of a batch or half message, and how long each of its sends may take."""

    queue: MessageQueue | None
    timeout_ms: int | None


def as_message(message: Message | str, body: bytes | str | None, options: Parts) -> Message:
    """Return the message to send: the one given, or a new one of a topic and a body."""
    parts = _parts(options) if options else options
    if isinstance(message, str):
        if body is None:
            raise TypeError(f"no body: expected a Message, or a topic ({message!r}) and a body")
        return Message(message, body, **parts)
    if not isinstance(message, Message):
        raise TypeError(f"expected a Message, or a topic and a body, not {message!r}")
    given = ["body"] if body is not None else []
    given += [name for name, value in parts.items() if value]
    if given:
        raise TypeError(f"{', '.join(given)} beside a Message: expected them in the Message")
    return message


def _parts(options: Parts) -> Parts:
    parts = Parts()
    if "tags" in options:
        parts["tags"] = options["tags"]
    if "keys" in options:
        parts["keys"] = options["keys"]
    if "delay_level" in options:
        parts["delay_level"] = options["delay_level"]
    if "flag" in options:
        parts["flag"] = options["flag"]
    if "properties" in options:
        parts["properties"] = options["properties"]
    return parts


def choice_of(options: Choice) -> Choice:
    """Return how the queue is chosen; raise TypeError for two ways at once."""
    choice = Choice()
    if (queue := options.get("queue")) is not None:
        choice["queue"] = queue
    if (key := options.get("sharding_key")) is not None:
        choice["sharding_key"] = key
    if (selector := options.get("selector")) is not None:
        choice["selector"] = selector
    if len(choice) > 1:
        raise TypeError(f"{' and '.join(choice)} each choose the queue: expected one of them")
    return choice


def where_of(options: Where) -> Where:
    """Return how the queue is chosen, and the time-out."""
    if not options:
        return options
    return Where(timeout_ms=options.get("timeout_ms"), **choice_of(options))
