"""The endpoint of the live journal: new entries as server-sent events, in batches.

However many events a second happen, a reader gets at most `BATCH_MOST` of them in each `EVERY_S`,
the newest ones, and the number of the others. So it costs the cluster and its reader a fixed share.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import Query, endpoint
from fakemq.control.journal import Happening, Wanted, shown, where_fields
from fakemq.control.results import Refusal, Stream
from fakemq.control.topics import Offset
from fakemq.journal import json_text
from fakemq.journal.cursor import Cursor
from fakemq.journal.entries import Entry
from fakemq.journal.wakes import OTHERS

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
