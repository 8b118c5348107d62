"""The assertions about messages, and the text of a failed assertion.

The text says what was expected and seen, the most likely cause, the placed faults, and the
biographies of the messages concerned. pytest's traceback ends at the assertion.

The functions ``why_not_…`` return the text of the failure, "" if there is none. They work in steps,
on the cluster's thread: many messages take long. ``stored`` are the steps that read the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from fakemq.config.checked import payloads, whole
from fakemq.errors import counted
from fakemq.protocol.topics import dlq_topic

if TYPE_CHECKING:
    from fakemq.biographies.biography import Biography
    from fakemq.clock.slices import Steps
    from fakemq.handles.values import Message

BIOGRAPHIES_AT_MOST = 5
SHOWN_AT_MOST = 20
"""The most messages that a failure names, so that it stays readable."""
BODY_SHOWN_BYTES = 40

Explain = Callable[[Sequence["Message"], str | None, str | None], "Steps[str]"]
"""Return the rest of a failure's text, for these messages, a topic and a group."""


class ExplainMore(Protocol):
    """Return the same; ``too_many`` says that more messages than the wanted ones are seen."""

    def __call__(
        self, messages: Sequence[Message], topic: str | None, group: str | None, *, too_many: bool
    ) -> Steps[str]: ...


class WantedMessages:
    """How many messages, or which bodies, an assertion wants; at least one by default.

    Raise ConfigError for a number or bodies that cannot be.
    """

    def __init__(self, count: int | None, bodies: Iterable[bytes | str] | None) -> None:
        if count is not None:
            whole("count", count, 0)
        self.count = count
        self.bodies = None if bodies is None else Counter(payloads(bodies))

    def has_more(self, seen: Sequence[Message]) -> bool:
        """Return whether there are more messages than the wanted ones among the seen ones."""
        if self.bodies is not None:
            return bool(Counter(message.body for message in seen) - self.bodies)
        return self.count is not None and len(seen) > self.count

    def why_not(
        self, what: str, seen: Sequence[Message], explain: Callable[[], Steps[str]]
    ) -> Steps[str]:
        """Return the failure's text if other messages are seen; "" if it is these."""
        count, wanted = self.count, self.bodies
        there = Counter(message.body for message in seen)
        if wanted is not None:
            fits = there == wanted and count in (None, len(seen))
            expected = f"{counted(wanted.total(), 'message')} {what}: {_bodies(wanted)}"
            if differences := [
                f"{word} {_bodies(part)}"
                for word, part in (("missing", wanted - there), ("too many", there - wanted))
                if part
            ]:
                expected += f" ({'; '.join(differences)})"
        else:
            fits = bool(seen) if count is None else count == len(seen)
            number = "at least 1 message" if count is None else counted(count, "message")
            expected = f"{number} {what}"
        if fits:
            return ""
        explanation = yield from explain()
        return (
            f"expected: {expected}\n"
            f"seen:     {len(seen)}{f': {_bodies(there)}' if seen else ''}\n{explanation}"
        )


def why_not_sent(
    stored: Steps[list[Message]],
    topic: str,
    wanted: WantedMessages,
    keys: str | None,
    tags: str | None,
    explain: Explain,
) -> Steps[str]:
    """Look whether a topic's messages with these keys and tags are the wanted ones."""
    messages = yield from stored
    fitting = [
        message
        for message in messages
        if tags in (None, message.tags) and (keys is None or keys in message.keys.split())
    ]
    which = "".join(
        f" with {name} {value!r}"
        for name, value in (("keys", keys), ("tags", tags))
        if value is not None
    )
    yield
    rest = lambda: explain(messages, topic, None)  # noqa: E731
    return (yield from wanted.why_not(f"in {topic}{which}", fitting, rest))


def why_not_in_dlq(
    stored: Steps[list[Message]], group: str, wanted: WantedMessages, explain: Explain
) -> Steps[str]:
    """Look whether the dead letters of a group, the stored messages, are the wanted ones."""
    dead = yield from stored
    rest = lambda: explain(dead, None, group)  # noqa: E731
    return (yield from wanted.why_not(f"in {dlq_topic(group)}", dead, rest))


def why_not_consumed(
    stored: Steps[list[Message]],
    topic: str,
    group: str,
    wanted: WantedMessages,
    explain: ExplainMore,
) -> Steps[str]:
    """Look whether a group has acknowledged the wanted messages of a topic, by default all."""
    messages = yield from stored
    done: list[Message] = []
    left: list[Message] = []
    for message in messages:
        (done if consumed(message.biography, group) else left).append(message)
        yield
    if wanted.count is None and wanted.bodies is None and messages:
        wanted.count = len(messages)
    more = wanted.has_more(done)
    rest = lambda: explain(left or done, topic, group, too_many=more)  # noqa: E731
    return (yield from wanted.why_not(f"of {topic} consumed by {group}", done, rest))


def why_not_delivered(
    stored: Steps[list[Message]], topic: str, group: str, least: int, most: int, explain: Explain
) -> Steps[str]:
    """Look whether each message of a topic was delivered to a group ``least`` to ``most`` times.

    Deliveries of its retries count, too. A topic without messages has none that was delivered, so
    it is right only if ``least`` is 0.
    """
    from fakemq.biographies.steps import Delivered

    wrong, seen = [], []
    messages = yield from stored
    if least and not messages:
        explanation = yield from explain(messages, topic, group)
        return (
            f"expected: at least 1 message of {topic} delivered to {group}\n"
            f"seen:     0\n{explanation}"
        )
    for message in messages:
        times = sum(step.group == group for step in message.biography.of(Delivered))
        if not least <= times <= most:
            wrong.append(message)
            seen.append(f"{_shown(message.body)} {counted(times, 'time')}")
        yield
    if not wrong:
        return ""
    often = "once" if least == most else "at most once"
    explanation = yield from explain(wrong, topic, group)
    return (
        f"expected: every message of {topic} delivered to {group} {often}\n"
        f"seen:     {_listed(seen, len(seen))}\n{explanation}"
    )


def require(why_not: str) -> None:
    """Raise AssertionError with a failure's text, unless it is empty."""
    __tracebackhide__ = True  # pytest then shows the caller's line, not one of this file
    if why_not:
        raise AssertionError(why_not)


def consumed(biography: Biography, group: str) -> bool:
    """Return whether a group has received a message and acknowledged its last delivery.

    Commits before the first delivery, such as those past a message that a filter removed or by a
    reset of the offsets, do not count.
    """
    from fakemq.biographies.steps import (
        Acknowledged,
        DeadLettered,
        Delivered,
        Dropped,
        InvisibleTimeChanged,
        PopAcknowledged,
        SentBack,
        SetBack,
    )

    received = dropped = False
    acked = 0  # what makes it come again needs one acknowledgement more
    for step in biography:
        if getattr(step, "group", "") != group:
            continue
        match step:
            case DeadLettered():
                return False
            case Delivered():
                received, dropped = True, False
            case Dropped():
                dropped = True
            case Acknowledged():
                acked += received
            case PopAcknowledged(has_effect=True):
                acked += not dropped  # else the client or its front did so without a listener
            case InvisibleTimeChanged(once_more=True):
                acked -= 1  # it is out for one handle more
            case SentBack() | SetBack():
                acked -= received
    return acked > 0


def _bodies(bodies: Counter[bytes]) -> str:
    return _listed(map(_shown, bodies.elements()), bodies.total())


def _listed(texts: Iterable[str], number: int) -> str:
    more = number - SHOWN_AT_MOST
    return ", ".join(islice(texts, SHOWN_AT_MOST)) + (f" and {more} more" if more > 0 else "")


def _shown(body: bytes) -> str:
    return repr(body if len(body) <= BODY_SHOWN_BYTES else body[: BODY_SHOWN_BYTES - 3] + b"...")


def explanation(
    messages: Sequence[Message], diagnosis: Sequence[str], faults: Sequence[object]
) -> str:
    """Return the end of a failure's text: likely causes, faults, biographies."""
    lines = ["most likely:"] if diagnosis else []
    lines += [f"  {line}" for line in diagnosis]
    lines += [f"pending: {fault!r}" for fault in faults]
    lines += [str(message.biography) for message in messages[:BIOGRAPHIES_AT_MOST]]
    if len(messages) > BIOGRAPHIES_AT_MOST:
        lines.append(f"and {len(messages) - BIOGRAPHIES_AT_MOST} more")
    return "\n".join(lines)
