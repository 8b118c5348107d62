"""The endpoints of the journal: search its entries, wait for new ones, and follow them live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import Query, endpoint
from fakemq.control.results import Duration, Refusal, Stream
from fakemq.control.topics import Limit, Offset
from fakemq.events.core import Event
from fakemq.events.kinds import fields_of, kind_named
from fakemq.journal import json_text
from fakemq.journal.cursor import Cursor
from fakemq.journal.entries import Entry
from fakemq.journal.journal import Journal
from fakemq.journal.wakes import OTHERS, Key
from fakemq.protocol.codes import code_name, response_name


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the journal."""

    seq: int
    """Its number, counted from 1; a reset starts again at 1."""
    at_ms: int
    """The cluster's wall time, in milliseconds since the epoch."""
    cause: int
    """The number of the entry that caused it; 0 if none is known."""
    kind: str
    node: str
    fields: dict[str, object]
    """The fields of its kind, as in the file of ``--journal``."""
    names: dict[str, str]
    """The names of the codes among the fields, by field."""
    event: dict[str, object]
    """``fields`` and ``node`` in one, as they were called before; for one release."""


class Happenings(msgspec.Struct, frozen=True, kw_only=True):
    entries: list[Happening]
    next_since: int
    """The value of ``since`` for the next request, which returns the entries after these."""
    epoch: int
    """It grows with each reset of the journal; the value of ``epoch`` for the next request."""


class EventSearch(Query):
    kind: str | None = None
    """Only events of this kind, such as ``Delivered``."""
    where: list[str] = msgspec.field(default_factory=list)
    """Only events with this value in a field, as in ``where=topic=orders``; codes by name, too."""
    since: Offset = 0
    """Only entries after this number; a number beyond the end, as after a reset, means all."""
    epoch: Offset | None = None
    """The epoch of the answer that ``since`` is from; after a reset, ``since`` then means 0."""
    limit: Limit = 1000
    """The largest number of entries to return, oldest first."""
    timeout: Duration = 0
    """How long to wait in real time if there is no such entry yet."""


class Wanted:
    """A search for events of one kind, or of all kinds, with given values in their fields.

    Values are compared as texts. ValueError for an unknown kind, Refusal for an unknown field.
    """

    def __init__(self, kind: str | None, fields: dict[str, str]) -> None:
        named = Event if kind is None else kind_named(kind)
        self._kind: type[Event] = named
        self._fields = fields
        known = fields_of(named)
        for name in fields:
            if name not in known:
                there = ", ".join(sorted(known))
                raise Refusal(400, f"{named.__name__} has no {name}; it has: {there}")

    @property
    def key(self) -> Key:
        """What the events that are searched for have in common."""
        for name in ("topic", "group"):
            if name in self._fields and name in fields_of(self._kind):
                return name, self._fields[name]
        return self._kind

    def after(self, journal: Journal, seq: int) -> list[Entry]:
        """Return the matching entries after number ``seq``."""
        return [
            entry
            for entry in journal.after(seq)
            if isinstance(entry.event, self._kind)
            and all(_says(entry.event, name, text) for name, text in self._fields.items())
        ]

    def newest(self, journal: Journal, seq: int, most: int) -> tuple[list[Entry], int]:
        """Return the last ``most`` of the entries as `after` has them, and how many it has.

        Without a filter the others are not looked at, however many they are.
        """
        if self._kind is not Event or self._fields:
            found = self.after(journal, seq)
            return found[-most:], len(found)
        count = journal.last_seq - max(journal.first_seq - 1, seq)
        return journal.tail(min(most, count)) if count else [], count


def _says(event: Event, name: str, text: str) -> bool:
    value = getattr(event, name, None)
    return text_of(value) == text or (
        name == "code" and isinstance(value, int) and code_name(value) == text
    )


def text_of(value: object) -> str:
    """Return a value as JSON writes it, without quotes: ``null``, ``true``, ``orders``."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


@endpoint("GET", "/v1/journal", waits=True)
async def get_journal(control: Control, query: EventSearch) -> Happenings:
    """Return the journal's entries, oldest first; with a timeout, wait for the next ones."""
    wanted = Wanted(query.kind, where_fields(query.where))
    journal = control.core.journal
    read = Cursor(journal, query.since, query.epoch)

    def look() -> list[Entry]:
        found = wanted.after(journal, read.seq)[: query.limit]
        # A full page may have more behind it; otherwise everything up to the end was examined.
        read.seq = found[-1].seq if found and len(found) == query.limit else journal.last_seq
        return found

    found = await control.wait_until(look, query.timeout, (OTHERS, wanted.key))
    return Happenings(entries=[*map(shown, found)], next_since=read.seq, epoch=read.epoch)


def where_fields(where: list[str]) -> dict[str, str]:
    """Return the fields and values of ``FIELD=VALUE``; Refusal for another form."""
    pairs = [pair.partition("=") for pair in where]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise Refusal(400, f"where={name}: expected FIELD=VALUE, such as where=topic=orders")
    return {name: value for name, _, value in pairs}


def shown(entry: Entry) -> Happening:
    """Return an entry as it is sent."""
    event = msgspec.to_builtins(entry.event, enc_hook=list)
    kind = event.pop("type")
    fields = {name: value for name, value in event.items() if name != "node"}
    code, response_code = fields.get("code"), fields.get("response_code")
    names = {} if code is None else {"code": code_name(code)}
    if response_code is not None:
        names["response_code"] = response_name(response_code, code)
    return Happening(
        seq=entry.seq,
        at_ms=entry.at_ms,
        cause=entry.cause,
        kind=kind,
        node=entry.event.node,
        fields=fields,
        names=names,
        event=event,
    )


# The endpoint of the live journal: new entries as server-sent events, in batches.
#
# However many events a second happen, a reader gets at most `BATCH_MOST` of them in each `EVERY_S`,
# the newest ones, and the number of the others. So it costs the cluster and its reader a fixed
# share.

BATCH_MOST = 100
EVERY_S = 0.25
"""Real seconds between two batches."""
ALIVE_S = 5.0
"""After this time without an event a comment is sent, by which a reader sees that it is alive."""
READERS_MOST = 32


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The data of one event; its ``id`` is ``next_since``."""

    entries: list[Happening]
    skipped: int
    """How many entries before these fit, too, but are not sent."""
    next_since: int
    epoch: int
    """It grows with each reset of the journal, whose numbers then begin at 1 again."""


class Follow(Query):
    kind: str | None = None
    """Only events of this kind, such as ``Delivered``."""
    where: list[str] = msgspec.field(default_factory=list)
    """Only events with this value in a field, as in ``where=topic=orders``."""
    since: Offset | None = None
    """Begin after this number; without it, with the newest 100 entries."""
    epoch: Offset | None = None
    """The epoch of the batch that ``since`` is from; after a reset, ``since`` then means 0."""


@endpoint("GET", "/v1/journal/stream")
def stream_journal(control: Control, query: Follow) -> Stream:
    """Follow the journal by server-sent events: the newest 100 entries each quarter of a second.

    The first batch comes at once, also if it is empty: it says where the stream begins.
    """
    wanted = Wanted(query.kind, where_fields(query.where))
    journal = control.core.journal
    since = max(0, journal.last_seq - BATCH_MOST) if query.since is None else query.since
    read = Cursor(journal, since, query.epoch)
    # The place is taken at once: many requests may be looked at before the first stream begins.
    if control.readers >= READERS_MOST:
        raise Refusal(429, f"{READERS_MOST} readers follow the journal; expected fewer")
    control.readers += 1

    def leave() -> None:
        control.readers -= 1

    return Stream(_batches(control, wanted, read), leave)


async def _batches(control: Control, wanted: Wanted, read: Cursor) -> AsyncIterator[bytes]:
    journal = control.core.journal
    begun = False

    def look() -> tuple[list[Entry], int] | None:
        found = wanted.newest(journal, read.seq, BATCH_MOST)
        read.seq = journal.last_seq
        return found if found[1] or not begun else None

    while not control.closing:
        found = await control.wait_until(look, ALIVE_S, (OTHERS, wanted.key))
        if found is None:
            yield b": alive\n\n"
            continue
        entries, count = found
        batch = Batch(
            entries=[*map(shown, entries)],
            skipped=count - len(entries),
            next_since=read.seq,
            epoch=read.epoch,
        )
        begun = True
        yield b"id: %d\ndata: %s\n\n" % (batch.next_since, json_text.encoded(batch))
        await asyncio.sleep(EVERY_S)
