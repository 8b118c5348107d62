"""One journal: typed, ordered, used by everyone who wants to know what happened."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from inspect import get_annotations
from typing import TypeVar

import msgspec

from fakemq.clock import Clock
from fakemq.events import Event, FilterChanged, HandlerFailed, OffsetCommitted, Warned
from fakemq.offences import Offences
from fakemq.protocol.codes import code_name

EventT = TypeVar("EventT", bound=Event)

_logger = logging.getLogger("fakemq")

CAPACITY = 100_000
"""How many entries are kept; a server that runs for days forgets its oldest."""

TEXT_MAX_CHARS = 500
"""A longer text of a peer (a group, an id) is cut: an entry is kept long after its request."""

_OURS = frozenset({"node", "peer", "how", "why", "traceback"})
_NAMES_NO_TOPIC = frozenset({OffsetCommitted, FilterChanged})
"""Kinds whose topic need not exist; any other's has passed the checks of names."""


class _Texts(dict[type[Event], tuple[str, ...]]):
    """Kind of event → the fields in which a peer may have put what it liked."""

    def __missing__(self, kind: type[Event]) -> tuple[str, ...]:
        ours = _OURS if kind in _NAMES_NO_TOPIC else _OURS | {"topic"}
        written = get_annotations(kind)
        self[kind] = names = tuple(n for n in written if written[n] == "str" and n not in ours)
        return names


_texts = _Texts()


def shortened(text: str) -> str:
    """``text``, or its beginning if it is too long to be kept."""
    if len(text) <= TEXT_MAX_CHARS:
        return text
    return f"{text[: TEXT_MAX_CHARS - 40]}… of {len(text)} characters"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in the order (``seq``, from 1) and the cluster's wall time."""

    seq: int
    at_ms: int
    event: Event


class Journal:
    """All that happened in one cluster, oldest first."""

    def __init__(self, clock: Clock, capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._entries: deque[Entry] = deque(maxlen=capacity)
        self._listeners: list[Callable[[Entry], None]] = []
        self._seq = 0
        self.offences = Offences(clock, self)
        """Where to warn of what peers do."""

    def add(self, event: Event) -> None:
        """Write ``event`` down, and tell whoever listens."""
        for name in _texts[type(event)]:
            if len(getattr(event, name)) > TEXT_MAX_CHARS:
                cut = {name: shortened(getattr(event, name))}
                event = msgspec.structs.replace(event, **cut)
        self._seq += 1
        entry = Entry(self._seq, self._clock.now_ms(), event)
        self._entries.append(entry)
        for listener in self._listeners:
            listener(entry)

    def listen(self, listener: Callable[[Entry], None]) -> Callable[[], None]:
        """Call ``listener`` with every entry from now on; gives the way to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def find(self, kind: type[EventT], /, **fields: object) -> list[EventT]:
        """Events of one kind whose fields have these values, oldest first."""
        return [
            event
            for entry in self._entries
            if isinstance(event := entry.event, kind)
            and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def tail(self, count: int = 20) -> list[Entry]:
        """The last ``count`` entries, oldest first."""
        return list(self._entries)[-count:]

    def clear(self) -> None:
        """Forget everything; sequence numbers start at 1 again."""
        self._entries.clear()
        self._seq = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<journal of {len(self._entries)} entries, last seq {self._seq}>"


def line(entry: Entry) -> str:
    """An entry as one line of text: number, UTC time, kind, node, fields; codes by their names."""
    event = entry.event
    fields = " ".join(
        f"{name}={_text(name, getattr(event, name))}"
        for name in event.__struct_fields__
        if name != "node"
    )
    seconds, ms = divmod(entry.at_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    at = f"{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}.{ms:03}"
    return f"{entry.seq:>6} {at} {type(event).__name__:<16} {event.node:<10} {fields}"


def _text(name: str, value: object) -> str:
    if name == "code" and isinstance(value, int):
        return code_name(value)
    return str(value) if isinstance(value, int) else repr(value)


def log(entry: Entry) -> None:
    """Give the logger ``fakemq`` what a user should read: warnings, and bugs of ours."""
    event = entry.event
    if isinstance(event, Warned):
        _logger.warning("%s: %s", event.node, event.text)
    elif isinstance(event, HandlerFailed):
        _logger.error(
            "%s: a bug in fakemq%s\n%s",
            event.node,
            "" if event.code is None else f" while answering {code_name(event.code)}",
            event.traceback,
        )
