"""The assertions about messages, and the text of a failed assertion.

The text says what was expected and seen, the most likely cause, the placed faults, and the
biographies of the messages concerned. pytest's traceback ends at the assertion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from fakemq.config.checked import whole
from fakemq.core.inspection import payloads
from fakemq.errors import counted
from fakemq.protocol.topics import dlq_topic

if TYPE_CHECKING:
    from fakemq.biographies.biography import Biography
    from fakemq.handles.values import Message

BIOGRAPHIES_AT_MOST = 5
SHOWN_AT_MOST = 20
"""The most messages that a failure names, so that it stays readable."""
BODY_SHOWN_BYTES = 40

Explain = Callable[[Sequence["Message"], str | None, str | None], str]
"""Return the rest of a failure's text, for these messages, a topic and a group."""


class HasMessages(Protocol):
    """A cluster of this process or another one, whose stored messages can be read."""

    def messages(self, topic: str) -> list[Message]: ...


def assert_sent(
    cluster: HasMessages,
    topic: str,
    count: int | None,
    bodies: Iterable[bytes | str] | None,
    keys: str | None,
    tags: str | None,
    explain: Explain,
) -> None:
    """Assert that a topic's messages with these keys and tags have this count or these bodies."""
    __tracebackhide__ = True  # pytest then shows the caller's line, not one of this file
    stored = cluster.messages(topic)
    fitting = [
        message
        for message in stored
        if tags in (None, message.tags) and (keys is None or keys in message.keys.split())
    ]
    which = "".join(
        f" with {name} {value!r}"
        for name, value in (("keys", keys), ("tags", tags))
        if value is not None
    )
    _compare(f"in {topic}{which}", fitting, count, bodies, lambda: explain(stored, topic, None))


def assert_in_dlq(
    cluster: HasMessages,
    group: str,
    count: int | None,
    bodies: Iterable[bytes | str] | None,
    explain: Explain,
) -> None:
    """Assert that the dead letters of a group have this count, or these bodies."""
    __tracebackhide__ = True
    topic = dlq_topic(group)
    dead = cluster.messages(topic)
    _compare(f"in {topic}", dead, count, bodies, lambda: explain(dead, None, group))


def assert_consumed(
    cluster: HasMessages,
    topic: str,
    group: str,
    count: int | None,
    bodies: Iterable[bytes | str] | None,
    explain: Explain,
) -> None:
    """Assert that a group has acknowledged all messages of a topic, this count, or these bodies."""
    __tracebackhide__ = True
    stored = cluster.messages(topic)
    done: list[Message] = []
    left: list[Message] = []
    for message in stored:
        (done if consumed(message.biography, group) else left).append(message)
    if count is None and bodies is None and stored:
        count = len(stored)
    what = f"of {topic} consumed by {group}"
    _compare(what, done, count, bodies, lambda: explain(left or done, topic, group))


def assert_deliveries(
    cluster: HasMessages, topic: str, group: str, least: int, most: int, explain: Explain
) -> None:
    """Assert that every message of a topic was delivered to a group ``least`` to ``most`` times.

    Deliveries of its retries count, too.
    """
    from fakemq.biographies.steps import Delivered

    __tracebackhide__ = True
    wrong, seen = [], []
    for message in cluster.messages(topic):
        times = sum(step.group == group for step in message.biography.of(Delivered))
        if not least <= times <= most:
            wrong.append(message)
            seen.append(f"{_shown(message.body)} {counted(times, 'time')}")
    if wrong:
        often = "once" if least == most else "at most once"
        raise AssertionError(
            f"expected: every message of {topic} delivered to {group} {often}\n"
            f"seen:     {_listed(seen, len(seen))}\n{explain(wrong, topic, group)}"
        )


def consumed(biography: Biography, group: str) -> bool:
    """Return whether a group has received a message and acknowledged its last delivery.

    Commits before the first delivery, such as those past a message that a filter removed or by a
    reset of the offsets, do not count.
    """
    from fakemq.biographies.steps import (
        Acknowledged,
        DeadLettered,
        Delivered,
        PopAcknowledged,
        SentBack,
        SetBack,
    )

    received = False
    acked = 0  # each SentBack and SetBack needs one acknowledgement more
    for step in biography:
        if getattr(step, "group", "") != group:
            continue
        match step:
            case DeadLettered():
                return False
            case Delivered():
                received = True
            case Acknowledged():
                acked += received
            case PopAcknowledged(too_late=False):
                acked += 1
            case SentBack() | SetBack():
                acked -= received
    return acked > 0


def _compare(
    what: str,
    seen: Sequence[Message],
    count: int | None,
    bodies: Iterable[bytes | str] | None,
    explain: Callable[[], str],
) -> None:
    __tracebackhide__ = True
    if count is not None:
        whole("count", count, 0)
    there = Counter(message.body for message in seen)
    if bodies is not None:
        wanted = Counter(payloads(bodies))
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
        expected = f"{'at least 1 message' if count is None else counted(count, 'message')} {what}"
    if not fits:
        raise AssertionError(
            f"expected: {expected}\n"
            f"seen:     {len(seen)}{f': {_bodies(there)}' if seen else ''}\n{explain()}"
        )


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
