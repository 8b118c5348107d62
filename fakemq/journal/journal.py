"""The journal of a cluster: what happened, in order, as typed events with their causes."""

# Over 400 lines: entries are added in three ways that must agree, and read by short methods.

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from inspect import get_annotations
from itertools import count, islice, repeat
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from fakemq.clock.clock import Clock
from fakemq.errors import printable, printable_lines
from fakemq.events.core import (
    Dispatched,
    Event,
    HandlerFailed,
    LogAppended,
    MessageChecked,
    StoreRepaired,
    Warned,
    failure,
)
from fakemq.journal.entries import Entry, TimerFired
from fakemq.journal.noted import (
    Noted,
    event_of,
    events_in,
    is_noted,
    kind_of,
    unfolded,
    unfolded_at,
)
from fakemq.journal.warnings import PeerWarnings
from fakemq.protocol.codes import code_name, response_name

EventT = TypeVar("EventT", bound=Event)

_logger: Final = logging.getLogger("fakemq")

CAPACITY: Final = 100_000
"""How many entries are kept; the oldest are deleted."""

TEXT_MAX_CHARS: Final = 500
"""A longer text of a peer (a group, an id) is cut: an entry is kept long after its request."""

_OURS: Final = frozenset({"node", "peer", "how", "why", "traceback"})
"""Fields whose texts fakemq makes: they are kept as they are."""
_OF_STORED: Final = frozenset({MessageChecked, LogAppended, Dispatched})
"""Kinds whose topic is never long: no record has one of over 127 bytes."""


def _texts_of(kind: type[Event]) -> tuple[str, ...]:
    """Return the fields whose texts may come from a peer."""
    ours = _OURS | {"topic"} if kind in _OF_STORED else _OURS
    written = get_annotations(kind)
    return tuple(name for name in written if "str" in written[name] and name not in ours)


def shortened(text: str) -> str:
    """Return ``text``; if it is too long to be kept, its beginning."""
    if len(text) <= TEXT_MAX_CHARS:
        return text
    return f"{text[: TEXT_MAX_CHARS - 40]}… of {len(text)} characters"


def _kept(value: object) -> object:
    """Return a field's value with its texts shortened."""
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, tuple):
        return tuple(map(_kept, value))
    return value


class Fired:
    """A timer whose callback runs: a cause that becomes an entry with its first effect."""

    __slots__ = ("cause", "kind", "node", "seq")

    def __init__(self, node: str, kind: str, cause: Cause) -> None:
        self.node = node
        self.kind = kind
        self.cause = cause
        self.seq = 0


Cause: TypeAlias = "int | Fired"
"""A cause: the ``seq`` of an entry, or a timer that becomes an entry when an effect is written."""

Listener: TypeAlias = Callable[[Entry], None]

_Row: TypeAlias = "tuple[Any, ...]"
"""The number, the time and the cause of an entry, and its event; then the events that this one, the
arrival of a request, has caused at once: they have the numbers that follow, and the same time. A
`STORED` has as many numbers as it stands for events."""
_number_of: Final = itemgetter(0)
_EVENTS: Final = 3


class _Because:
    """A block of `Journal.because`. A generator as a context takes three times as long."""

    __slots__ = ("_before", "_cause", "_journal")

    def __init__(self, journal: Journal, cause: Cause) -> None:
        self._journal = journal
        self._cause = self._before = cause

    def __enter__(self) -> None:
        self._before, self._journal.cause = self._journal.cause, self._cause

    def __exit__(self, *_: object) -> None:
        self._journal.cause = self._before


class Journal:
    """The entries of one cluster, oldest first.

    `Entry` objects are made when they are read: most events are written and never read.
    """

    def __init__(self, clock: Clock, capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        # Oldest first; the first of them may have entries that are not kept any more.
        self._rows: deque[_Row] = deque()
        # The number of the newest entry in the rows, and that at which rows are deleted again.
        self._seq = 0
        self._trim_at = capacity
        # The row of the request that is being handled, which is not one of the rows yet; None if
        # there is none. Then the number of its first entry, the cause of the others, and how many
        # entries it has beside one for each event.
        self._noted: list[Any] | None = None
        self._noted_seq = self._noted_more = 0
        # Whether no listener wants a kind that is noted.
        self._quiet = True
        self.epoch = 0
        """How often the journal was cleared; each time, numbers begin at 1 again."""
        self.test = ""
        """The name of the test for which this epoch began; "" if it is unknown."""
        self.cause: Cause = 0
        """The cause of the events that are added now; see `because`."""
        # Each with the kinds of events it wants; () means all.
        self._listeners: list[tuple[Listener, tuple[type[Event], ...]]] = []
        # By kind of event: the fields with texts of peers, and the listeners.
        self._kinds: dict[type[Event], tuple[tuple[str, ...], tuple[Listener, ...]]] = {}
        self.peer_warnings = PeerWarnings(clock, self.add)
        """Where to warn about peers, with a limit on how often."""

    def add(self, event: Event) -> int:
        """Add an event, call its listeners, and return its ``seq``."""
        texts, listeners = self._kinds.get(type(event)) or self._find_kind(type(event))
        for name in texts:
            value = getattr(event, name)
            if type(value) is not str or len(value) > TEXT_MAX_CHARS:
                event = msgspec.structs.replace(event, **{name: _kept(value)})
        seq = self._append(event)
        if listeners:
            _, at_ms, cause, _ = self._rows[-1]
            entry = Entry(seq, at_ms, event, cause)
            for listener in listeners:
                listener(entry)
        return seq

    def _append(self, event: Event | Noted, entries: int = 1) -> int:
        if self._noted is not None:
            self._write_noted()
        cause = self.cause
        if type(cause) is not int:
            cause = self._seq_of(cause)
        at_ms = self._clock.moment_ms  # the first half of `now_ms`, repeated: saves a call
        if at_ms is None:
            at_ms = self._clock.now_ms()
        seq = self._seq + 1
        self._seq += entries
        self._rows.append((seq, at_ms, cause, event))
        if self._seq >= self._trim_at:
            self._trim()
        return seq

    def begin(self, arrival: Noted) -> None:
        """Add the arrival of a request, and make it the cause of what follows until `end`.

        What is noted until then becomes entries in one step: at `end`, or before anything else is
        added or read.
        """
        cause, at_ms = self.cause, self._clock.moment_ms
        if not self._quiet:
            self.cause = self.add(event_of(arrival))
        elif at_ms is None:  # time may move on meanwhile
            self.cause = self._append(arrival)
        else:
            if self._noted is not None:
                self._write_noted()
            if type(cause) is not int:
                cause = self._seq_of(cause)
            self.cause = self._noted_seq = seq = self._seq + 1
            self._noted = [seq, at_ms, cause, arrival]

    def end(self, before: Cause) -> None:
        """End what `begin` began; ``before`` is the cause that was in force."""
        if self._noted is not None:
            self._write_noted()
        self.cause = before

    def note(self, event: Noted) -> None:
        """Add an event of a kind that each message has, for less.

        Texts of peers are `shortened` by the caller.
        """
        if self._noted is not None and self.cause == self._noted_seq:
            self._noted.append(event)
        elif self._quiet:
            self._append(event)
        else:
            self.add(event_of(event))

    def note_stored(self, stored: Noted, entries: int) -> None:
        """Add a `STORED` event: as `note` does each of the ``entries`` that it stands for."""
        if self._noted is not None and self.cause == self._noted_seq:
            self._noted.append(stored)
            self._noted_more += entries - 1
        elif self._quiet:
            self._append(stored, entries)
        else:
            for event in unfolded([stored]):
                self.add(event_of(event))

    def note_all(self, events: Sequence[Noted]) -> None:
        """Add events, all in one moment; as `note` does each."""
        if self._noted is not None and self.cause == self._noted_seq:
            self._noted.extend(events)
        elif not self._quiet:
            for event in events:
                self.add(event_of(event))
        elif events:
            seq = self._append(events[0])
            _, at_ms, cause, _ = self._rows[-1]
            self._rows.extend(zip(count(seq + 1), repeat(at_ms), repeat(cause), events[1:]))
            self._seq = seq + len(events) - 1
            if self._seq >= self._trim_at:
                self._trim()

    def _write_noted(self) -> None:
        """Make the row of the present request one of the rows."""
        noted, self._noted = self._noted, None
        if noted is not None:
            self._rows.append(tuple(noted))
            self._seq = seq = self._seq + len(noted) - _EVENTS + self._noted_more
            self._noted_more = 0
            if seq >= self._trim_at:
                self._trim()

    def _trim(self) -> None:
        """Delete the rows of which no entry is kept."""
        rows, first_seq = self._rows, self._seq - self._capacity + 1
        while len(rows) > 1 and rows[1][0] <= first_seq:
            rows.popleft()
        self._trim_at = self._seq + self._capacity // 100 + 1

    def because(self, cause: Cause) -> AbstractContextManager[None]:
        """Make ``cause`` the cause of all that is added within the block."""
        return _Because(self, cause)

    def continue_because(self, cause: Cause) -> None:
        """Make ``cause`` the cause of what follows in the innermost `because` block."""
        self.cause = cause

    def resume(self) -> Callable[[], AbstractContextManager[None]]:
        """Return a function that restores the present cause later, for a block."""
        cause, epoch = self.cause, self.epoch
        return lambda: self.because(cause if self.epoch == epoch else 0)

    def fire(self, node: str, kind: str, callback: Callable[[], None]) -> None:
        """Call a timer's callback; a `TimerFired` is the cause of what it adds.

        An exception is added as a bug of fakemq, and time continues.
        """
        before, self.cause = self.cause, Fired(node, kind, self.cause)
        try:
            callback()
        except Exception as error:
            self.add(failure(node, None, error))
        finally:
            self.cause = before

    def _seq_of(self, cause: Fired | int) -> int:
        """Return the ``seq`` of a cause; a timer that is not yet an entry is added."""
        if not isinstance(cause, Fired):
            return cause
        if not cause.seq:
            before, self.cause = self.cause, cause.cause
            cause.seq = self.add(TimerFired(node=cause.node, kind=cause.kind))
            self.cause = before
        return cause.seq

    def _find_kind(self, kind: type[Event]) -> tuple[tuple[str, ...], tuple[Listener, ...]]:
        listeners = tuple(
            listener for listener, kinds in self._listeners if not kinds or kind in kinds
        )
        found = self._kinds[kind] = (_texts_of(kind), listeners)
        return found

    def listen(self, listener: Listener, *kinds: type[Event]) -> Callable[[], None]:
        """Call ``listener`` with every entry from now on, or with those of ``kinds`` only.

        Return a function that ends it.
        """
        listening = (listener, kinds)
        self._listeners.append(listening)
        self._listeners_changed()

        def unlisten() -> None:
            self._listeners.remove(listening)
            self._listeners_changed()

        return unlisten

    def _listeners_changed(self) -> None:
        self._write_noted()
        self._kinds.clear()
        self._quiet = all(kinds and not any(map(is_noted, kinds)) for _, kinds in self._listeners)

    def find(self, kind: type[EventT], /, **fields: object) -> list[EventT]:
        """Return events of one kind whose fields have these values, oldest first.

        `fakemq.journal.search` takes more criteria.
        """
        kept = [event for _, _, event, _ in self._kept_from(0) if issubclass(kind_of(event), kind)]
        return [
            event
            for event in map(event_of, kept)
            if isinstance(event, kind)
            and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def at(self, seq: int) -> Entry | None:
        """Return the entry with this number; None if it does not exist any more, or yet."""
        if not self.first_seq <= seq <= self.last_seq:
            return None
        row = self._rows[bisect_right(self._rows, seq, key=_number_of) - 1]
        first, at_ms, cause = row[:_EVENTS]
        event = event_of(unfolded_at(row[_EVENTS:], seq - first))
        return Entry(seq, at_ms, event, cause if seq == first else _cause_behind(row))

    def after(self, seq: int, most: int | None = None) -> list[Entry]:
        """Return the kept entries with a greater number, oldest first; at most ``most``."""
        return list(islice(self._entries(seq + 1), most))

    def cause_chain(self, entry: Entry) -> list[Entry]:
        """Return the cause of an entry, the cause of that, and so on, as far as they are kept."""
        chain = []
        # A cause is older than its effect. Work that `clear` has interrupted continues with a cause
        # of before, whose number a later entry may have.
        while entry.cause < entry.seq and (cause := self.at(entry.cause)) is not None:
            chain.append(cause)
            entry = cause
        return chain

    @property
    def first_seq(self) -> int:
        """The number of the oldest entry that is kept; above 1 if older ones were deleted."""
        return self.last_seq - len(self) + 1

    @property
    def last_seq(self) -> int:
        """The number of the newest entry; 0 if there is none."""
        self._write_noted()
        return self._seq

    def tail(self, number: int = 20) -> list[Entry]:
        """Return the last ``number`` entries, oldest first."""
        return list(self._entries(self.last_seq - number + 1))

    def clear(self, test: str = "") -> None:
        """Delete all entries, for a test of this name; numbers start at 1 again."""
        self._noted = None
        self._noted_more = 0
        self._rows.clear()
        self._seq = self.cause = 0
        self._trim_at = self._capacity
        self.epoch += 1
        self.test = test

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries(0)))

    def _entries(self, seq: int) -> Iterator[Entry]:
        """Iterate over the kept entries from number ``seq`` on. Add nothing meanwhile."""
        for number, at_ms, event, cause in self._kept_from(seq):
            yield Entry(number, at_ms, event_of(event), cause)

    def _kept_from(self, seq: int) -> Iterator[tuple[int, int, Event | Noted, int]]:
        """Iterate over numbers, times, events and causes, as `_entries`."""
        seq = max(seq, self.first_seq)
        begin = max(bisect_right(self._rows, seq, key=_number_of) - 1, 0)
        for row in islice(self._rows, begin, None):
            first, at_ms, cause, *events = row
            behind = _cause_behind(row)
            for number, event in enumerate(unfolded(events), first):
                if number >= seq:
                    yield number, at_ms, event, cause if number == first else behind

    def __len__(self) -> int:
        return min(self.last_seq, self._capacity)

    def __repr__(self) -> str:
        return f"<journal of {len(self)} entries, last seq {self.last_seq}>"


def _cause_behind(row: _Row) -> int:
    """Return the cause of all events of a row but the first.

    That is the first, the arrival of a request; but where one put is the row, it is that of all.
    """
    cause: int = row[0] if events_in(row[_EVENTS]) == 1 else row[_EVENTS - 1]
    return cause


def line(entry: Entry) -> str:
    """Return an entry as one line of text: number, UTC time, kind, node, fields; codes as names."""
    event = entry.event
    fields = " ".join(
        f"{name}={_text(name, getattr(event, name), getattr(event, 'code', None))}"
        for name in event.__struct_fields__
        if name != "node"
    )
    at = clock_text(entry.at_ms)
    return f"{entry.seq:>6} {at} {type(event).__name__:<16} {event.node:<10} {fields}"


def clock_text(at_ms: int) -> str:
    """Return the UTC time of day, with milliseconds."""
    seconds, ms = divmod(at_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}.{ms:03}"


def _text(name: str, value: object, request: int | None) -> str:
    if name == "code" and isinstance(value, int):
        return code_name(value)
    if name == "response_code" and isinstance(value, int):
        return response_name(value, request)
    return str(value) if isinstance(value, int) else repr(value)


def log(entry: Entry) -> None:
    """Log an entry for the user, by the logger ``fakemq``: a warning, or a bug of fakemq.

    Both may quote a peer and have no control characters; a warning is one line.
    """
    event = entry.event
    if isinstance(event, Warned):
        _logger.warning("%s: %s", event.node, printable(event.text))
    elif isinstance(event, StoreRepaired):
        _logger.warning(
            "%s: repaired %s at %d, %d bytes cut: %s",
            *(event.node, event.file, event.offset, event.cut_bytes, printable(event.why)),
        )
    elif isinstance(event, HandlerFailed):
        _logger.error(
            "%s: a bug in fakemq%s\n%s",
            event.node,
            "" if event.code is None else f" while answering {code_name(event.code)}",
            printable_lines(event.traceback),
        )
