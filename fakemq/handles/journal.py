"""The journal as tests read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar, cast, overload

from fakemq.handles.running import Handle
from fakemq.handles.values import Listing
from fakemq.journal.entries import Entry

if TYPE_CHECKING:
    from fakemq.events.core import Event
    from fakemq.journal.search import Since, Where

    EventT = TypeVar("EventT", bound=Event)


class JournalView(Handle):
    """The journal: all events of the cluster, oldest first."""

    @overload
    def find(
        self,
        kind: type[EventT],
        /,
        *,
        since: Since = None,
        where: Where[EventT] | None = None,
        **fields: object,
    ) -> list[EventT]: ...

    @overload
    def find(
        self,
        kind: str,
        /,
        *,
        since: Since = None,
        where: Where[Event] | None = None,
        **fields: object,
    ) -> list[Event]: ...

    def find(
        self,
        kind: type[EventT] | str,
        /,
        *,
        since: Since = None,
        where: Where[EventT] | None = None,
        **fields: object,
    ) -> list[EventT] | list[Event]:
        """Return the events of one kind whose fields have the given values, oldest first.

        ``kind`` is a class of `fakemq.events` or its name. ``fields`` are compared for equality:
        ``node`` is a field of every kind, and a ``code`` may be given by its name. ``since`` is an
        entry, its number or a time: only newer entries are searched, or those from that time on.
        ``where`` is called with each remaining event and returns whether to keep it.

        Raise ValueError for an unknown kind or field; the text names similar ones.
        """
        found = self.entries(kind, since=since, where=where, **fields)
        return cast("list[EventT]", Listing(entry.event for entry in found))

    def entries(
        self,
        kind: type[EventT] | str = "Event",
        /,
        *,
        since: Since = None,
        where: Where[EventT] | None = None,
        **fields: object,
    ) -> list[Entry]:
        """Return entries, with number, virtual time and cause; arguments are those of `find`."""
        from fakemq.journal.search import search  # many tests do not search

        journal = self._core.journal
        return Listing(self._call(lambda: search(journal, kind, since, where, fields)))

    def cause_chain(self, entry: Entry | int) -> list[Entry]:
        """Return the cause of an entry, the cause of that cause, and so on, as far as known.

        The entry may be given by its number. Raise LookupError if the journal has no such entry.
        """
        from fakemq.journal.search import entry_of  # many tests do not search

        journal = self._core.journal
        return Listing(self._call(lambda: journal.cause_chain(entry_of(journal, entry))))

    def tail(self, count: int = 20) -> list[Entry]:
        """Return the last ``count`` entries, oldest first."""
        return Listing(self._call(lambda: self._core.journal.tail(count)))

    def __iter__(self) -> Iterator[Entry]:
        return self._call(lambda: iter(self._core.journal))

    def __len__(self) -> int:
        return self._call(lambda: len(self._core.journal))

    def __repr__(self) -> str:
        return self._call(lambda: repr(self._core.journal))
