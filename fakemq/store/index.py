"""The index: from a message's keys to its physical offset.

A file is a header, hash slots and entries; a slot names the newest entry of its hash, an entry the
one before it. Source: store/index/IndexFile.java, IndexService.java (4.9.7)
"""

# Over 400 lines: a file of the index, and how the log is read into such files.

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from itertools import count as counted
from itertools import islice
from operator import mul
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fakemq.clock.calendar import human_time
from fakemq.errors import StoreError
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.java import int32, java_string_hash
from fakemq.protocol.layout.codecs import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from fakemq.store.mapped_file_queue import Cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.files import File, Files

FOLDER: Final = "index"
HEADER_BYTES: Final = INDEX_HEADER.size
SLOT_BYTES: Final = INDEX_SLOT.size
ENTRY_BYTES: Final = INDEX_ENTRY.size
STEP_RECORDS: Final = 100
"""How many records are indexed before others may go first."""
STEP_ENTRIES = 1_000
"""How many entries are looked at before others may go first."""
_INT32_MAX: Final = 0x7FFFFFFF
_PAGE_BYTES: Final = 4096
_GAP_RECORDS: Final = 100
"""How many records between two files a start looks at; between good files there are few or none."""
_MOST_ENTRIES: Final = 16_384
"""How many entries are added at a time: some then have their slots on one page."""
_TAIL_CHARS: Final = 8
_POWERS: Final = tuple(31**power for power in range(_TAIL_CHARS - 1, -1, -1))
_TAIL_POWER: Final = 31**_TAIL_CHARS
Entry: TypeAlias = "tuple[int, int, int]"
"""The hash of a key, the physical offset of the record that has it, and its store time."""
_pack_entry: Final = INDEX_ENTRY.pack
_pack_slot: Final = INDEX_SLOT.pack_into
_unpack_slot: Final = INDEX_SLOT.unpack_from


class IndexFile:
    """One index file. Entry numbers start at 1, so that 0 in a slot means none."""

    __slots__ = (
        "_entries_at",
        "_file",
        "_slots",
        "begin_phy_offset",
        "begin_timestamp_ms",
        "end_phy_offset",
        "end_timestamp_ms",
        "hash_slot_count",
        "index_count",
        "max_count",
    )

    def __init__(
        self, file: File, slots: int, max_count: int, end_phy_offset: int, end_timestamp_ms: int
    ) -> None:
        self._file = file
        self._slots = slots
        self._entries_at = HEADER_BYTES + slots * SLOT_BYTES
        self.max_count = max_count
        self.begin_timestamp_ms = self.end_timestamp_ms = end_timestamp_ms
        self.begin_phy_offset = self.end_phy_offset = end_phy_offset
        self.hash_slot_count = 0
        self.index_count = 1

    @classmethod
    def load(cls, file: File, slots: int, max_count: int) -> IndexFile:
        """Return an existing index file, with as many entries as its header says."""
        found = cls(file, slots, max_count, 0, 0)
        (
            found.begin_timestamp_ms,
            found.end_timestamp_ms,
            found.begin_phy_offset,
            found.end_phy_offset,
            found.hash_slot_count,
            count,
        ) = INDEX_HEADER.unpack(file.read(0, HEADER_BYTES))
        found.index_count = count = min(max(count, 1), max_count)
        file.truncate(found._entries_at + count * ENTRY_BYTES)
        return found

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def end(self) -> int:
        """The position behind its last entry."""
        return self._file.position

    def flush(self) -> None:
        """Write header and entries to the disk."""
        self.write_header()
        self._file.flush()

    @property
    def full(self) -> bool:
        return self.index_count >= self.max_count

    def put_all(self, entries: Sequence[Entry]) -> None:
        """Add entries, all or none. The caller has checked their number, and writes the header.

        Source: store/index/IndexFile.java#putKey (4.9.7)
        """
        file, begin_ms = self._file, self.begin_timestamp_ms
        start, count, taken = file.position, self.index_count, 0
        before: dict[int, bytes] = {}
        pages: dict[int, bytearray] = {}
        added = bytearray()
        for key_hash, phy_offset, stored_ms in entries:
            slot_at = HEADER_BYTES + key_hash % self._slots * SLOT_BYTES
            number, at = divmod(slot_at, _PAGE_BYTES)
            page = pages.get(number)
            if page is None:
                before[number] = self._page(number)
                page = pages[number] = bytearray(before[number])
            (previous,) = _unpack_slot(page, at)
            # Empty, or of an entry that a load has cut off.
            if not 0 < previous <= count:
                previous = 0
                taken += 1
            seconds = (stored_ms - begin_ms) // 1000 if begin_ms > 0 else 0
            added += _pack_entry(key_hash, phy_offset, min(max(0, seconds), _INT32_MAX), previous)
            _pack_slot(page, at, count)
            if count <= 1:
                begin_ms = stored_ms
            count += 1
        file.append(bytes(added), stored_ms)
        try:
            self._write_pages(pages, stored_ms)
        except StoreError:
            with suppress(StoreError):
                self._write_pages(before, stored_ms)
            file.truncate(start)
            raise
        if self.index_count <= 1:
            self.begin_phy_offset, self.begin_timestamp_ms = entries[0][1:]
        self.hash_slot_count += taken
        self.index_count = count
        self.end_phy_offset, self.end_timestamp_ms = phy_offset, stored_ms

    def _page(self, number: int) -> bytes:
        """Return the bytes of a page up to the end of the slots."""
        start = number * _PAGE_BYTES
        return bytes(self._file.read(start, min(_PAGE_BYTES, self._entries_at - start)))

    def _write_pages(self, pages: Mapping[int, bytes | bytearray], now_ms: int) -> None:
        for number, page in pages.items():
            self._file.write_at(number * _PAGE_BYTES, bytes(page), now_ms)

    def write_header(self) -> None:
        """Write the header for the present entries.

        Source: store/index/IndexHeader.java#load, #incIndexCount, IndexFile.java#IndexFile (4.9.7)
        """
        # Java's count begins at 1, but a new file has zeros there until its first entry: only an
        # entry, or a flush of a full file, writes it. A load takes 0 as 1. So a file that messages
        # without keys began is as Java's. (5.5.0 flushes all files at a stop, and 1 is in it then.)
        header = INDEX_HEADER.pack(
            self.begin_timestamp_ms,
            self.end_timestamp_ms,
            self.begin_phy_offset,
            self.end_phy_offset,
            self.hash_slot_count,
            self.index_count if self.index_count > 1 else 0,
        )
        self._file.write_at(0, header, self.end_timestamp_ms)

    def is_time_matched(self, begin_ms: int, end_ms: int) -> bool:
        """Return whether entries of this file may lie within [begin, end]."""
        first, last = self.begin_timestamp_ms, self.end_timestamp_ms
        return (
            (begin_ms < first and end_ms > last)
            or first <= begin_ms <= last
            or first <= end_ms <= last
        )

    def entries_of(self, phy_offset: int) -> list[tuple[File, int]]:
        """Return file and position of a record's entries, oldest first; search all entries."""
        file = self._file
        starts = range(self._entries_at + ENTRY_BYTES, self.end, ENTRY_BYTES)
        return [
            (file, at)
            for at in starts
            if INDEX_ENTRY.unpack(file.read(at, ENTRY_BYTES))[1] == phy_offset
        ]

    def select(
        self, found: list[int], key_hash: int, max_num: int, begin_ms: int, end_ms: int
    ) -> Steps[None]:
        """Add physical offsets to ``found``, newest first, until it has ``max_num``.

        Records with another key of the same hash are found too: the caller compares the keys.
        Source: store/index/IndexFile.java#selectPhyOffset (4.9.7)
        """
        read, count = self._file.read, self.index_count
        slot_at = HEADER_BYTES + key_hash % self._slots * SLOT_BYTES
        (at,) = _unpack_slot(read(slot_at, SLOT_BYTES))
        if not 0 < at <= count or count <= 1:
            return
        for number in counted(1):
            if len(found) >= max_num:
                return
            if not number % STEP_ENTRIES:
                yield
            entry = read(self._entries_at + at * ENTRY_BYTES, ENTRY_BYTES)
            read_hash, phy_offset, seconds, previous = INDEX_ENTRY.unpack(entry)
            if seconds < 0:
                return
            time_ms = self.begin_timestamp_ms + seconds * 1000
            if read_hash == key_hash and begin_ms <= time_ms <= end_ms:
                found.append(phy_offset)
            if not 0 < previous < at or time_ms < begin_ms:  # a damaged file; Java may loop here
                return
            at = previous


class QueryOffsetResult(NamedTuple):
    """What a query finds, all of one index."""

    offsets: list[int]
    """The records' physical offsets, newest first."""
    last_timestamp_ms: int
    """When the last record of the index was stored; 0 if the index is empty."""
    last_offset: int
    """The physical offset of that record."""


class IndexService:
    """All index files, oldest first; the last takes the entries.

    Few tests ever ask the index, and hashing keys costs as much as storing the message. So the
    index reads the log up to its end when it is asked, instead of being fed at each append; the
    question waits meanwhile.
    """

    def __init__(
        self,
        config: BrokerConfig,
        files: Files,
        log: CommitLog,
        failed: Callable[[StoreError, Callable[[], object]], None],
    ) -> None:
        self._config = config
        # A change at run time counts from the next reset on, when there are no files yet.
        self._slots, self._max_count = config.max_hash_slot_num, config.max_index_num
        self._store = files
        self._failed = failed  # called with what the disk refuses, and how to try it again
        self._log = log
        self._built_to = 0  # physical offset up to which records are indexed
        self._keys_in = 0  # and how many keys of the record there, if the disk refused the next
        self.files: list[IndexFile] = []
        self.on_full: Callable[[IndexFile], None] = _nothing
        """Called with a file that is full."""
        self.on_bad: Callable[[str, int, int, str], None] = _nothing
        """Called with path and position of a bad record of the log, 0, and the reason."""
        self._bad_path = ""
        self.tags = False
        """Whether records are indexed by their tags, too."""

    def catch_up(self, at_most: int | None = None) -> bool:
        """Index the records that are not indexed yet; return whether all are indexed then.

        At most ``at_most`` records, if that is given.
        """
        end_offset = self._end_offset()
        self._build_to(end_offset, at_most)
        return self._built_to == end_offset

    def _end_offset(self) -> int:
        records_end = self._log.records_end
        return self._log.max_offset if records_end is None else records_end

    def catch_up_in_steps(self) -> Steps[None]:
        """Index the records that are in the log now, as far as the disk takes them."""
        wanted = self._end_offset()
        # Between two steps the log may be cut.
        while self._built_to < (end := min(wanted, self._end_offset())):
            if not self._build_to(end, STEP_RECORDS):
                break
            yield

    def pass_over(self, phy_offset: int, end_offset: int) -> None:
        """Leave out a record that was stored with messageIndexEnable off."""
        if self._built_to >= phy_offset or self._build_to(phy_offset):
            self._built_to = end_offset

    def load(self, now_ms: int, newest_ms: int | None) -> list[Cut]:
        """Open the existing files and continue behind them; delete and return the bad ones.

        There are four kinds of bad files: 1. Files of another size. 2. Files with records that are
        no longer in the log. 3. After a crash, files newer than the checkpoint's ``newest_ms``.
        4. Files before which one is missing.
        All files behind a bad one are deleted too. Then the last record of the remaining files is
        indexed once more, as Java does after each crash: the next file may have had some of its
        keys.
        Source: store/index/IndexService.java#load (4.9.7), which deletes only the third kind
        """
        size_bytes = HEADER_BYTES + self._slots * SLOT_BYTES + self._max_count * ENTRY_BYTES
        cuts: list[Cut] = []
        paths = self._store.list(FOLDER)  # as Java, without files of other names
        paths = [path for path in paths if path.removeprefix(f"{FOLDER}/").isdecimal()]
        # The names are times, and the clock may have gone back.
        for path in sorted(paths, key=lambda path: self._begin_of(path, size_bytes, now_ms)):
            found = None if cuts else self._load_one(path, size_bytes, now_ms)
            if found is None or (newest_ms is not None and found.end_timestamp_ms > newest_ms):
                cuts.append(Cut(path, 0, 0 if found is None else found.end))
                self._store.delete(path)
            else:
                self.files.append(found)
        self._built_to = 0
        if not self._config.message_index_enable:
            self._built_to = self._log.max_offset
        elif self.files:
            last = self._built_to = self.files[-1].end_phy_offset
            record = self._log.record_at(last)
            # After a clean stop, with no file deleted, the last record has all its keys.
            some = len(self.files) > 1 or self.files[-1].index_count > 1
            if record is not None and some and newest_ms is None and not cuts:
                self._built_to += len(record)
        return cuts

    def _begin_of(self, path: str, size_bytes: int, now_ms: int) -> int:
        """Return the physical offset of the first record of a file; -1 if it cannot be opened."""
        try:
            file = self._store.open(path, size_bytes, now_ms, sparse=True)
        except StoreError:
            return -1
        return int(INDEX_HEADER.unpack(file.read(0, HEADER_BYTES))[2])

    def _load_one(self, path: str, size_bytes: int, now_ms: int) -> IndexFile | None:
        try:
            file = self._store.open(path, size_bytes, now_ms, sparse=True)
        except StoreError:
            return None
        found = IndexFile.load(file, self._slots, self._max_count)
        # A file without entries is good: messages without keys begin one, as in Java.
        before = self.files[-1].end_phy_offset if self.files else 0
        end = found.end_phy_offset
        if found.index_count == 1:
            return found if end == before else None
        known = 0 <= found.begin_phy_offset <= end < self._log.max_offset
        return found if known and not self._is_gap(before, found.begin_phy_offset) else None

    def _is_gap(self, start: int, end: int) -> bool:
        """Return whether the first records between two index files have keys: one is missing."""
        first = start if self.files else -1  # the file before has this record
        return any(
            phy_offset != first and _has_keys(record)
            for phy_offset, record in islice(self._log.records(start, end), _GAP_RECORDS)
        )

    def truncate(self, phy_offset: int) -> None:
        """Forget the records at or behind an offset: delete the files that have some of them.

        What these files have of older records is read from the log again. Java keeps the entries,
        which then are those of other records.
        """
        while self.files and self.files[-1].end_phy_offset >= phy_offset:
            self._store.delete(self.files.pop().path)
            self._built_to = 0 if not self.files else self.files[-1].end_phy_offset
        self._built_to = min(self._built_to, phy_offset)
        self._keys_in = 0

    def delete_expired_files(self, min_phy_offset: int) -> None:
        """Delete files whose records are all deleted, but never the last.

        Source: store/index/IndexService.java#deleteExpiredFile (4.9.7)
        """
        while len(self.files) > 1 and self.files[0].end_phy_offset < min_phy_offset:
            self._store.delete(self.files[0].path)
            del self.files[0]

    def _build_to(self, end_offset: int, at_most: int | None = None) -> bool:
        """Index the records before an offset, or ``at_most``; return whether the disk took them."""
        records = self._log.records(self._built_to, end_offset)
        try:
            self._add(islice(records, at_most))
            if self.files:
                self.files[-1].write_header()
            following = next(records, None)
        except StoreError as error:
            self._failed(error, self._try_again)
            return False
        self._built_to = end_offset if following is None else following[0]
        return True

    def _try_again(self) -> None:
        """Continue with the record that failed; the flushes bring the index up to date."""
        self.catch_up(1)

    def _add(self, records: Iterator[tuple[int, memoryview]]) -> None:
        """Index records by their keys, as many at a time as fit into a file.

        Source: store/index/IndexService.java#buildIndex (4.9.7)
        """
        from fakemq.store.index_build import read_keys  # few tests ask the index

        entries: list[Entry] = []
        file, room, behind = None, 0, self._built_to
        for phy_offset, record in records:
            done = self._keys_in if phy_offset == self._built_to else 0
            behind = phy_offset + len(record)
            try:
                topic, keys, stored_ms = read_keys(record, tags=self.tags)
            except RemoteProtocolError as error:
                self._pass_over_bad(phy_offset, str(error))
                continue
            for number in range(done, max(done + 1, len(keys))):
                if file is None or not room:
                    self._put(file, entries, phy_offset, number)
                    file = self._writable(stored_ms)
                    room = min(file.max_count - file.index_count, _MOST_ENTRIES)
                if number < len(keys) and phy_offset >= file.end_phy_offset:
                    entries.append((key_hash(topic, keys[number]), phy_offset, stored_ms))
                    room -= 1
        self._put(file, entries, behind, 0)

    def _put(
        self, file: IndexFile | None, entries: list[Entry], built_to: int, keys_in: int
    ) -> None:
        """Add entries to a file; then the records before ``built_to`` are indexed."""
        if file is not None and entries:
            file.put_all(entries)
            entries.clear()
        self._built_to, self._keys_in = built_to, keys_in

    def _pass_over_bad(self, phy_offset: int, why: str) -> None:
        found = self._log.find_file(phy_offset)
        # Once for each file: a bad record may make all records behind it bad.
        if found is not None and found[0].path != self._bad_path:
            self._bad_path = found[0].path
            why = f"passed over by the index: {why}"
            self.on_bad(self._bad_path, phy_offset - found[1], 0, why)

    def _writable(self, now_ms: int) -> IndexFile:
        end_phy_offset = end_timestamp_ms = 0
        if self.files:
            last = self.files[-1]
            if not last.full:
                return last
            last.write_header()
            self.on_full(last)
            end_phy_offset, end_timestamp_ms = last.end_phy_offset, last.end_timestamp_ms
        slots, max_count = self._slots, self._max_count
        size_bytes = HEADER_BYTES + slots * SLOT_BYTES + max_count * ENTRY_BYTES
        file = self._store.open(self._new_path(now_ms), size_bytes, now_ms, sparse=True)
        file.truncate(HEADER_BYTES + slots * SLOT_BYTES + ENTRY_BYTES)
        self.files.append(IndexFile(file, slots, max_count, end_phy_offset, end_timestamp_ms))
        return self.files[-1]

    def _new_path(self, now_ms: int) -> str:
        # Java takes the same file twice if two are begun within a millisecond; here the later
        # one moves on.
        taken = set(self._store.list(FOLDER)) if self.files else ()
        while (path := f"{FOLDER}/{human_time(now_ms)}") in taken:
            now_ms += 1
        return path

    def query(
        self, topic: str, key: str, max_num: int, begin_ms: int, end_ms: int
    ) -> Steps[QueryOffsetResult]:
        """Return the records of a key, newest first, at most maxMsgsNumBatch.

        Every record that was stored before the call is indexed first.

        Source: store/index/IndexService.java#queryOffset (4.9.7)
        """
        yield from self.catch_up_in_steps()
        max_num = min(max_num, self._config.max_msgs_num_batch)
        found: list[int] = []
        last = self.files[-1] if self.files else None
        hashed = key_hash(topic, key)
        for file in self.files[::-1]:
            # Files expire while others go first; a query that begins later does not see them.
            if file in self.files and file.is_time_matched(begin_ms, end_ms):
                for _ in file.select(found, hashed, max_num, begin_ms, end_ms):
                    yield
                    if file not in self.files:
                        break
            if file.begin_timestamp_ms < begin_ms or len(found) >= max_num:
                break
        if last is None:
            return QueryOffsetResult(found, 0, 0)
        return QueryOffsetResult(found, last.end_timestamp_ms, last.end_phy_offset)


def _has_keys(record: memoryview) -> bool:
    from fakemq.store.index_build import read_keys

    try:
        return bool(read_keys(record).keys)
    except RemoteProtocolError:
        return False


def _nothing(*_: object) -> None:
    pass


def key_hash(topic: str, key: str) -> int:
    """Return the hash of a topic's key, never negative.

    Source: store/index/IndexFile.java#indexKeyHashMethod (4.9.7)
    """
    tail = key[-_TAIL_CHARS:]
    if len(tail) == _TAIL_CHARS and tail.isascii():
        # The unique keys of a producer differ in their last characters only.
        head = _hash_of_head(topic, key[:-_TAIL_CHARS])
        hashed = abs(int32(head * _TAIL_POWER + sum(map(mul, tail.encode(), _POWERS))))
    else:
        hashed = abs(java_string_hash(f"{topic}#{key}"))
    return hashed if hashed <= _INT32_MAX else 0


@lru_cache(maxsize=1024)
def _hash_of_head(topic: str, head: str) -> int:
    return java_string_hash(f"{topic}#{head}")
