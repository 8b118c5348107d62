"""From the arguments of a send to its message, and to how its queue is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypedDict

from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.messages import Message
from fakemq.client.producing.settings import Selection
from fakemq.config.checked import whole
from fakemq.errors import ArgumentError, did_you_mean
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.clock.durations import Duration

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
    delay: Duration | None
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


_OPTIONS = {
    "send_oneway": frozenset(OnewayOptions.__annotations__),
    **dict.fromkeys(
        ("send_batch", "send_batches", "send_in_transaction"),
        frozenset(BatchOptions.__annotations__),
    ),
}
_SEND_OPTIONS = frozenset(SendOptions.__annotations__)


def _require_known(method: str, options: Mapping[str, object]) -> None:
    """Raise TypeError for an option that a method has not, as Python does for an argument."""
    known = _OPTIONS.get(method, _SEND_OPTIONS)
    if options.keys() <= known:
        return
    name = next(name for name in options if name not in known)
    hint = did_you_mean(name, sorted(known))
    raise ArgumentError(f"{method}() got an unexpected option {name!r}{hint}")


def as_message(
    message: Message | str, body: bytes | str | None, options: Parts, method: str = "send"
) -> Message:
    """Return the message to send: the one given, or a new one of a topic and a body.

    Raise TypeError for options that ``method`` has not.
    """
    if options:
        _require_known(method, options)
    parts = _parts(options) if options else options
    if isinstance(message, str):
        if body is None:
            raise ArgumentError(f"no body: expected a Message, or a topic ({message!r}) and a body")
        return Message(message, body, **parts)
    if not isinstance(message, Message):
        raise _no_message(message)
    given = ["body"] if body is not None else []
    given += [name for name, value in parts.items() if value]
    if given:
        raise ArgumentError(f"{', '.join(given)} beside a Message: expected them in the Message")
    return message


def _no_message(given: object) -> ArgumentError:
    several = "; send_batch takes several Messages" if isinstance(given, list | tuple) else ""
    return ArgumentError(f"expected a Message, or a topic and a body, not {given!r}{several}")


def as_batch(messages: Iterable[Message]) -> list[Message]:
    """Return the messages of a batch; raise TypeError for anything else."""
    if isinstance(messages, Message | str | bytes) or not isinstance(messages, Iterable):
        raise ArgumentError(f"messages={messages!r}: expected a list of Messages")
    batch = list(messages)
    for message in batch:
        if not isinstance(message, Message):
            raise ArgumentError(f"messages has {message!r}: expected Messages alone")
    return batch


def as_half(message: Message, execute: object, kind: Kind, face: str) -> Message:
    """Return a half message; raise TypeError unless it and its local transaction can be."""
    if not isinstance(message, Message):
        raise ArgumentError(f"message={message!r}: expected a Message")
    require_function("execute", execute, ("message",), kind, face)
    return message


def batch_options(options: BatchOptions, method: str) -> BatchOptions:
    """Return checked options of a batch or half message."""
    if options:
        _require_known(method, options)
        _check_queue(options.get("queue"))
        _check_timeout(options.get("timeout_ms"))
    return options


def request_limit_ms(options: Where) -> int:
    """Return how long a request may wait for its reply."""
    timeout_ms = options.get("timeout_ms")
    _check_timeout(timeout_ms)
    return REQUEST_TIMEOUT_MS if timeout_ms is None else timeout_ms


def _parts(options: Parts) -> Parts:
    parts = Parts()
    if "tags" in options:
        parts["tags"] = options["tags"]
    if "keys" in options:
        parts["keys"] = options["keys"]
    if "delay_level" in options:
        parts["delay_level"] = options["delay_level"]
    if "delay" in options:
        parts["delay"] = options["delay"]
    if "flag" in options:
        parts["flag"] = options["flag"]
    if "properties" in options:
        parts["properties"] = options["properties"]
    return parts


def choice_of(options: Choice) -> Choice:
    """Return how the queue is chosen; raise TypeError for two ways at once."""
    choice = Choice()
    if (queue := options.get("queue")) is not None:
        _check_queue(queue)
        choice["queue"] = queue
    if (key := options.get("sharding_key")) is not None:
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise ArgumentError(f"sharding_key={key!r}: expected text or a whole number")
        choice["sharding_key"] = key
    if (selector := options.get("selector")) is not None:
        if selector != "random" and not callable(selector):
            raise ArgumentError(
                f"selector={selector!r}: expected a function of the queues and the message, or"
                ' "random"'
            )
        choice["selector"] = selector
    if len(choice) > 1:
        raise ArgumentError(f"{' and '.join(choice)} each choose the queue: expected one of them")
    return choice


def where_of(options: Where) -> Where:
    """Return how the queue is chosen, and the time-out."""
    if not options:
        return options
    timeout_ms = options.get("timeout_ms")
    _check_timeout(timeout_ms)
    return Where(timeout_ms=timeout_ms, **choice_of(options))


def _check_queue(queue: object) -> None:
    if queue is not None and not isinstance(queue, MessageQueue):
        raise ArgumentError(
            f"queue={queue!r}: expected one of the topic's queues, as of queues(topic)"
        )


def _check_timeout(timeout_ms: object) -> None:
    if timeout_ms is not None:
        whole("timeout_ms", timeout_ms, 0)
