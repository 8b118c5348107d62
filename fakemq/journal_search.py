"""Finding entries in a journal, by what a test knows of them."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeAlias, TypeVar, cast

from fakemq.durations import Instant, instant_ms
from fakemq.event_kinds import fields_of, kind_named
from fakemq.events import Event
from fakemq.journal import Entry, Journal
from fakemq.protocol.codes import RequestCode, ResponseCode

EventT = TypeVar("EventT", bound=Event)

Since: TypeAlias = "Entry | int | Instant | None"
"""An entry or its number, after which to look, or a virtual time from which on."""
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
    """The entries that fit, oldest first; see `fakemq.handles.JournalView.find`."""
    wanted = kind_named(kind) if isinstance(kind, str) else kind
    values = _checked(wanted, fields)
    after_seq, from_ms = _beginning(since)
    # A name gives `Event`, which is all that ``where`` was told then.
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
            near = get_close_matches(name, known, 1)
            hint = f"is {near[0]} meant?" if near else f"there are: {', '.join(sorted(known))}"
            raise ValueError(f"{kind.__name__} has no field {name!r}; {hint}")
    return {name: _value(name, value) for name, value in fields.items()}


def _value(name: str, value: object) -> object:
    codes = _CODES.get(name)
    if codes is None or not isinstance(value, str):
        return value
    try:
        return codes[value]
    except KeyError:
        near = get_close_matches(value, codes.__members__, 1)
        hint = f"; is {near[0]} meant?" if near else ""
        raise ValueError(f"{name}={value!r} is no {codes.__name__}{hint}") from None


def _beginning(since: Since) -> tuple[int, int]:
    """The number after which to look, and the time from which on."""
    if since is None:
        return 0, 0
    if isinstance(since, Entry):
        return since.seq, 0
    if isinstance(since, int):
        return since, 0
    return 0, instant_ms(since, name="since")
