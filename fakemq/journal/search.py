"""Search in a journal, by kind, fields, time or a predicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

from fakemq.clock.durations import Instant, instant_ms
from fakemq.errors import ConfigError, did_you_mean
from fakemq.events.core import Event
from fakemq.events.kinds import fields_of, kind_named, types_of
from fakemq.journal.entries import Entry
from fakemq.journal.journal import Journal
from fakemq.protocol.codes import RequestCode, ResponseCode

EventT = TypeVar("EventT", bound=Event)

Since: TypeAlias = "Entry | int | Instant | None"
"""Where a search begins: after an entry or its number, or at a time of the cluster."""
Where: TypeAlias = Callable[[EventT], object]

_CODES: dict[str, type[RequestCode] | type[ResponseCode]] = {
    "code": RequestCode,
    "response_code": ResponseCode,
}


def search(
    journal: Journal,
    kind: type[EventT] | str,
    since: Since,
    where: Where[EventT] | None,
    fields: dict[str, object],
) -> list[Entry]:
    """Return the matching entries, oldest first; see `fakemq.handles.journal.JournalView.find`."""
    wanted = kind_named(kind) if isinstance(kind, str) else _kind(kind)
    values = _checked(wanted, fields)
    after_seq, from_ms = _beginning(since)
    # The type checker knows the kind only as `Event` if it came as a name.
    asked = cast("Where[Event] | None", where)
    return [
        entry
        for entry in journal.after(after_seq)
        if isinstance(entry.event, wanted)
        and entry.at_ms >= from_ms
        and all(getattr(entry.event, name, _NOTHING) == value for name, value in values.items())
        and (asked is None or asked(entry.event))
    ]


_NOTHING = object()


def _checked(kind: type[Event], fields: dict[str, object]) -> dict[str, object]:
    known = fields_of(kind)
    for name in fields:
        if name not in known:
            hint = did_you_mean(name, sorted(known))
            raise ValueError(f"{kind.__name__} has no field {name!r}{hint}")
    values = {name: _value(name, value) for name, value in fields.items()}
    for name, value in values.items():
        types = types_of(kind, name)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            texts = sorted("None" if one is type(None) else one.__name__ for one in types)
            raise ConfigError(f"{name}={value!r}: expected {' or '.join(texts)}, as events have it")
    return values


def _kind(kind: object) -> type[Event]:
    if not (isinstance(kind, type) and issubclass(kind, Event)):
        raise ConfigError(f"{kind!r}: expected a class of fakemq.events.core, or its name")
    return kind


def _value(name: str, value: object) -> object:
    codes = _CODES.get(name)
    if codes is None or not isinstance(value, str):
        return value
    try:
        return codes[value]
    except KeyError:
        hint = did_you_mean(value, codes.__members__)
        raise ValueError(f"{name}={value!r} is no {codes.__name__}{hint}") from None


def _beginning(since: Since) -> tuple[int, int]:
    """Return the number after which to search, and the time at which to begin."""
    if since is None:
        return 0, 0
    if isinstance(since, Entry):
        return since.seq, 0
    if isinstance(since, int):
        return since, 0
    return 0, instant_ms(since, name="since")


def entry_of(journal: Journal, entry: Entry | int) -> Entry:
    """Return an entry, given itself or its number; raise LookupError if there is none."""
    if isinstance(entry, Entry):
        return entry
    if isinstance(entry, bool) or not isinstance(entry, int):
        raise ConfigError(f"{entry!r}: expected an entry of the journal, or its number")
    found = journal.at(entry)
    if found is None:
        raise LookupError(
            f"no entry {entry}; the journal has {journal.first_seq} to {journal.last_seq}"
        )
    return found
