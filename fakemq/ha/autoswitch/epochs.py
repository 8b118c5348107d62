"""The epochs of a log: which master's records begin where.

Source: store/ha/autoswitch/EpochFileCache.java (5.5.0)
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from fakemq.ha.autoswitch.epoch_file import read, write
from fakemq.protocol.java import LONG_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fakemq.files.texts import TextFile

_epoch_of = attrgetter("epoch")


class EpochEntry(NamedTuple):
    """The records of one master: from ``start_offset`` to before ``end_offset`` of the log.

    The last one has no end yet: `LONG_MAX`. Source: remoting/protocol/EpochEntry.java (5.5.0)
    """

    epoch: int
    start_offset: int
    end_offset: int = LONG_MAX


class EpochCache:
    """The epochs of one log, ascending; each change is written to the ``file``, if there is one.

    Like Java's, an entry keeps its end when those behind it are cut off: its end is right again
    with the next entry.
    """

    def __init__(self, file: TextFile | None = None) -> None:
        self._file = file
        self.on_failed: Callable[[OSError], None] = _nothing
        """Called with the error if the disk refuses a change, which counts nevertheless."""
        self._entries: list[EpochEntry] = []
        if file is not None:
            self._begin(read(file))

    @classmethod
    def of(cls, starts: Iterable[tuple[int, int]]) -> EpochCache:
        """Return a cache without a file, made of pairs of epoch and start offset."""
        cache = cls()
        cache._begin(starts)
        return cache

    def _begin(self, starts: Iterable[tuple[int, int]]) -> None:
        """Take entries over; each ends where the one behind it in ``starts`` begins.

        A file without a checksum may have them in any order, and an epoch twice: the last counts.
        """
        given = [EpochEntry(*start) for start in starts]
        for number, entry in enumerate(given[1:]):
            given[number] = given[number]._replace(end_offset=entry.start_offset)
        self._entries = sorted({entry.epoch: entry for entry in given}.values(), key=_epoch_of)

    # -- asking -------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[EpochEntry]:
        return iter(self._entries)

    def last_epoch(self) -> int:
        """Return the highest epoch; 0 if there is none. Java says -1 then."""
        return self._entries[-1].epoch if self._entries else 0

    @property
    def first(self) -> EpochEntry | None:
        return self._entries[0] if self._entries else None

    @property
    def last(self) -> EpochEntry | None:
        return self._entries[-1] if self._entries else None

    def get(self, epoch: int) -> EpochEntry | None:
        """Return the entry of an epoch."""
        found = self.following(epoch)
        return found if found is not None and found.epoch == epoch else None

    def following(self, epoch: int) -> EpochEntry | None:
        """Return the first entry of this epoch or a later one."""
        at = bisect_left(self._entries, epoch, key=_epoch_of)
        return self._entries[at] if at < len(self._entries) else None

    def find_by_offset(self, offset: int) -> EpochEntry | None:
        """Return the entry with the record at an offset."""
        for entry in self._entries:
            if entry.start_offset <= offset < entry.end_offset:
                return entry
        return None

    def consistent_point(self, others: EpochCache) -> int:
        """Return up to which offset this log and another are equal; -1 if nothing says so.

        It lies in the newest entry that both have with the same start. Either log has ended its
        last entry by `end_last`.
        """
        for entry in reversed(self._entries):
            other = others.get(entry.epoch)
            if other is not None and other.start_offset == entry.start_offset:
                return min(entry.end_offset, other.end_offset)
        return -1

    # -- changing -----------------------------------------------------------------------------

    def append(self, epoch: int, start_offset: int) -> bool:
        """Add an entry and write it; return whether it was added.

        It is not if epoch or start are not above those of the last entry. So an epoch in which
        nothing is stored leaves no entry, and elections then compare the one before.
        """
        if self._entries:
            last = self._entries[-1]
            if last.epoch >= epoch or last.start_offset >= start_offset:
                return False
            self._entries[-1] = last._replace(end_offset=start_offset)
        self._entries.append(EpochEntry(epoch, start_offset))
        self._flush()
        return True

    def end_last(self, end_offset: int) -> None:
        """End the last entry where its log ends; nothing is written."""
        if self._entries and self._entries[-1].start_offset <= end_offset:
            self._entries[-1] = self._entries[-1]._replace(end_offset=end_offset)

    def truncate_suffix_by_epoch(self, epoch: int) -> None:
        """Remove the entries of this epoch and of later ones."""
        self._keep(lambda entry: entry.epoch < epoch)

    def truncate_suffix_by_offset(self, offset: int) -> None:
        """Remove the entries that begin at an offset or behind it."""
        self._keep(lambda entry: entry.start_offset < offset)

    def truncate_prefix_by_offset(self, offset: int) -> None:
        """Remove the entries that end at an offset or before it."""
        self._keep(lambda entry: entry.end_offset > offset)

    def take(self, others: EpochCache) -> None:
        """Have the entries of another cache, and write them."""
        self._entries = others._entries.copy()
        self._flush()

    def clear(self) -> None:
        """Remove all entries, and the file."""
        self._entries = []
        if self._file is not None:
            try:
                self._file.delete()
            except OSError as error:
                self.on_failed(error)

    def _keep(self, wanted: Callable[[EpochEntry], bool]) -> None:
        kept = [entry for entry in self._entries if wanted(entry)]
        if len(kept) != len(self._entries):
            self._entries = kept
            self._flush()

    def _flush(self) -> None:
        """Write the entries; an empty list is never written, so the old file stays."""
        if self._file is not None and self._entries:
            try:
                write(self._file, self._entries)
            except OSError as error:
                self.on_failed(error)

    def copy(self) -> EpochCache:
        """Return a cache with the same entries and without a file."""
        cache = EpochCache()
        cache._entries = self._entries.copy()
        return cache

    def __repr__(self) -> str:
        return f"<epochs {[tuple(entry[:2]) for entry in self._entries]}>"


def _nothing(_: OSError) -> None:
    """Default of `EpochCache.on_failed`."""
